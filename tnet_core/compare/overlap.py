"""Overlap of looks: of cells, of area, and of the first k of both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tnet_core.records import Location
from tnet_core.sampling.boxes import union_area
from tnet_core.trace import Trace

Looks = Sequence[int]  # positions in `Trace.locations`


@dataclass(frozen=True)
class Overlap:
    """Level of the looks -> share in common, in 0…1; None where there is nothing to compare."""

    cells: dict[int, float | None]  # cells in both / cells in either (Jaccard)
    area: dict[int, float | None]  # intersection over union of the areas inside boxes


def same_image(a: Trace, b: Trace) -> bool:
    """Whether both traces are of one picture."""
    return a.image == b.image


def same_grid(a: Trace, b: Trace) -> bool:
    """Whether a cell means the same in both: without that, looks can be compared by area only."""
    return a.config.grid == b.config.grid


def within(trace: Trace, budget: Sequence[int]) -> tuple[int, ...]:
    """The looks that a budget takes, as far as the trace has them; further entries are for deeper traversals."""
    padded = (*budget, *[0] * len(trace.budget))
    return trace.select(budget=[min(wanted, most) for wanted, most in zip(padded, trace.budget, strict=False)])


def overlap(a: Trace, b: Trace, in_a: Looks, in_b: Looks) -> Overlap:
    """Of the selected looks, for every level that either traversal has."""
    return Overlap(shared_cells(a, b, in_a, in_b), area_overlap(a, b, in_a, in_b))


def shared_cells(a: Trace, b: Trace, in_a: Looks, in_b: Looks) -> dict[int, float | None]:
    """Jaccard index of the cells per level; None where grids differ in size, or nothing was looked at."""
    shares: dict[int, float | None] = {}
    for level, ours, theirs in _by_level(a, b, in_a, in_b):
        mine, other = {look.path for look in ours}, {look.path for look in theirs}
        shares[level] = len(mine & other) / len(mine | other) if same_grid(a, b) and mine | other else None
    return shares


def area_overlap(a: Trace, b: Trace, in_a: Looks, in_b: Looks) -> dict[int, float | None]:
    """Exact intersection over union of the areas inside boxes, per level; None where nothing was looked at.

    Boxes are relative to their picture: on two pictures this compares positions.
    """
    shares: dict[int, float | None] = {}
    for level, ours, theirs in _by_level(a, b, in_a, in_b):
        mine, other = [look.box for look in ours], [look.box for look in theirs]
        either = union_area([*mine, *other])
        common = union_area(mine) + union_area(other) - either
        shares[level] = min(1.0, max(0.0, common / either)) if either else None
    return shares


def agreement(a: Trace, b: Trace) -> tuple[float, ...]:
    """Share of the first k looks at the picture that both have, whatever their order, for k = 1, 2, …

    As long as both have looks; empty where grids differ in size.
    """
    if not same_grid(a, b):
        return ()
    first, second = ([look.index for look in trace.locations if look.parent is None] for trace in (a, b))
    return tuple(len({*first[:k]} & {*second[:k]}) / k for k in range(1, min(len(first), len(second)) + 1))


def _by_level(a: Trace, b: Trace, in_a: Looks, in_b: Looks) -> list[tuple[int, list[Location], list[Location]]]:
    ours, theirs = ([trace.locations[p] for p in trace.select(subset=looks)] for trace, looks in ((a, in_a), (b, in_b)))
    levels = range(2, max(a.levels, b.levels) + 1)
    return [
        (n, [look for look in ours if look.level == n], [look for look in theirs if look.level == n]) for n in levels
    ]
