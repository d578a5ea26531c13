"""What became of single looks: those of the unchanged picture against those of the changed one.

Looks are cells of the first grid, in the order they were taken. The content of a look has a box of its own after the
move, larger or smaller than a cell where the picture was scaled. It counts as looked at again if a look of the changed
picture and that box lie one within the other, or if the look is at the cell nearest to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from tnet_core.counterfactual.follow import SLACK, CellCentres, find_places
from tnet_core.counterfactual.transforms import Axis, Placement
from tnet_core.numbers import correlate_ranks
from tnet_core.records import Box

# followed: its content is looked at again; stayed: its old cell is; both: both are, which tells nothing apart;
# gone: its content left the picture; unmoved: its old cell still shows its content.
Kind = Literal["followed", "stayed", "both", "neither", "gone", "unmoved"]


@dataclass(frozen=True)
class Fate:
    """What became of one look of the unchanged picture."""

    cell: int
    row: float  # where its content is now, in cells of the grid; may lie outside
    col: float
    kind: Kind
    again: int | None  # position of the first new look at its content
    there: int | None  # position of the new look at its old cell


def find_fates(before: Sequence[int], after: Sequence[int], centres: CellCentres, placement: Placement) -> list[Fate]:
    """Return what became of the looks `before`, given the looks `after` the move."""
    n = len(centres.rows)
    rows, cols = find_places(centres.rows, placement.y), find_places(centres.cols, placement.x)
    across, down = centres.step
    reach = _compute_reach(placement.y, centres.size[1] / down), _compute_reach(placement.x, centres.size[0] / across)
    found = []
    for cell in before:
        row, col = float(rows[cell // n]), float(cols[cell % n])
        near = [at for at, now in enumerate(after) if _is_at(now, row, col, n, reach)]
        same = [at for at, now in enumerate(after) if now == cell]
        again, there = (listed[0] if listed else None for listed in (near, same))
        kind: Kind
        if not all(-by <= at <= n - 1 + by for at, by in zip((row, col), reach, strict=True)):
            again, kind = None, "gone"
        elif _is_at(cell, row, col, n, reach):
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


def _compute_reach(axis: Axis, size: float) -> float:
    """Return how far a cell's centre may be from the content's, in cells, to be at it.

    That is as far as one box lies within the other, and at least as far as no other cell is nearer. `size` is that of
    a cell in cells: neighbours overlap.
    """
    return max(0.5, abs(abs(axis.factor) - 1) * size / 2) + SLACK


def _is_at(cell: int, row: float, col: float, n: int, reach: tuple[float, float]) -> bool:
    return abs(cell // n - row) <= reach[0] and abs(cell % n - col) <= reach[1]


@dataclass(frozen=True)
class Pull:
    """What a copy pasted onto a cell did to the first grid. Ranks begin at 0, the first look."""

    source: tuple[int, int]  # rank of the cell that was copied, before and after
    target: tuple[int, int]  # rank of the cell that shows the copy
    others: float  # rank correlation, before and after, of the cells that show none of the copy; NaN if there are few
    untouched: int  # how many those are


def measure_pull(
    before: np.ndarray, after: np.ndarray, boxes: Sequence[Box], source: int, target: int, copy: Box | None = None
) -> Pull:
    """Compare logits (n * n,) of both grids; `boxes` are cells, `copy` is the box of the copy if not the target's.

    A copy that lies between cells has the nearest one as its target.
    """
    old, new = (_rank_cells(np.asarray(values, dtype=np.float64).ravel()) for values in (before, after))
    shown = copy or boxes[target]
    free = [at for at, box in enumerate(boxes) if not _do_overlap(box, shown)]
    rows = [np.asarray(values, dtype=np.float64).ravel()[free][None] for values in (before, after)]
    others = float(correlate_ranks(*rows)[0]) if len(free) > 1 else float("nan")
    return Pull((int(old[source]), int(new[source])), (int(old[target]), int(new[target])), others, len(free))


def _rank_cells(values: np.ndarray) -> np.ndarray:
    """Return the place of each cell by descending value, ties to the lower index."""
    ranks = np.empty(len(values), dtype=np.int64)
    ranks[np.argsort(-values, kind="stable")] = np.arange(len(values))
    return ranks


def find_nearest_cell(boxes: Sequence[Box], place: Box) -> int:
    """Return the cell whose centre is nearest to that of a box; ties to the lower index."""
    away = [(a[0] + a[2] - place[0] - place[2]) ** 2 + (a[1] + a[3] - place[1] - place[3]) ** 2 for a in boxes]
    return int(np.argmin(away))


def find_look_at(looks: Sequence[Box], place: Box) -> int | None:
    """Return the position of the first look that covers at least half of a box, None if there is none."""
    for at, look in enumerate(looks):
        width, height = (min(look[i + 2], place[i + 2]) - max(look[i], place[i]) for i in (0, 1))
        if min(width, height) > 0 and 2 * width * height >= (place[2] - place[0]) * (place[3] - place[1]):
            return at
    return None


def _do_overlap(a: Box, b: Box) -> bool:
    return min(a[2], b[2]) > max(a[0], b[0]) and min(a[3], b[3]) > max(a[1], b[1])
