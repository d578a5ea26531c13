"""The trace's file format: versioned JSON that a later release can still read.

Holds the image's sha256 but never its pixels; class projections of every look and the weights of
every prefix and budget, so that those need no model; feature vectors (base64 float32), so that
`Trace.attach(model)` opens all other subsets. Contributions follow from these numbers; what a look changed
(`tnet_core.explain.leave_one_out`) does not, since without it the others are weighed anew: attach the model first.
Numbers are written in the shortest form that gives back the same float32.
"""

from __future__ import annotations

import base64
import binascii
import dataclasses
import json
import math
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tnet_core.budget import check_budget
from tnet_core.errors import TNetError
from tnet_core.imageio.info import ImageInfo
from tnet_core.modeling.config import TNetConfig
from tnet_core.numbers import whole
from tnet_core.records import Distribution, Location, Timing
from tnet_core.trace.aggregation import Aggregator

if TYPE_CHECKING:
    from tnet_core.trace.trace import Trace

SCHEMA = "tnet-trace"
VERSION = 1
_DAMAGED = "This trace is damaged: {}."
_MAX_BUDGETS = 4096  # weights of more budgets than this are left to attach(model)


def dump(trace: Trace) -> str:
    """Serialise a trace."""
    return json.dumps(
        {
            "schema": SCHEMA,
            "version": VERSION,
            "config": trace.config.to_dict(),
            "source": trace.source,
            "class_names": list(trace.class_names),
            "image": dataclasses.asdict(trace.image),
            "sampling": trace.sampling,
            "policy": trace.policy,
            "budget": list(trace.budget),
            "locations": [dataclasses.asdict(look) for look in trace.locations],
            "distributions": [
                {
                    "level": grid.level,
                    "parent": grid.parent,
                    "path": list(grid.path),
                    "logits": _numbers(grid.logits),
                    "probabilities": _numbers(grid.probabilities),
                }
                for grid in trace.distributions
            ],
            "timing": dataclasses.asdict(trace.timing),
            "pixels_read": list(trace.pixels_read),
            "bias": _numbers(trace.bias),
            "projections": _numbers(trace.projections),
            "features": {
                "shape": list(trace.features.shape),
                "float32": base64.b64encode(np.ascontiguousarray(trace.features, "<f4").tobytes()).decode(),
            },
            "weights": _weight_table(trace),
        },
        allow_nan=False,
    )


def _weight_table(trace: Trace) -> list[dict[str, Any]] | None:
    """Weights of every prefix and, where that is not the same, every budget; None when uniform."""
    if trace.aggregator.uniform:
        return None
    sets = {(0, *(p + 1 for p in trace.select(k))) for k in range(len(trace.locations) + 1)}
    if trace.levels > 2 and math.prod(b + 1 for b in trace.budget) <= _MAX_BUDGETS:
        sets |= {(0, *(p + 1 for p in trace.select(budget=b))) for b in trace.budgets()}
    trace.aggregator.prepare(sets)
    return [{"rows": list(rows), "weights": _numbers(trace.aggregator.weights(rows))} for rows in sorted(sets)]


def _numbers(array: np.ndarray) -> list[Any]:
    """Nested lists of the shortest decimals that round-trip as float32."""
    if array.ndim > 1:
        return [_numbers(row) for row in array]
    return [float(str(value)) for value in array.astype(np.float32)]


