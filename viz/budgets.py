"""How many looks the page takes."""

from __future__ import annotations

from collections.abc import Sequence

from tnet_core import TNetConfig

MOST_LOOKS = 40  # of a traversal with three levels or more; every one of them is drawn


def largest(config: TNetConfig) -> tuple[int, ...]:
    """The budget a picture is traversed with: every smaller one follows from it.

    Two levels: every cell. More: the trained budget, its smallest entry raised while looks stay few enough.
    """
    if config.levels == 2:
        return (config.cells,)
    budget = [max(1, looks) for looks in config.budget]
    raised = True
    while raised:
        raised = False
        for level in sorted(range(len(budget)), key=budget.__getitem__):
            more = [looks + (at == level) for at, looks in enumerate(budget)]
            if more[level] <= config.cells and looks_of(more) <= MOST_LOOKS:
                budget, raised = more, True
                break
    return tuple(budget)


def looks_of(budget: Sequence[int]) -> int:
    """Looks of a whole traversal."""
    total, width = 0, 1
    for looks in budget:
        width *= looks
        total += width
    return total
