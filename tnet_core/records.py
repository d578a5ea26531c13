"""The small frozen records a `Trace` consists of, and the arithmetic of their boxes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated

import numpy as np
from pydantic import Field

from tnet_core.numbers import Matrix

Box = tuple[float, float, float, float]  # x0, y0, x1, y1, normalised to the full image


@dataclass(frozen=True)
class Location:
    """One look. The thumbnail is not a look."""

    level: int  # 2 for looks at the whole image's grid, 3 for looks inside those, …
    index: int  # cell in its grid, row-major from 0
    parent: int | None  # position in `Trace.locations` of the look it was taken inside; None: the thumbnail
    box: Box  # clipped to the image
    pixels: tuple[int, int, int, int]  # y, x, h, w in the sampling frame, unclipped (official numbers)
    logit: float  # unit-length logit of the cell
    prob: float  # its probability, nearly flat by construction
    rank: int  # 1 for the network's first choice in this grid, whatever the policy took
    lift: float  # probability over uniform: prob * cells
    path: tuple[int, ...]  # cell indices from the thumbnail down to this look

    def __repr__(self) -> str:
        inside = "" if self.parent is None else f" inside look {self.parent}"
        box = ", ".join(f"{end:.3f}" for end in self.box)
        return f"Location(level {self.level}, cell {self.index}{inside}, rank {self.rank}, box ({box}))"


@dataclass(frozen=True)
class Distribution:
    """What the location module said about one grid."""

    level: Annotated[int, Field(ge=1)]  # of the image that was divided: 1 for the thumbnail
    parent: Annotated[int, Field(ge=0)] | None  # position in `Trace.locations` of that image; None: the thumbnail
    path: tuple[int, ...]  # cell indices from the thumbnail down to that image
    logits: Matrix  # (n, n) float32, unit length
    probabilities: Matrix  # (n, n) float32

    def __repr__(self) -> str:
        whose = "the thumbnail" if self.parent is None else f"look {self.parent}"
        n, best = self.logits.shape[0], int(self.order[0])
        return f"Distribution({n} x {n} cells of {whose}, first cell {best} with lift {self.lift.flat[best]:.2f})"

    @property
    def cells(self) -> int:
        return self.logits.size

    @property
    def order(self) -> np.ndarray:
        """(n * n,) cells by descending logit, ties to the lower index: the network's own choice."""
        return np.argsort(-self.logits.ravel(), kind="stable")

    @property
    def ranks(self) -> np.ndarray:
        """(n, n) int: 1 for the first cell of `order`."""
        ranks = np.empty(self.cells, dtype=np.int64)
        ranks[self.order] = np.arange(1, self.cells + 1)
        return ranks.reshape(self.logits.shape)

    @property
    def lift(self) -> np.ndarray:
        """(n, n) probability over uniform."""
        return self.probabilities * self.cells


@dataclass(frozen=True)
class Timing:
    """Wall time of the run and the process's peak memory during it."""

    opening: float  # seconds spent on opening (decoding) the image
    seconds: tuple[float, ...]  # of each look, thumbnail first; looks taken together share their time evenly
    peak_memory: int  # bytes; 0 where the system does not tell


@dataclass(frozen=True)
class Step:
    """One step of a traversal: what was looked at and what it changed."""

    number: int  # 0 for the thumbnail, k for the k-th look
    location: Location | None  # None for the thumbnail
    crop: np.ndarray = field(repr=False)  # (b, b, 3) uint8, what the network saw
    distribution: Distribution | None = field(repr=False)  # the grid this look opens, if any
    logits: np.ndarray = field(repr=False)  # (classes,) after this step
    change: np.ndarray | None = field(repr=False)  # (classes,) logits gained; None for the thumbnail
    weights: np.ndarray = field(repr=False)  # context first
    seconds: float

    @property
    def prediction(self) -> int:
        return int(self.logits.argmax())


@dataclass(frozen=True)
class Contributions:
    """Exact signed shares of one logit (or of a logit difference)."""

    cls: int
    versus: int | None
    looks: tuple[int | None, ...]  # None for the context, else positions in `Trace.locations`
    values: np.ndarray  # one per entry of `looks`, float64
    bias: float

    @property
    def total(self) -> float:
        """The logit (difference) that values and bias add up to."""
        return float(self.values.sum() + self.bias)


@dataclass(frozen=True)
class Cost:
    """What a set of looks costs."""

    flops: int  # conv + dense multiplications, as the paper counts
    parameters: int
    pixels_read: int  # source pixels fetched, thumbnail included
    coverage: dict[int, float]  # level -> share of the image inside the union of its boxes
    seconds: float  # wall time: opening the image, the thumbnail and these looks
    peak_memory: int  # bytes, of the process during the run; 0 where unknown


def union_area(boxes: Sequence[Box]) -> float:
    """Return the exact area of the union of boxes, by coordinate compression."""
    if not boxes:
        return 0.0
    corners = np.asarray(boxes, dtype=np.float64)
    xs, ys = np.unique(corners[:, [0, 2]]), np.unique(corners[:, [1, 3]])
    covered = np.zeros((len(ys) - 1, len(xs) - 1), dtype=bool)
    left, right = np.searchsorted(xs, corners[:, 0]), np.searchsorted(xs, corners[:, 2])
    top, bottom = np.searchsorted(ys, corners[:, 1]), np.searchsorted(ys, corners[:, 3])
    for x0, y0, x1, y1 in zip(left, top, right, bottom, strict=True):
        covered[y0:y1, x0:x1] = True
    return float(np.diff(ys) @ covered @ np.diff(xs))


def pixel_box(box: Box, width: int, height: int) -> tuple[int, int, int, int]:
    """Return the box in whole pixels inside the picture, at least one of them."""
    x0, x1 = _pixels(box[0], box[2], width)
    y0, y1 = _pixels(box[1], box[3], height)
    return x0, y0, x1, y1


def _pixels(low: float, high: float, side: int) -> tuple[int, int]:
    start = min(max(round(low * side), 0), side - 1)
    return start, max(start + 1, min(round(high * side), side))
