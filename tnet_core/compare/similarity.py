"""How alike two traversals are: overlap of looks by cells and area, and correlation of ranks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tnet_core.numbers import correlate_ranks
from tnet_core.records import Location, union_area
from tnet_core.trace import Trace

Looks = Sequence[int]  # positions in `Trace.locations`


@dataclass(frozen=True)
class Overlap:
    """Level of the looks -> share in common, in 0…1; None where there is nothing to compare."""

    cells: dict[int, float | None]  # cells in both / cells in either (Jaccard)
    area: dict[int, float | None]  # intersection over union of the areas inside boxes


def same_image(a: Trace, b: Trace) -> bool:
    """Tell whether both traces are of one picture."""
    return a.image.is_same(b.image)


def same_grid(a: Trace, b: Trace) -> bool:
    """Tell whether a cell means the same in both: without that, looks can be compared by area only."""
    return a.config.grid == b.config.grid


def select_within(trace: Trace, budget: Sequence[int]) -> tuple[int, ...]:
    """Return the looks that a budget takes, as far as the trace has them; further entries are for deeper traversals."""
    padded = (*budget, *[0] * len(trace.budget))
    return trace.select(budget=[min(wanted, most) for wanted, most in zip(padded, trace.budget, strict=False)])


def overlap(a: Trace, b: Trace, in_a: Looks, in_b: Looks) -> Overlap:
    """Return the overlap of the selected looks, for every level that either traversal has."""
    return Overlap(shared_cells(a, b, in_a, in_b), area_overlap(a, b, in_a, in_b))


def shared_cells(a: Trace, b: Trace, in_a: Looks, in_b: Looks) -> dict[int, float | None]:
    """Return the Jaccard index of the cells per level; None where grids differ in size, or nothing was looked at."""
    shares: dict[int, float | None] = {}
    for level, ours, theirs in _group_by_level(a, b, in_a, in_b):
        mine, other = {look.path for look in ours}, {look.path for look in theirs}
        shares[level] = len(mine & other) / len(mine | other) if same_grid(a, b) and mine | other else None
    return shares


def area_overlap(a: Trace, b: Trace, in_a: Looks, in_b: Looks) -> dict[int, float | None]:
    """Return the exact intersection over union of the areas inside boxes, per level; None where nothing was seen.

    Boxes are relative to their picture: on two pictures this compares positions.
    """
    shares: dict[int, float | None] = {}
    for level, ours, theirs in _group_by_level(a, b, in_a, in_b):
        mine, other = [look.box for look in ours], [look.box for look in theirs]
        either = union_area([*mine, *other])
        common = union_area(mine) + union_area(other) - either
        shares[level] = min(1.0, max(0.0, common / either)) if either else None
    return shares


def agreement(a: Trace, b: Trace) -> tuple[float, ...]:
    """Return the share of the first k looks at the picture that both have, whatever their order, for k = 1, 2, …

    As long as both have looks; empty where grids differ in size.
    """
    if not same_grid(a, b):
        return ()
    first, second = ([look.index for look in trace.locations if look.parent is None] for trace in (a, b))
    return tuple(len({*first[:k]} & {*second[:k]}) / k for k in range(1, min(len(first), len(second)) + 1))


def _group_by_level(a: Trace, b: Trace, in_a: Looks, in_b: Looks) -> list[tuple[int, list[Location], list[Location]]]:
    ours, theirs = ([trace.locations[p] for p in trace.select(subset=looks)] for trace, looks in ((a, in_a), (b, in_b)))
    levels = range(2, max(a.levels, b.levels) + 1)
    return [
        (n, [look for look in ours if look.level == n], [look for look in theirs if look.level == n]) for n in levels
    ]


@dataclass(frozen=True)
class RankCorrelation:
    """-1 for the opposite order, 0 for no relation, 1 for the same order."""

    spearman: float
    kendall: float


def spearman(x: Sequence[float] | np.ndarray, y: Sequence[float] | np.ndarray) -> float | None:
    """Return Pearson's correlation of average ranks; None where one of them does not vary."""
    a, b = (np.asarray(values, dtype=np.float64).reshape(1, -1) for values in (x, y))
    found = float(correlate_ranks(a, b)[0])
    return None if np.isnan(found) else found


def kendall(x: Sequence[float] | np.ndarray, y: Sequence[float] | np.ndarray) -> float | None:
    """Return tau-b, which allows for ties: concordant minus discordant pairs; None where one does not vary."""
    a, b = (np.asarray(values, dtype=np.float64).ravel() for values in (x, y))
    upper = np.triu_indices(len(a), 1)
    first = np.sign(a[:, None] - a[None, :])[upper]
    second = np.sign(b[:, None] - b[None, :])[upper]
    scale = np.sqrt(np.count_nonzero(first) * np.count_nonzero(second))
    return None if scale == 0 else float((first @ second) / scale)


def score_correlation(a: Trace, b: Trace) -> RankCorrelation | None:
    """Correlate the location logits of the first grids; None where grids differ in size or one is flat."""
    if not a.distributions or not b.distributions or a.config.grid != b.config.grid:
        return None
    return _correlate(a.distributions[0].logits, b.distributions[0].logits)


def order_correlation(a: Trace, b: Trace) -> RankCorrelation | None:
    """Correlate the order in which cells of the first grids were looked at; the others tie for the last place."""
    if a.config.grid != b.config.grid:
        return None
    return _correlate(_list_turns(a), _list_turns(b))


def _list_turns(trace: Trace) -> np.ndarray:
    """Return (cells,) when each cell of the first grid was looked at."""
    taken = [look.index for look in trace.locations if look.parent is None]
    turns = np.full(trace.config.cells, len(taken))
    turns[taken] = np.arange(len(taken))
    return turns


def _correlate(x: np.ndarray, y: np.ndarray) -> RankCorrelation | None:
    rho, tau = spearman(x, y), kendall(x, y)
    return None if rho is None or tau is None else RankCorrelation(rho, tau)
