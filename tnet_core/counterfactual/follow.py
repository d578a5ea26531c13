"""Does a grid of location logits follow the content of a picture, or the position in it?

The grid of the changed picture is compared, cell by cell, with what the unchanged picture's grid says about the same
*content* (where the cell's centre came from, linear between cell centres) and about the same *position*. Cells whose
content had no cell before are compared with neither. Both are rank correlations (Spearman's, ties share their rank),
since a traversal takes cells by rank. One number from the two:

    score = (content - position) / ((1 - content) + (1 - position))

1: content predicts the grid perfectly; -1: position does; 0: both equally well. It is undefined where both are perfect.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tnet_core.counterfactual.transforms import Axis, Placement
from tnet_core.modeling.config import TNetConfig
from tnet_core.numbers import correlate_ranks
from tnet_core.sampling.frame import Frame

# Of a cell. An official grid may lie half a pixel beside the picture's middle: that is no other place.
SLACK = 0.05


@dataclass(frozen=True)
class CellCentres:
    """Centres of a grid's cells, normalised; evenly spaced."""

    rows: tuple[float, ...]
    cols: tuple[float, ...]
    size: tuple[float, float] = (0.0, 0.0)  # of a cell, normalised: across, down; 0: only its centre is known

    @staticmethod
    def of(config: TNetConfig, width: int, height: int) -> CellCentres:
        """Return the first grid of a picture of this size."""
        frame = Frame(width, height, config)
        down, across = frame.axes(frame.whole())
        return CellCentres(
            tuple((start + down.cell / 2) / frame.height for start in down.starts),
            tuple((start + across.cell / 2) / frame.width for start in across.starts),
            (across.cell / frame.width, down.cell / frame.height),
        )

    @property
    def step(self) -> tuple[float, float]:
        """The distance between the centres of neighbouring cells: across, down."""
        n = len(self.cols) - 1
        return (self.cols[-1] - self.cols[0]) / n, (self.rows[-1] - self.rows[0]) / n


@dataclass(frozen=True)
class Followed:
    """B pictures, each before and after the same move."""

    content: np.ndarray  # (B,) rank correlation over the compared cells; NaN where a grid is flat
    position: np.ndarray  # (B,)
    cells: int  # compared
    # Of the first look. `moved`: its content is at another cell now; the other three mean something only there.
    moved: np.ndarray  # (B,) bool
    followed: np.ndarray  # (B,) bool: the first look is now at the cell nearest to its content
    near: np.ndarray  # (B,) bool: … at most one cell from it
    stayed: np.ndarray  # (B,) bool: the first look is at the same cell as before

    @property
    def score(self) -> np.ndarray:
        return compute_score(self.content, self.position)


def compute_score(content: np.ndarray, position: np.ndarray) -> np.ndarray:
    """Return the score in [-1, 1], NaN where both correlations are 1 or one is undefined."""
    apart = 2 - content - position
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(apart > 1e-9, (content - position) / np.where(apart > 1e-9, apart, 1.0), np.nan)


def compare(before: np.ndarray, after: np.ndarray, centres: CellCentres, placement: Placement) -> Followed:
    """Compare logits of the first grids of the unchanged and of the changed pictures, both (B, n * n)."""
    n = len(centres.rows)
    old, new = (np.asarray(values, dtype=np.float64).reshape(-1, n, n) for values in (before, after))
    rows, cols = find_origins(centres.rows, placement.y), find_origins(centres.cols, placement.x)
    known = ~np.isnan(rows)[:, None] & ~np.isnan(cols)[None, :]
    came = np.einsum("ij,bjk,lk->bil", _interpolate(rows), old, _interpolate(cols))  # linear between cell centres
    first, then = old.reshape(-1, n * n).argmax(1), new.reshape(-1, n * n).argmax(1)  # ties to the lower index
    goal = np.stack(
        [find_places(centres.rows, placement.y)[first // n], find_places(centres.cols, placement.x)[first % n]], 1
    )
    was, now = (np.stack([cell // n, cell % n], 1) for cell in (first, then))
    inside = ((goal >= -0.5 - SLACK) & (goal <= n - 0.5 + SLACK)).all(1)
    return Followed(
        content=correlate_ranks(came[:, known], new[:, known]),
        position=correlate_ranks(old[:, known], new[:, known]),
        cells=int(known.sum()),
        moved=inside & (_measure_distance(was, goal) > 0.5 + SLACK),
        followed=_measure_distance(now, goal) <= 0.5 + SLACK,
        near=_measure_distance(now, goal) <= 1 + SLACK,
        stayed=first == then,
    )


def find_origins(centres: Sequence[float], axis: Axis) -> np.ndarray:
    """Return for each cell of the changed picture the cell its centre came from, as a fraction; NaN for none."""
    at = _snap_to_cells(_find_index(np.array([axis.backward(centre) for centre in centres]), centres))
    return np.where((at >= 0) & (at <= len(centres) - 1), at, np.nan)


def find_places(centres: Sequence[float], axis: Axis) -> np.ndarray:
    """Return for each cell of the unchanged picture the cell its centre is at now, as a fraction; maybe outside."""
    return _snap_to_cells(_find_index(np.array([axis.forward(centre) for centre in centres]), centres))


def _find_index(at: np.ndarray, centres: Sequence[float]) -> np.ndarray:
    return (at - centres[0]) / ((centres[-1] - centres[0]) / (len(centres) - 1))


def _snap_to_cells(at: np.ndarray) -> np.ndarray:
    return np.where(np.abs(at - np.rint(at)) <= SLACK, np.rint(at), at)


def _interpolate(at: np.ndarray) -> np.ndarray:
    """Return linear interpolation between cells as a matrix (n, n); rows of zeros where there is nothing."""
    cells = np.arange(len(at))
    weights = np.maximum(0.0, 1.0 - np.abs(at[:, None] - cells[None, :]))
    return np.nan_to_num(weights)


def _measure_distance(cells: np.ndarray, goal: np.ndarray) -> np.ndarray:
    """Return distances in cells, along the axis in which they are larger."""
    return np.abs(cells - goal).max(1)
