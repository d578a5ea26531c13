"""How many looks the page takes, and how deep they go."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tnet_core import TNetConfig, Trace
from tnet_core.budget import MOST_LEVELS, budget_entries, extended
from tnet_core.sampling.frame import Frame

MOST_LOOKS = 40  # of a traversal with three levels or more; every one of them is drawn


def deepest(config: TNetConfig, width: int, height: int) -> int:
    """Levels after which a picture's own pixels have nothing new to show: the core's rule for `levels="auto"`."""
    return config.levels if config.is_baseline else Frame(width, height, config, "native").depth(MOST_LEVELS)


def unbounded(config: TNetConfig, levels: int, given: Sequence[int] = ()) -> tuple[int, ...]:
    """The core's rule for levels beyond those of training: its last entry for each of them."""
    return budget_entries(extended(config, given or config.budget, levels) or ())


def trained(config: TNetConfig, levels: int | None = None, given: Sequence[int] = ()) -> tuple[int, ...]:
    """The budget of training. Levels beyond it take fewer looks than the core would where these are too many.

    `given` are its first entries, where somebody chose them; these stay as they are.
    """
    if levels is None or levels <= config.levels:
        return config.budget
    budget = [*given, *(max(1, looks) for looks in unbounded(config, levels, given)[len(given) :])]
    for level in reversed(range(len(given), len(budget))):  # the looks that were trained with are kept for longest
        while budget[level] > 1 and looks_of(budget) > MOST_LOOKS:
            budget[level] -= 1
    return tuple(budget)


def largest(config: TNetConfig, levels: int | None = None) -> tuple[int, ...]:
    """The budget a picture is traversed with: every smaller one follows from it.

    Two levels: every cell. More: the trained budget, its smallest entry raised while looks stay few enough; levels
    beyond those of training never take more looks than the one above them.
    """
    if (levels or config.levels) == 2:
        return (config.cells,)
    budget = [max(1, looks) for looks in trained(config, levels)]
    raised = True
    while raised:
        raised = False
        for level in sorted(range(len(budget)), key=budget.__getitem__):
            more = [looks + (at == level) for at, looks in enumerate(budget)]
            deeper = level >= max(1, config.levels - 1)
            fits = not deeper or more[level] <= more[level - 1]
            if fits and more[level] <= config.cells and looks_of(more) <= MOST_LOOKS:
                budget, raised = more, True
                break
    return tuple(budget)


def opening(trace: Trace) -> tuple[int, ...]:
    """The budget a page opens with: that of training, as far as the traversal goes."""
    wanted = trained(trace.config, trace.levels)
    return tuple(min(looks, most) for looks, most in zip(wanted, trace.budget, strict=True))


def distinct(trace: Trace) -> Iterator[tuple[int, ...]]:
    """Every budget up to the trace's own, without those that ask for looks inside looks that are not taken."""
    for budget in trace.budgets():
        if 0 not in budget or not any(budget[budget.index(0) :]):
            yield budget


def looks_of(budget: Sequence[int]) -> int:
    """Looks of a whole traversal."""
    total, width = 0, 1
    for looks in budget:
        width *= looks
        total += width
    return total
