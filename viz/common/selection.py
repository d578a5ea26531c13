"""What looks are called."""

from __future__ import annotations

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
