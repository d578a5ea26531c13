"""The file of a trace: versioned JSON that a later release can still read.

Holds the image's sha256 but never its pixels; class projections of every look and the weights of
every prefix and budget, so that those need no model; feature vectors (base64 float32), so that
`Trace.attach(model)` opens all other subsets. Contributions follow from these numbers; what a look changed
(`tnet_core.explain.leave_one_out`) does not, since without it the others are weighed anew: attach the model first.
Numbers are written in the shortest form that gives back the same float32.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Final, Literal, Self

import numpy as np
from pydantic import (
    AfterValidator,
    ConfigDict,
    Field,
    GetPydanticSchema,
    PlainSerializer,
    PlainValidator,
    TypeAdapter,
    ValidationError,
    model_validator,
)

from tnet_core.budget import check_budget
from tnet_core.errors import TNetError, state_problem
from tnet_core.imageio.info import ImageInfo
from tnet_core.modeling.config import Precision, Sampling
from tnet_core.numbers import Matrix, Vector, read_array
from tnet_core.records import Distribution, Location, Timing
from tnet_core.schemas.base import STRICT, Many, ModelConfig, Schema
from tnet_core.schemas.text import parse_json
from tnet_core.stopping import StoppingRule, StopPoint, check_temperature

SCHEMA: Final = "tnet-trace"
VERSION: Final = 1


# Arrays, which numpy checks -------------------------------------------------------------------------


def _unpack(packed: Any) -> np.ndarray:
    try:
        values = np.frombuffer(base64.b64decode(packed["float32"], validate=True), "<f4")
        return read_array(values.reshape([int(side) for side in packed["shape"]]), 2).copy()  # writable
    except (KeyError, TypeError, ValueError, OverflowError):
        raise ValueError("must hold 'shape' and 'float32', base64 of finite numbers") from None


def _pack(array: np.ndarray) -> dict[str, Any]:
    data = np.ascontiguousarray(array, "<f4").tobytes()
    return {"shape": list(array.shape), "float32": base64.b64encode(data).decode()}


Packed = Annotated[np.ndarray, PlainValidator(_unpack), PlainSerializer(_pack)]


# Parts of the file ----------------------------------------------------------------------------------


class _Image(Schema):
    sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
    hashed: Literal["file", "pixels"]
    width: Annotated[int, Field(ge=1)]
    height: Annotated[int, Field(ge=1)]


class WeightRow(Schema):
    """The weights of one set of rows of `features`."""

    rows: tuple[int, ...]  # increasing, 0: the thumbnail
    weights: Vector


# A record of the core, read and written as its fields here say.
_StoredImage = Annotated[
    _Image,
    AfterValidator(lambda read: ImageInfo(*vars(read).values())),
    PlainSerializer(lambda info: {name: getattr(info, name) for name in _Image.model_fields}),
]


def _check_box(look: Location) -> Location:
    x0, y0, x1, y1 = look.box
    if not (0 <= x0 <= x1 <= 1 and 0 <= y0 <= y1 <= 1):
        raise ValueError("has a box that does not lie in the image")
    return look


@dataclass(kw_only=True, eq=False)
class TraceFields:
    """What a trace and its file both hold. A further field goes here, with a default that older files mean."""

    config: ModelConfig
    source: str  # where the weights came from
    class_names: Many[str]
    image: Annotated[ImageInfo, GetPydanticSchema(lambda _, handler: handler.generate_schema(_StoredImage))]
    sampling: Sampling
    policy: str
    budget: tuple[int, ...]  # looks per grid that the traversal was asked for
    locations: Many[Annotated[Location, AfterValidator(_check_box)]]
    distributions: Many[Distribution]
    timing: Timing
    pixels_read: Many[Annotated[int, Field(ge=0)]]  # source pixels, thumbnail first
    # of shown probabilities; None: the checkpoint is not calibrated
    temperature: Annotated[float, AfterValidator(check_temperature)] | None = None
    recommended: StoppingRule | None = None  # the checkpoint's own rule, whether it was followed or not
    stop: StopPoint | None = None  # where and why a rule ended the looking; None: none did
    precision: Precision = "float32"  # that the backbone computed in


@dataclass(kw_only=True, eq=False)
class TraceFile(TraceFields):
    """The whole file."""

    __pydantic_config__: ClassVar[ConfigDict] = STRICT

    schema: Literal["tnet-trace"] = SCHEMA
    version: Literal[1] = VERSION
    bias: Vector
    projections: Matrix
    features: Packed
    weights: Many[WeightRow] | None  # None: all looks weigh the same

    @model_validator(mode="after")
    def _check_parts(self) -> Self:
        """Refuse parts that contradict each other, so that no later method meets a surprise."""
        rows, config, levels = len(self.locations) + 1, self.config, len(self.budget) + 1
        cells, shape = range(config.cells), (config.grid, config.grid)
        weighed = {row.rows for row in self.weights or ()}
        fits = {
            "budget": _is_budget(self),
            "locations": _are_nested(self.locations)
            and all(look.index in cells and look.rank - 1 in cells and look.level <= levels for look in self.locations),
            "features": len(self.features) == rows,
            "projections": self.projections.shape == (rows, config.num_classes),
            "bias": self.bias.shape == (config.num_classes,),
            "timing": len(self.timing.seconds) == rows and self.timing.peak_memory >= 0,
            "pixels_read": len(self.pixels_read) == rows,
            "class_names": len(self.class_names) in (0, config.num_classes),
            "distributions": all(
                (grid.parent is None or grid.parent < rows - 1)
                and all(cell in cells for cell in grid.path)
                and grid.logits.shape == grid.probabilities.shape == shape
                for grid in self.distributions
            ),
            "weights": (self.weights is not None) is config.weighting
            and all(_are_weights(row, rows) for row in self.weights or ())
            and (self.weights is None or weighed.issuperset(tuple(range(k + 1)) for k in range(rows))),
        }
        for name in (name for name, is_right in fits.items() if not is_right):
            raise ValueError(f"has a field '{name}' that does not fit the others")
        return self

    def to_text(self) -> str:
        """Return the JSON text, which says first what it is."""
        first = {"schema": self.schema, "version": self.version}
        content = _ADAPTER.dump_python(self, mode="json")
        newer = {name for name in ("temperature", "recommended", "stop") if content[name] is None}
        kept = {name: value for name, value in content.items() if name not in newer}  # so that older versions read it
        return json.dumps(first | kept, allow_nan=False)

    @staticmethod
    def read(text: str | bytes) -> TraceFile:
        """Return the content of a text; anything but a trace is refused in one sentence."""
        if not isinstance(text, str | bytes):
            raise TNetError(
                f"A trace is read from the text that to_json makes, such as that of a file, not from {text!r:.80}."
            )
        try:
            data = text if isinstance(text, bytes) else text.encode("utf-8")
            content = parse_json(data)
        except (UnicodeEncodeError, TNetError) as error:
            raise TNetError(f"This is not a trace: {str(error).rstrip('.')}.") from None
        if not isinstance(content, dict) or content.get("schema") != SCHEMA:
            raise TNetError("This JSON is not a TNet trace (its 'schema' field is not 'tnet-trace').")
        if content.get("version") != VERSION:
            raise TNetError(
                f"This trace has version {content.get('version')!r:.20}, but this program reads version {VERSION}; "
                "update the program."
            )
        try:
            return _ADAPTER.validate_json(data)
        except ValidationError as error:
            raise TNetError(f"This trace is damaged: {state_problem(error)}") from None


def _is_budget(file: TraceFile) -> bool:
    try:
        return check_budget(file.config, file.budget, len(file.budget) + 1) == file.budget
    except TNetError:
        return False


def _are_weights(row: WeightRow, count: int) -> bool:
    is_increasing = list(row.rows) == sorted(set(row.rows)) and all(0 <= at < count for at in row.rows)
    return is_increasing and len(row.weights) == len(row.rows) and abs(float(row.weights.sum()) - 1) <= 1e-3


def _are_nested(looks: Sequence[Location]) -> bool:
    """Tell whether every look comes after the one it was taken inside, one level below it."""
    for position, look in enumerate(looks):
        level, path = 1, tuple[int, ...]()
        if look.parent is not None:
            if not 0 <= look.parent < position:
                return False
            level, path = looks[look.parent].level, looks[look.parent].path
        if look.level != level + 1 or look.path != (*path, look.index):
            return False
    return True


_ADAPTER = TypeAdapter(TraceFile)
