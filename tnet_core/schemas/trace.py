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
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Final, Literal

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
)

from tnet_core.errors import TNetError, state_problem
from tnet_core.imageio.info import ImageInfo
from tnet_core.modeling.config import Precision, Sampling
from tnet_core.records import Distribution, Location, Timing
from tnet_core.schemas.base import STRICT, Many, ModelConfig, Schema
from tnet_core.schemas.text import parse_json
from tnet_core.stopping import StoppingRule, StopPoint, check_temperature

SCHEMA: Final = "tnet-trace"
VERSION: Final = 1


# Arrays, which numpy checks -------------------------------------------------------------------------


def _read_array(values: Any, ndim: int) -> np.ndarray:
    try:
        array = np.asarray(values, dtype=np.float32)
    except (TypeError, ValueError, OverflowError):
        raise ValueError("must hold numbers, in rows of the same length") from None
    if array.ndim != ndim or not np.isfinite(array).all():
        raise ValueError(f"must hold finite numbers in {ndim} dimension{'s' * (ndim > 1)}")
    return array


def _list_numbers(array: np.ndarray) -> list[Any]:
    """Return nested lists of the shortest decimals that round-trip as float32."""
    if array.ndim > 1:
        return [_list_numbers(row) for row in array]
    return [float(str(value)) for value in array.astype(np.float32)]


def _unpack(packed: Any) -> np.ndarray:
    try:
        values = np.frombuffer(base64.b64decode(packed["float32"], validate=True), "<f4")
        return _read_array(values.reshape([int(side) for side in packed["shape"]]), 2).copy()  # writable
    except (KeyError, TypeError, ValueError, OverflowError):
        raise ValueError("must hold 'shape' and 'float32', base64 of finite numbers") from None


def _pack(array: np.ndarray) -> dict[str, Any]:
    data = np.ascontiguousarray(array, "<f4").tobytes()
    return {"shape": list(array.shape), "float32": base64.b64encode(data).decode()}


Vector = Annotated[np.ndarray, PlainValidator(lambda value: _read_array(value, 1)), PlainSerializer(_list_numbers)]
Matrix = Annotated[np.ndarray, PlainValidator(lambda value: _read_array(value, 2)), PlainSerializer(_list_numbers)]
Packed = Annotated[np.ndarray, PlainValidator(_unpack), PlainSerializer(_pack)]


# Parts of the file ----------------------------------------------------------------------------------


class _Image(Schema):
    sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
    hashed: Literal["file", "pixels"]
    width: Annotated[int, Field(ge=1)]
    height: Annotated[int, Field(ge=1)]


class _Grid(Schema):
    level: Annotated[int, Field(ge=1)]
    parent: Annotated[int, Field(ge=0)] | None
    path: tuple[int, ...]
    logits: Matrix
    probabilities: Matrix


class WeightRow(Schema):
    """The weights of one set of rows of `features`."""

    rows: tuple[int, ...]  # increasing, 0: the thumbnail
    weights: Vector


def _store_as(form: type[Schema], record: type) -> GetPydanticSchema:
    """Let a record of the core be read and written as a schema with the same fields in the same order."""
    stored = Annotated[
        form,  # type: ignore[valid-type]
        AfterValidator(lambda read: record(*vars(read).values())),
        PlainSerializer(
            lambda made: form.model_construct(**{name: getattr(made, name) for name in form.model_fields}).model_dump(
                mode="json"
            )
        ),
    ]
    return GetPydanticSchema(lambda _, handler: handler.generate_schema(stored))


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
    image: Annotated[ImageInfo, _store_as(_Image, ImageInfo)]
    sampling: Sampling
    policy: str
    budget: tuple[int, ...]  # looks per grid that the traversal was asked for
    locations: Many[Annotated[Location, AfterValidator(_check_box)]]
    distributions: Many[Annotated[Distribution, _store_as(_Grid, Distribution)]]
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


_ADAPTER = TypeAdapter(TraceFile)
