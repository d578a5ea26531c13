"""Which looks are shown, and what they are called."""

from __future__ import annotations

from tnet_core import Trace

# How many looks in the order of the traversal, or a budget: looks per grid, one number per level below the first.
Shown = int | tuple[int, ...]


def chosen(trace: Trace, shown: Shown) -> tuple[int, ...]:
    """Positions in `trace.locations`."""
    return trace.select(shown) if isinstance(shown, int) else trace.select(budget=shown)


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
