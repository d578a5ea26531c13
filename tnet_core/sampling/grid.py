"""The candidate grid: which pixels the n x n cells of an image cover, and cells cut from a batch of tensors.

Official geometry (per side S): a rounded cell, a ceil stride, and as much zero padding as the last
cell needs, more of it in front. The paper does not mention the padding; a 5 x 5 grid on 448 px
starts at pixel -1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import torch
import torch.nn.functional as F
from torch import Tensor

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
def divide_officially(side: int, n: int, fraction: float) -> PaddedAxis:
    """Divide an axis by the official rule: cells may reach beyond the image, into grey (mostly by a pixel or two)."""
    cell = round(side * fraction)  # Python rounds half to even, as numpy does
    _require_pixels(cell, side)
    stride = math.ceil((side - cell) / (n - 1))
    total = (n - 1) * stride + cell - side
    before = math.ceil(total / 2)
    starts = tuple(i * stride - before for i in range(n))
    return PaddedAxis(cell, starts, stride, before, total - before)


@lru_cache(maxsize=4096)
def divide_natively(side: int, n: int, fraction: float) -> AxisGrid:
    """Divide an axis into evenly spread cells that all lie inside the image: no padding is ever needed."""
    cell = max(1, round(side * fraction))
    starts = tuple(round(i * (side - cell) / (n - 1)) for i in range(n))
    return AxisGrid(cell, starts)


def _require_pixels(cell: int, side: int) -> None:
    if cell < 1:
        raise TNetError(
            f"A side of {side} px is too small to be divided further: a cell would have no pixel; use fewer levels."
        )


def resize_batch(images: Tensor, side: int) -> Tensor:
    """Resize bilinearly without antialiasing, as the official code does: (B, 3, H, W) -> (B, 3, side, side).

    Where an axis shrinks by a whole number, an output pixel is one pixel, or the mean of two neighbours: slices
    of the images then take an eighth of the time of a general resize. They may share the images' memory.
    """
    height, width = images.shape[2:]
    if height % side or width % side:
        return F.interpolate(images, (side, side), mode="bilinear", align_corners=False, antialias=False)
    return _take_middles(_take_middles(images, 2, height // side), 3, width // side)


def _take_middles(images: Tensor, axis: int, step: int) -> Tensor:
    """Return the value at the middle of every `step` pixels."""
    if step == 1:
        return images
    whole = slice(None)
    first, second = ((whole,) * axis + (slice(at, None, step),) for at in ((step - 1) // 2, step // 2))
    return images[first] if step % 2 else (images[first] + images[second]) / 2


def cut_cells(images: Tensor, cells: Tensor, grid: int, fraction: float) -> Tensor:
    """Cut cells out of the n x n grid of each image: (B, 3, h, w), (B, k) -> (B * k, 3, cell, cell), image-major.

    Only these cells are copied; the official code cuts all n * n of them first.
    """
    rows, cols = (divide_officially(side, grid, fraction) for side in images.shape[2:])
    margins = (cols.pad_before, cols.pad_after, rows.pad_before, rows.pad_after)
    padded = F.pad(images, margins) if any(margins) else images  # padding by nothing would copy it all
    # A view (B, 3, n, n, cell, cell), of which indexing copies some.
    windows = padded.unfold(2, rows.cell, rows.stride).unfold(3, cols.cell, cols.stride)
    parents = torch.arange(images.shape[0], device=images.device).repeat_interleave(cells.shape[1])
    return windows[parents, :, cells.flatten() // grid, cells.flatten() % grid]
