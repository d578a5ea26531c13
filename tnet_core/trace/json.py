"""A trace as text and back: which weights are stored with it, and whether what was read fits together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import fields
from typing import TYPE_CHECKING

from tnet_core.budget import check_budget
from tnet_core.errors import TNetError
from tnet_core.records import Location
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
    try:
        check_budget(file.config, file.budget, len(file.budget) + 1)
    except TNetError as error:
        raise TNetError(f"This trace is damaged: {error}") from None
    table = {row.rows: row.weights for row in file.weights or ()}
    is_uniform = file.weights is None
    aggregator = Aggregator(file.features, file.projections, file.bias, uniform=is_uniform, table=table)
    if not _fit_together(file, aggregator):
        raise TNetError("This trace is damaged: its parts do not fit each other.")
    return trace_class(**{name: getattr(file, name) for name in _SHARED}, aggregator=aggregator)


def _fit_together(file: TraceFile, aggregator: Aggregator) -> bool:
    """Tell whether the parts fit together, so that no later method fails."""
    rows, config, levels = len(file.locations) + 1, file.config, len(file.budget) + 1
    cells = range(config.cells)
    return (
        _are_nested(file.locations)
        and all(look.index in cells and look.rank - 1 in cells and look.level <= levels for look in file.locations)
        and len(file.features) == rows
        and file.projections.shape == (rows, config.num_classes)
        and file.bias.shape == (config.num_classes,)
        and len(file.timing.seconds) == rows
        and file.timing.peak_memory >= 0
        and len(file.pixels_read) == rows
        and len(file.class_names) in (0, config.num_classes)
        and all(grid.parent is None or grid.parent < rows - 1 for grid in file.distributions)
        and all(cell in cells for grid in file.distributions for cell in grid.path)
        and all(
            grid.logits.shape == grid.probabilities.shape == (config.grid, config.grid) for grid in file.distributions
        )
        and all(_are_weights(row, rows) for row in file.weights or ())
        and aggregator.uniform is not config.weighting
        and aggregator.knows(tuple(range(k + 1)) for k in range(rows))
    )


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
