"""Other looks of a traversal that has them already: fewer of them, in another order, without the backbone.

A look's feature vector does not depend on which others were taken, so the result is that of a traversal of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tnet_core.aggregation import Aggregator
from tnet_core.errors import TNetError
from tnet_core.policies import ranked, resolve
from tnet_core.records import Location, Timing
from tnet_core.trace import Trace


def retaken(trace: Trace, looks: Sequence[int], policy: str = "cells") -> Trace:
    """As if only these looks (positions in `trace.locations`) had been taken, in this order."""
    chosen = trace.select(subset=looks)
    place: dict[int | None, int | None] = {None: None}  # position before -> position now
    locations: list[Location] = []
    for position in chosen:
        look = trace.locations[position]
        if look.parent not in place:
            raise TNetError(f"Look {position} lies inside look {look.parent}, which must be taken before it.")
        place[position] = len(locations)
        locations.append(replace(look, parent=place[look.parent]))
    rows = [0, *(position + 1 for position in chosen)]
    known, timing = trace.aggregator, trace.timing
    return replace(
        trace,
        policy=policy,
        budget=_most(trace, chosen),
        locations=tuple(locations),
        distributions=tuple(
            replace(grid, parent=place[grid.parent]) for grid in trace.distributions if grid.parent in place
        ),
        timing=Timing(timing.opening, tuple(timing.seconds[row] for row in rows), timing.peak_memory),
        pixels_read=tuple(trace.pixels_read[row] for row in rows),
        aggregator=Aggregator(
            known.features[rows], known.projections[rows], known.bias, uniform=known.uniform, weighting=known.weighting
        ),
        seen=None if trace.seen is None else tuple(trace.seen[row] for row in rows),
    )


def ordered(trace: Trace, policy: Any) -> Trace:
    """The looks another policy takes in a traversal of two levels that looked at every cell."""
    at = {look.index: position for position, look in enumerate(trace.locations)}
    if trace.levels != 2 or len(at) != trace.config.cells:
        raise TNetError("Only two levels with every cell looked at can be ordered anew; traverse again otherwise.")
    name, rank = resolve(policy)
    return retaken(trace, [at[cell] for cell in ranked(rank, name, trace.distributions[0])], name)


def _most(trace: Trace, chosen: Sequence[int]) -> tuple[int, ...]:
    """Per level, the most looks that any grid has."""
    counts: dict[tuple[int, int | None], int] = {}
    for position in chosen:
        look = trace.locations[position]
        counts[look.level, look.parent] = counts.get((look.level, look.parent), 0) + 1
    return tuple(
        max((count for (deep, _), count in counts.items() if deep == level), default=0)
        for level in range(2, trace.levels + 1)
    )
