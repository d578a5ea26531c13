"""Official resampling as weighted sums of few source pixels per axis.

Source -> virtual axis of S -> cell -> base resolution: two bilinear resizes, so an output pixel is a sum of at
most four source pixels along each axis, whatever the size of the image. Sums over those few cost a quarter of
a product with the matrix of all weights, which is nearly all zeros.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor


@dataclass(frozen=True)
class AxisTaps:
    """One axis of a crop: output pixel o is the sum over t of weight[t, o] * pixels[index[t, o]]."""

    pixels: np.ndarray  # (P,) increasing source pixels
    index: np.ndarray  # (T, b) int64 into `pixels`
    weight: np.ndarray  # (T, b) float32; 0: not read. What they lack to 1 is grey.

    @property
    def sources(self) -> np.ndarray:
        """(T, b) source pixels; any pixel stands where nothing is read."""
        return (self.pixels if len(self.pixels) else np.zeros(1, np.int64))[self.index]

    @property
    def is_identity(self) -> bool:
        """Tell whether the crop's axis is those source pixels as they are."""
        return self.index.shape == (1, len(self.pixels)) and bool((self.weight == 1).all())


def make_bilinear_taps(inputs: int, outputs: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return left tap, right tap and weight of the right tap, for a half-pixel-centred bilinear resize."""
    # float32 as the reference does, so that taps fall on the same pixels
    scale = np.float32(inputs) / np.float32(outputs)
    at = np.maximum((np.arange(outputs, dtype=np.float32) + np.float32(0.5)) * scale - np.float32(0.5), 0)
    left = np.minimum(at.astype(np.int64), inputs - 1)
    return left, np.minimum(left + 1, inputs - 1), (at - left).astype(np.float32)


@lru_cache(maxsize=512)
def make_axis_taps(source: int, size: int, start: int, length: int, first: int, last: int, base: int) -> AxisTaps:
    """Return the taps of one axis of a crop.

    source -> virtual axis of `size` -> its pixels start … start + length -> base, with virtual
    pixels outside first … last set to zero. There are no pixels where nothing is inside.
    """
    near, far, toward_far = make_bilinear_taps(length, base)
    left, right, toward_right = make_bilinear_taps(source, size)
    columns, weights = [], []
    for virtual, weight in ((near + start, 1 - toward_far), (far + start, toward_far)):
        inside = (virtual >= first) & (virtual < last)
        at = np.where(inside, virtual, 0)
        share = np.where(inside, weight, np.float32(0))
        columns += [left[at], right[at]]
        weights += [share * (1 - toward_right[at]), share * toward_right[at]]
    column, weight = np.stack(columns), np.stack(weights)  # (4, b)
    order = np.argsort(weight <= 0, axis=0, kind="stable")  # what is read first, so that the rest can be left out
    column, weight = (np.take_along_axis(table, order, axis=0) for table in (column, weight))
    taps = max(int((weight > 0).sum(0).max()), 1)
    column, weight = column[:taps], weight[:taps]
    pixels = np.unique(column[weight > 0])
    index = np.searchsorted(pixels, np.where(weight > 0, column, pixels[0] if len(pixels) else 0))
    for array in (pixels, index, weight):
        array.setflags(write=False)
    return AxisTaps(pixels, index, weight)


def sum_taps(pixels: np.ndarray, rows: AxisTaps, cols: AxisTaps) -> np.ndarray:
    """Sum up (R, C, 3) uint8, the crossings of the taps' pixels -> (b, b, 3) float32 in [-1, 1]."""
    height, width = rows.weight.shape[1], cols.weight.shape[1]
    if not pixels.size:
        return np.zeros((height, width, 3), np.float32)
    values = torch.from_numpy(pixels.astype(np.float32))  # (R, C, 3)
    if not rows.is_identity:
        values = _sum_first_axis(values, rows)  # (b, C, 3)
    if not cols.is_identity:
        values = _sum_first_axis(values.transpose(0, 1).contiguous(), cols).transpose(0, 1)
    there = torch.from_numpy(np.outer(rows.weight.sum(0), cols.weight.sum(0))).unsqueeze(2)  # (b, b, 1)
    return (values * (2 / 255) - there).contiguous().numpy()


def _sum_first_axis(values: Tensor, taps: AxisTaps) -> Tensor:
    """Sum along the first axis: (P, …) -> (b, …)."""
    index, weight = (torch.from_numpy(np.array(table.T, order="C")) for table in (taps.index, taps.weight))
    made = F.embedding_bag(index, values.flatten(1), mode="sum", per_sample_weights=weight)
    return made.view(-1, *values.shape[1:])
