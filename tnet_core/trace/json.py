"""A trace as text and back: which weights are stored with it, and whether what was read fits together."""

from __future__ import annotations

import math
from dataclasses import fields
from typing import TYPE_CHECKING

from tnet_core.schemas.trace import TraceFields, TraceFile, WeightRow
from tnet_core.trace.aggregation import Aggregator

if TYPE_CHECKING:
    from tnet_core.trace.trace import Trace

_MAX_BUDGETS = 4096  # weights of more budgets than this are left to attach(model)
_SHARED = tuple(field.name for field in fields(TraceFields))


def dump(trace: Trace) -> str:
    """Return a trace as text; a file that cannot be hashed any more is refused before anything is written."""
    _ = trace.image.sha256
    file = TraceFile(
        **{name: getattr(trace, name) for name in _SHARED},
        bias=trace.bias,
        projections=trace.projections,
        features=trace.features,
        weights=_list_weights(trace),
    )
    return file.to_text()


def _list_weights(trace: Trace) -> tuple[WeightRow, ...] | None:
    """Return the weights of every prefix and, where that is not the same, every budget; None when uniform."""
    if trace.aggregator.uniform:
        return None
    sets = {(0, *(p + 1 for p in trace.select(k))) for k in range(len(trace.locations) + 1)}
    if trace.levels > 2 and math.prod(b + 1 for b in trace.budget) <= _MAX_BUDGETS:
        sets |= {(0, *(p + 1 for p in trace.select(budget=b))) for b in trace.budgets()}
    trace.aggregator.prepare(sets)
    return tuple(WeightRow.model_construct(rows=rows, weights=trace.aggregator.weights(rows)) for rows in sorted(sets))


def parse(text: str | bytes, trace_class: type[Trace]) -> Trace:
    """Read a trace; anything else is refused in one sentence."""
    file = TraceFile.read(text)
    table = {row.rows: row.weights for row in file.weights or ()}
    is_uniform = file.weights is None
    aggregator = Aggregator(file.features, file.projections, file.bias, uniform=is_uniform, table=table)
    return trace_class(**{name: getattr(file, name) for name in _SHARED}, aggregator=aggregator)
