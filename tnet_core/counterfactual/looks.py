"""What became of single looks: those of the unchanged picture against those of the changed one.

Looks are cells of the first grid, in the order they were taken. The content of a look counts as looked at again if a
look of the changed picture is at the cell nearest to where that content is now.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from tnet_core.counterfactual.follow import SLACK, Lattice, places, spearman
from tnet_core.counterfactual.transforms import Placement
from tnet_core.sampling.boxes import Box

# followed: its content is looked at again; stayed: its old cell is; both: both are, which tells nothing apart;
# gone: its content left the picture; unmoved: its content is still at its cell.
Kind = Literal["followed", "stayed", "both", "neither", "gone", "unmoved"]


@dataclass(frozen=True)
class Fate:
    """Of one look of the unchanged picture."""

    cell: int
    row: float  # where its content is now, in cells of the grid; may lie outside
    col: float
    kind: Kind
    again: int | None  # position of the first new look at its content
    there: int | None  # position of the new look at its old cell


def fates(before: Sequence[int], after: Sequence[int], lattice: Lattice, placement: Placement) -> list[Fate]:
    """Of the looks `before`, given the looks `after` the move."""
    n = len(lattice.rows)
    rows, cols = places(lattice.rows, placement.y), places(lattice.cols, placement.x)
    found = []
    for cell in before:
        row, col = float(rows[cell // n]), float(cols[cell % n])
        near = [at for at, now in enumerate(after) if _apart(now, row, col, n) <= 0.5 + SLACK]
        same = [at for at, now in enumerate(after) if now == cell]
        again, there = (listed[0] if listed else None for listed in (near, same))
        kind: Kind
        if not all(-0.5 - SLACK <= at <= n - 0.5 + SLACK for at in (row, col)):
            again, kind = None, "gone"
        elif _apart(cell, row, col, n) <= 0.5 + SLACK:
            kind = "unmoved"
        else:
            kind = _KINDS[again is not None, there is not None]
        found.append(Fate(cell, row, col, kind, again, there))
    return found


_KINDS: dict[tuple[bool, bool], Kind] = {
    (True, True): "both",
    (True, False): "followed",
    (False, True): "stayed",
    (False, False): "neither",
}


def _apart(cell: int, row: float, col: float, n: int) -> float:
    return max(abs(cell // n - row), abs(cell % n - col))


@dataclass(frozen=True)
class Pull:
    """What a copy pasted onto a cell did to the first grid. Ranks begin at 0, the first look."""

    source: tuple[int, int]  # rank of the cell that was copied, before and after
    target: tuple[int, int]  # rank of the cell that shows the copy
    others: float  # rank correlation, before and after, of the cells that show none of the copy; NaN if there are few
    untouched: int  # how many those are


def pull(before: np.ndarray, after: np.ndarray, boxes: Sequence[Box], source: int, target: int) -> Pull:
    """Logits (n * n,) of both grids; `boxes` are the cells of the picture."""
    old, new = (_ranks(np.asarray(values, dtype=np.float64).ravel()) for values in (before, after))
    free = [at for at, box in enumerate(boxes) if not _overlap(box, boxes[target])]
    rows = [np.asarray(values, dtype=np.float64).ravel()[free][None] for values in (before, after)]
    others = float(spearman(*rows)[0]) if len(free) > 1 else float("nan")
    return Pull((int(old[source]), int(new[source])), (int(old[target]), int(new[target])), others, len(free))


def _ranks(values: np.ndarray) -> np.ndarray:
    """Place of each cell by descending value, ties to the lower index."""
    ranks = np.empty(len(values), dtype=np.int64)
    ranks[np.argsort(-values, kind="stable")] = np.arange(len(values))
    return ranks


def _overlap(a: Box, b: Box) -> bool:
    return min(a[2], b[2]) > max(a[0], b[0]) and min(a[3], b[3]) > max(a[1], b[1])
