"""The trace's file format: versioned JSON that a later release can still read.

Holds the image's sha256 but never its pixels; class projections of every look and the weights of
every prefix and budget, so that those need no model; feature vectors (base64 float32), so that
`Trace.attach(model)` opens all other subsets. Numbers are written in the shortest form that gives
back the same float32.
"""

from __future__ import annotations

import base64
import binascii
import dataclasses
import json
import math
from typing import Any

import numpy as np

from tnet_core.aggregation import Aggregator
from tnet_core.config import TNetConfig
from tnet_core.errors import TNetError
from tnet_core.records import Distribution, ImageInfo, Location, Timing
from tnet_core.trace import Trace

SCHEMA = "tnet-trace"
VERSION = 1
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
            "timing": {"seconds": list(trace.timing.seconds), "peak_memory": trace.timing.peak_memory},
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


def parse(text: str | bytes) -> Trace:
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
        trace = _build(data)
        _check(trace)
        return trace
    except TNetError:
        raise
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError, binascii.Error) as error:
        raise TNetError(f"This trace is damaged: {type(error).__name__} at {str(error)[:60]!r}.") from None


def _build(data: dict[str, Any]) -> Trace:
    config = TNetConfig.from_dict(data["config"])
    bias, projections = _array(data["bias"], 1), _array(data["projections"], 2)
    packed = data["features"]
    features = np.frombuffer(base64.b64decode(packed["float32"], validate=True), "<f4")
    features = features.reshape([int(side) for side in packed["shape"]]).astype(np.float32)
    stored = data["weights"]
    table = None if stored is None else {tuple(e["rows"]): _array(e["weights"], 1) for e in stored}
    return Trace(
        config=config,
        source=str(data["source"]),
        class_names=tuple(str(name) for name in data["class_names"]),
        image=ImageInfo(**data["image"]),
        sampling=data["sampling"],
        policy=str(data["policy"]),
        budget=tuple(int(k) for k in data["budget"]),
        locations=tuple(_location(item) for item in data["locations"]),
        distributions=tuple(
            Distribution(
                item["level"],
                item["parent"],
                tuple(item["path"]),
                _array(item["logits"], 2),
                _array(item["probabilities"], 2),
            )
            for item in data["distributions"]
        ),
        timing=Timing(tuple(float(s) for s in data["timing"]["seconds"]), int(data["timing"]["peak_memory"])),
        pixels_read=tuple(int(count) for count in data["pixels_read"]),
        aggregator=Aggregator(features, projections, bias, uniform=stored is None, table=table),
    )


def _location(item: dict[str, Any]) -> Location:
    values: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in item.items()}
    return Location(**values)


def _array(values: Any, ndim: int) -> np.ndarray:
    array = np.asarray(values, dtype=np.float32)
    if array.ndim != ndim or not np.isfinite(array).all():
        raise ValueError("numbers")
    return array


def _check(trace: Trace) -> None:
    """The parts must fit each other, so that no later method meets a surprise."""
    looks, config = len(trace.locations), trace.config
    rows = looks + 1
    parents_first = all(
        look.parent is None or 0 <= look.parent < position for position, look in enumerate(trace.locations)
    )
    fits = (
        trace.features.ndim == 2
        and len(trace.features) == rows
        and trace.projections.shape == (rows, config.num_classes)
        and trace.bias.shape == (config.num_classes,)
        and len(trace.timing.seconds) == rows
        and len(trace.pixels_read) == rows
        and len(trace.class_names) in (0, config.num_classes)
        and trace.sampling in ("official", "native")
        and parents_first
        and all(2 <= look.level <= trace.levels and 0 <= look.index < config.cells for look in trace.locations)
        and all(len(look.box) == 4 and len(look.pixels) == 4 for look in trace.locations)
        and all(grid.logits.shape == (config.grid, config.grid) for grid in trace.distributions)
        and trace.aggregator.uniform is not config.weighting
    )
    if not fits:
        raise TNetError("This trace is damaged: its parts do not fit each other.")
