"""Tap tables: which bytes make the pixels of a crop, and what each weighs.

Both resizes of both sampling modes are linear and separable, so a crop is given by two small tables,
one per axis. They come from the rule that `tnet_core.sampling.frame` uses on the CPU.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache
from typing import Generic, TypeVar

import numpy as np
from torch import Tensor

from tnet_core.sampling.frame import Region, Sampler
from tnet_core.sampling.tap_sums import AxisTaps

AnyArray = TypeVar("AnyArray", np.ndarray, Tensor)


class Round(IntEnum):
    """How sums become crops: as they are, or in whole levels of 255 as OpenCV rounds them."""

    NOT = 0
    HALF_UP = 1
    HALF_EVEN = 2


@dataclass(frozen=True)
class CropTaps(Generic[AnyArray]):
    """N crops of b x b pixels as weighted sums of RGB bytes in one flat buffer.

    Output pixel y, x is the sum over i, j of down[i, y] * across[j, x] * the pixel in row rows[i, y] and
    column cols[j, x], times `scale`, then rounded. Weights that do not add up to 1 leave grey.
    """

    start: AnyArray  # (N,) int64: byte of the buffer where the crop's image, or its tile, begins
    pitch: AnyArray  # (N,) int64: bytes from one of its rows to the next
    rows: AnyArray  # (N, T, b) int32
    down: AnyArray  # (N, T, b) float32
    cols: AnyArray  # (N, U, b) int32
    across: AnyArray  # (N, U, b) float32
    scale: float = 1.0
    round: Round = Round.NOT

    @property
    def arrays(self) -> list[AnyArray]:
        return [self.start, self.pitch, self.rows, self.down, self.cols, self.across]

    def with_arrays(self, arrays: Sequence[Tensor]) -> CropTaps[Tensor]:
        """Return the same taps held by other arrays, in the order of `arrays`."""
        start, pitch, rows, down, cols, across = arrays
        return CropTaps(start, pitch, rows, down, cols, across, self.scale, self.round)


def make_official_taps(
    sampler: Sampler, regions: Sequence[Region], owners: Sequence[int] | None = None
) -> CropTaps[np.ndarray]:
    """Return crops out of a buffer that holds the whole image, or several of one size (`owners`: which one)."""
    pitch = 3 * sampler.source.width
    starts = np.asarray(owners or [0] * len(regions), np.int64) * (pitch * sampler.source.height)
    return _join_axes(starts, np.full(len(regions), pitch), [sampler.make_taps(region) for region in regions])


def cut_tiles(sampler: Sampler, regions: Sequence[Region]) -> tuple[np.ndarray, CropTaps[np.ndarray]]:
    """Return a buffer of just the pixels that official crops need, one tile per crop, and the taps into it."""
    both = [sampler.make_taps(region) for region in regions]
    cut = [sampler.gather(rows.pixels, cols.pixels) for rows, cols in both]  # (R, C, 3) uint8 each
    starts = np.cumsum([0] + [tile.size for tile in cut[:-1]])
    pitches = np.array([3 * tile.shape[1] for tile in cut])
    buffer = np.concatenate([tile.reshape(-1) for tile in cut])
    return buffer, _join_axes(starts, pitches, both, in_tiles=True)


def make_native_taps(sampler: Sampler, regions: Sequence[Region]) -> CropTaps[np.ndarray] | None:
    """Return native crops out of a buffer that holds the whole image, to the level as OpenCV makes them.

    None where it rounds twice (one axis shrinks, the other grows) or where sizes differ.
    """
    base = sampler.config.base_resolution
    sizes = {(r.h, r.w) for r in regions}
    h, w = next(iter(sizes))
    grows = min(h, w) < base
    if len(sizes) > 1 or (grows and max(h, w) > base):
        return None
    if grows:
        down, across = _make_linear_taps(h, base), _make_linear_taps(w, base)
        scale, rounding = 1.0, Round.HALF_UP
    else:
        counted = h % base == 0 and w % base == 0  # then OpenCV adds up bytes and divides at the end
        down, across = _make_area_taps(h, base, counted), _make_area_taps(w, base, counted)
        scale = float(np.float32(base * base / (h * w))) if counted else 1.0
        rounding = Round.HALF_UP if h == w == 2 * base else Round.HALF_EVEN
    pitch, count = 3 * sampler.source.width, len(regions)
    starts = np.array([r.y * pitch + 3 * r.x for r in regions], np.int64)
    return _join_axes(starts, np.full(count, pitch), [(down, across)] * count, scale=scale, rounding=rounding)


@lru_cache(maxsize=64)
def _make_area_taps(inputs: int, outputs: int, counted: bool) -> AxisTaps:
    """Return the share of each input pixel in an output pixel, or 1 for each of them where they are to be counted."""
    scale = inputs / outputs
    begin, end = np.arange(outputs) * scale, np.arange(1, outputs + 1) * scale
    index = np.floor(begin).astype(np.int64) + np.arange(int(np.ceil(scale)) + 1)[:, None]  # (T, b)
    overlap = np.minimum(end, index + 1) - np.maximum(begin, index)
    overlap[(overlap < 1e-3) | (index >= inputs)] = 0  # OpenCV leaves out slivers too
    if not overlap[-1].any():
        index, overlap = index[:-1], overlap[:-1]
    weight = overlap.round() if counted else overlap / np.minimum(scale, inputs - begin)
    return AxisTaps(np.arange(inputs), np.where(overlap > 0, index, 0), weight.astype(np.float32))


@lru_cache(maxsize=64)
def _make_linear_taps(inputs: int, outputs: int) -> AxisTaps:
    """Return two taps with half-pixel centres, the border repeated, weights in 1/256 as in OpenCV's exact resize."""
    at = ((np.arange(outputs) + 0.5) * (inputs / outputs) - 0.5).clip(0, inputs - 1)
    left = np.floor(at).astype(np.int64)
    right = np.rint((at - left) * 256) / 256
    index = np.stack([left, np.minimum(left + 1, inputs - 1)])
    return AxisTaps(np.arange(inputs), index, np.stack([1 - right, right]).astype(np.float32))


def _join_axes(
    starts: np.ndarray,
    pitches: np.ndarray,
    axes: Sequence[tuple[AxisTaps, AxisTaps]],
    *,
    in_tiles: bool = False,  # the buffer holds the taps' pixels alone
    scale: float = 1.0,
    rounding: Round = Round.NOT,
) -> CropTaps[np.ndarray]:
    rows, cols = (_stack_axes(list(several), in_tiles) for several in zip(*axes, strict=True))
    return CropTaps(starts.astype(np.int64), pitches.astype(np.int64), *rows, *cols, scale, rounding)


def _stack_axes(axes: Sequence[AxisTaps], in_tiles: bool) -> tuple[np.ndarray, np.ndarray]:
    """Stack pixels and weights, (T, b) each -> (N, T, b), with as many taps as the longest has."""
    shape = (len(axes), max(len(axis.index) for axis in axes), axes[0].index.shape[1])
    indices, weights = np.zeros(shape, np.int32), np.zeros(shape, np.float32)
    for i, axis in enumerate(axes):
        used = slice(len(axis.index))
        indices[i, used], weights[i, used] = axis.index if in_tiles else axis.sources, axis.weight
    return indices, weights
