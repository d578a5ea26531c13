"""A trace of fewer looks, as if the others had never been taken. Nothing is computed again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from tnet_core.errors import TNetError
from tnet_core.records import Distribution, Location, Timing

if TYPE_CHECKING:
    from tnet_core.trace.trace import Trace


def restrict_trace(trace: Trace, positions: Sequence[int]) -> Trace:
    """Return a trace of these looks alone, in its order. A look inside another one needs that one."""
    return retake_looks(trace, sorted(trace.select(subset=positions)), trace.policy)


def retake_looks(trace: Trace, positions: Sequence[int], policy: str = "cells") -> Trace:
    """Return the trace as if only these looks had been taken, in this order; one inside another comes after it."""
    kept = trace.select(subset=positions)
    new: dict[int | None, int | None] = {None: None}
    chosen = [trace.locations[position] for position in kept]
    for at, (position, look) in enumerate(zip(kept, chosen, strict=True)):
        if look.parent not in new:
            raise TNetError("A look inside another one cannot be kept without it, or taken before it.")
        new[position] = at
    looks = tuple(replace(look, parent=new[look.parent]) for look in chosen)
    rows = (0, *(position + 1 for position in kept))
    return replace(
        trace,
        policy=policy,
        stop=None,  # it was not the rule that chose these
        budget=_find_budget(looks, len(trace.budget)),
        locations=looks,
        distributions=tuple(_renumber(grid, new) for grid in trace.distributions if grid.parent in new),
        timing=Timing(trace.timing.opening, tuple(trace.timing.seconds[row] for row in rows), trace.timing.peak_memory),
        pixels_read=tuple(trace.pixels_read[row] for row in rows),
        aggregator=trace.aggregator.only(rows),
        seen=None if trace.seen is None else tuple(trace.seen[row] for row in rows),
    )


def _renumber(grid: Distribution, new: dict[int | None, int | None]) -> Distribution:
    return replace(grid, parent=new[grid.parent])


def _find_budget(looks: Sequence[Location], levels: int) -> tuple[int, ...]:
    """Return the smallest budget that has room for these looks."""
    most = [0] * levels
    taken: dict[int | None, int] = {}
    for look in looks:
        taken[look.parent] = taken.get(look.parent, 0) + 1
        most[look.level - 2] = max(most[look.level - 2], taken[look.parent])
    return tuple(most)
