"""The candidate grid: which pixels the n x n cells of an image cover.

Official geometry (per side S): a rounded cell, a ceil stride, and as much zero padding as the last
cell needs, more of it in front. The paper does not mention the padding; a 5 x 5 grid on 448 px
starts at pixel -1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

from tnet_core.errors import TNetError


@dataclass(frozen=True)
class AxisGrid:
    """One axis of a candidate grid, in pixels of the image it divides."""

    cell: int
    starts: tuple[int, ...]  # first pixel of each cell; may be negative by the padding


@dataclass(frozen=True)
class PaddedAxis(AxisGrid):
    """One axis of an official grid: cells at a fixed stride, padded at both ends."""

    stride: int
    pad_before: int
    pad_after: int


@lru_cache(maxsize=4096)
def official_axis(side: int, n: int, fraction: float) -> PaddedAxis:
    """The official rule: cells may reach beyond the image, into grey (mostly by a pixel or two)."""
    cell = round(side * fraction)  # Python rounds half to even, as numpy does
    _require_pixels(cell, side)
    stride = math.ceil((side - cell) / (n - 1))
    total = (n - 1) * stride + cell - side
    before = math.ceil(total / 2)
    starts = tuple(i * stride - before for i in range(n))
    return PaddedAxis(cell, starts, stride, before, total - before)


@lru_cache(maxsize=4096)
def native_axis(side: int, n: int, fraction: float) -> AxisGrid:
    """Evenly spread cells that all lie inside the image: no padding is ever needed."""
    cell = max(1, round(side * fraction))
    starts = tuple(round(i * (side - cell) / (n - 1)) for i in range(n))
    return AxisGrid(cell, starts)


def _require_pixels(cell: int, side: int) -> None:
    if cell < 1:
        raise TNetError(
            f"A side of {side} px is too small to be divided further: a cell would have no pixel; use fewer levels."
        )
