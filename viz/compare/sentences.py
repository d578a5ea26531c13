"""What the numbers of a comparison mean for the two traversals at hand, as plain text."""

from __future__ import annotations

from tnet_core import Trace, compare


def first_looks(a: Trace, b: Trace) -> str:
    """Where each of them looks first."""
    one, two = _first(a), _first(b)
    if one is None or two is None:
        return (
            "" if one is two else f"{'A' if two is None else 'B'} looks first at {one or two}; the other takes no look."
        )
    if one == two and compare.same_grid(a, b):
        return f"Both look first at {one}."
    return f"A looks first at {one}, B at {two}."


def _first(trace: Trace) -> str | None:
    if not trace.locations:
        return None
    row, column = divmod(trace.locations[0].index, trace.config.grid)
    return f"row {row + 1}, column {column + 1} of {trace.config.grid} × {trace.config.grid}"


def on_cells(a: Trace, b: Trace) -> str:
    """What overlap means here."""
    if not compare.same_grid(a, b):
        sizes = " and ".join(f"{trace.config.grid} × {trace.config.grid}" for trace in (a, b))
        start = f"The grids differ ({sizes}), so cells cannot be matched; areas can."
    else:
        start = "Cells, or areas inside boxes, that both looked at, as a share of what either looked at."
    if not compare.same_image(a, b):
        return f"{start} The pictures differ: this compares positions in the picture, not what is seen there."
    return f"{start} Where, not what was recognised there."


def on_order(a: Trace, b: Trace) -> str:
    if not compare.same_grid(a, b):
        return "needs grids of the same size"
    return "order in which cells were looked at; those never looked at tie for the last place"


def on_scores(a: Trace, b: Trace) -> str:
    """What the location modules thought of the cells, whatever was looked at."""
    if not compare.same_grid(a, b):
        return "needs grids of the same size"
    if kept(a, b):
        return "the same network scored the same picture: only the choice differs"
    return "what the networks thought of every cell, whatever was looked at"


def kept(a: Trace, b: Trace) -> bool:
    """Whether both columns are one network's view of one picture."""
    return a.source == b.source and a.config == b.config and compare.same_image(a, b)


def no_classes(a: Trace, b: Trace) -> str:
    return (
        f"The two checkpoints have no class in common ({len(a.bias)} and {len(b.bias)} classes, none of one name), so "
        "their logits cannot be set against each other; everything above still holds."
    )


def on_ledger(a: Trace, b: Trace) -> str:
    """What the difference of shares says, and what it does not."""
    exact = "Exact shares of both logits and their difference, B minus A; the rows and the biases add up to it."
    if not compare.same_grid(a, b):
        exact += " The grids differ, so looks are not matched and each has a row of its own."
    elif not compare.same_image(a, b):
        exact += " Looks are matched by their position in the two pictures, not by what they show."
    else:
        exact += " Looks at the same cell are matched; one that only one side took counts as zero on the other."
    if not (a.source == b.source and a.config == b.config):
        exact += " Logits of two checkpoints have no common scale: compare signs and proportions rather than sizes."
    return exact
