"""What looks are called, and which budgets differ."""

from __future__ import annotations

from collections.abc import Iterator

from tnet_core import Trace


def labels(trace: Trace) -> tuple[str, ...]:
    """'1', '2', … for looks at the whole picture, '2.1' for the first one inside look 2.

    A budget leaves out looks of every grid, never their order: a look keeps its name at every budget.
    """
    names: list[str] = []
    taken: dict[int | None, int] = {}  # looks already met in each grid
    for look in trace.locations:
        taken[look.parent] = taken.get(look.parent, 0) + 1
        above = "" if look.parent is None else f"{names[look.parent]}."
        names.append(f"{above}{taken[look.parent]}")
    return tuple(names)


def list_distinct_budgets(trace: Trace) -> Iterator[tuple[int, ...]]:
    """Yield every budget up to the trace's own, without those that ask for looks inside looks that are not taken."""
    for budget in trace.budgets():
        if 0 not in budget or not any(budget[budget.index(0) :]):
            yield budget
