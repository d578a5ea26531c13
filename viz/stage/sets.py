"""Which sets of looks a page can show without asking: their weights are sent along."""

from __future__ import annotations

from collections.abc import Sequence

from tnet_core import Trace
from viz.common.selection import list_distinct_budgets

Looks = tuple[int, ...]  # positions in `trace.locations`


def shown_sets(trace: Trace) -> list[Looks]:
    """The looks of every budget, and every step on the way to them."""
    if trace.levels == 2:
        return [tuple(range(k + 1)) for k in range(-1, len(trace.locations))]
    found: dict[Looks, None] = {}
    for budget in list_distinct_budgets(trace):
        looks = trace.select(budget=budget)
        found.update((looks[:k], None) for k in range(len(looks) + 1))
    return list(found)


def steps(looks: Sequence[int]) -> list[Looks]:
    """The sets that are met when looks are taken in this order."""
    return [tuple(looks[:k]) for k in range(len(looks) + 1)]