def parse(text: str | bytes, trace_class: type[Trace]) -> Trace:
    """Read a trace; anything else is refused in one sentence."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError, TypeError):
        raise TNetError("This is not a trace: it is not valid JSON.") from None
    if not isinstance(data, dict) or data.get("schema") != SCHEMA:
        raise TNetError("This JSON is not a TNet trace (its 'schema' field is not 'tnet-trace').")
    if data.get("version") != VERSION:
        raise TNetError(
            f"This trace has version {data.get('version')!r:.20}, but this program reads version {VERSION}; "
            "update the program."
        )
    try:
        trace = _build(data, trace_class)
        _check(trace)
        return trace
    except TNetError as error:
        if str(error).startswith("This trace"):
            raise
        raise TNetError(_DAMAGED.format(str(error).rstrip("."))) from None
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError, binascii.Error) as error:
        raise TNetError(_DAMAGED.format(f"{type(error).__name__} at {str(error)[:60]!r}")) from None


def _build(data: dict[str, Any], trace_class: type[Trace]) -> Trace:
    config = TNetConfig.from_dict(data["config"])
    budget = check_budget(config, data["budget"], len(data["budget"]) + 1)
    bias, projections = _array(data["bias"], 1), _array(data["projections"], 2)
    packed = data["features"]
    features = np.frombuffer(base64.b64decode(packed["float32"], validate=True), "<f4")
    features = _array(features.reshape([int(side) for side in packed["shape"]]), 2).copy()  # writable
    rows = len(data["locations"]) + 1
    stored = data["weights"]
    table = None if stored is None else dict(_weights(entry, rows) for entry in stored)
    timing = data["timing"]
    return trace_class(
        config=config,
        source=_text(data["source"]),
        class_names=tuple(_text(name) for name in data["class_names"]),
        image=_image(data["image"]),
        sampling=data["sampling"],
        policy=_text(data["policy"]),
        budget=budget,
        locations=tuple(_location(item, config, len(budget) + 1) for item in data["locations"]),
        distributions=tuple(_distribution(item, config) for item in data["distributions"]),
        timing=Timing(
            _number(timing["opening"]),
            tuple(_number(second) for second in timing["seconds"]),
            whole(timing["peak_memory"], "Peak memory", 0),
        ),
        pixels_read=tuple(whole(count, "A number of pixels", 0) for count in data["pixels_read"]),
        aggregator=Aggregator(features, projections, bias, uniform=stored is None, table=table),
    )


def _image(item: dict[str, Any]) -> ImageInfo:
    info = ImageInfo(**item)
    if not re.fullmatch("[0-9a-f]{64}", info.sha256) or info.hashed not in ("file", "pixels"):
        raise ValueError("image")
    whole(info.width, "A width", 1), whole(info.height, "A height", 1)
    return info


def _location(item: dict[str, Any], config: TNetConfig, levels: int) -> Location:
    box = tuple(_number(side) for side in item["box"])
    pixels = tuple(whole(side, "A pixel") for side in item["pixels"])
    if len(box) != 4 or len(pixels) != 4 or not (0 <= box[0] <= box[2] <= 1 and 0 <= box[1] <= box[3] <= 1):
        raise ValueError("box")
    return Location(
        level=whole(item["level"], "A level", 2, levels),
        index=whole(item["index"], "A cell", 0, config.cells - 1),
        parent=_position(item["parent"]),
        box=(box[0], box[1], box[2], box[3]),
        pixels=(pixels[0], pixels[1], pixels[2], pixels[3]),
        logit=_number(item["logit"]),
        prob=_number(item["prob"]),
        rank=whole(item["rank"], "A rank", 1, config.cells),
        lift=_number(item["lift"]),
        path=_path(item["path"], config),
    )


def _distribution(item: dict[str, Any], config: TNetConfig) -> Distribution:
    logits, probabilities = _array(item["logits"], 2), _array(item["probabilities"], 2)
    if not logits.shape == probabilities.shape == (config.grid, config.grid):
        raise ValueError("distribution")
    path = _path(item["path"], config)
    return Distribution(whole(item["level"], "A level", 1), _position(item["parent"]), path, logits, probabilities)


def _weights(entry: dict[str, Any], count: int) -> tuple[tuple[int, ...], np.ndarray]:
    rows = tuple(whole(row, "A row", 0, count - 1) for row in entry["rows"])
    weights = _array(entry["weights"], 1)
    if sorted(set(rows)) != list(rows) or len(weights) != len(rows) or abs(weights.sum() - 1) > 1e-3:
        raise ValueError("weights")
    return rows, weights


def _path(values: Any, config: TNetConfig) -> tuple[int, ...]:
    return tuple(whole(cell, "A cell", 0, config.cells - 1) for cell in values)


def _position(value: Any) -> int | None:
    return None if value is None else whole(value, "A parent", 0)


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise ValueError("number")
    return float(value)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("text")
    return value


def _array(values: Any, ndim: int) -> np.ndarray:
    array = np.asarray(values, dtype=np.float32)
    if array.ndim != ndim or not np.isfinite(array).all():
        raise ValueError("numbers")
    return array


def _check(trace: Trace) -> None:
    """The parts must fit each other, so that no later method meets a surprise."""
    rows, config = len(trace.locations) + 1, trace.config
    fits = (
        _nested(trace.locations)
        and len(trace.features) == rows
        and trace.projections.shape == (rows, config.num_classes)
        and trace.bias.shape == (config.num_classes,)
        and len(trace.timing.seconds) == rows
        and len(trace.pixels_read) == rows
        and len(trace.class_names) in (0, config.num_classes)
        and trace.sampling in ("official", "native")
        and all(grid.parent is None or grid.parent < rows - 1 for grid in trace.distributions)
        and trace.aggregator.uniform is not config.weighting
        and trace.aggregator.knows(tuple(range(k + 1)) for k in range(rows))
    )
    if not fits:
        raise TNetError(_DAMAGED.format("its parts do not fit each other"))


def _nested(looks: Sequence[Location]) -> bool:
    """Every look comes after the one it was taken inside, one level below it."""
    for position, look in enumerate(looks):
        level, path = 1, tuple[int, ...]()
        if look.parent is not None:
            if look.parent >= position:
                return False
            level, path = looks[look.parent].level, looks[look.parent].path
        if look.level != level + 1 or look.path != (*path, look.index):
            return False
    return True
