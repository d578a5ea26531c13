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
TapTable = tuple[np.ndarray, np.ndarray]  # (T, b) int32 source pixels and float32 weights; weight 0: not read


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
    both = [sampler.taps(region) for region in regions]
    starts = np.asarray(owners or [0] * len(regions), np.int64) * (pitch * sampler.source.height)
    rows, cols = [_place_in_image(r) for r, _ in both], [_place_in_image(c) for _, c in both]
    return _join_axes(starts, np.full(len(regions), pitch), rows, cols)


def cut_tiles(sampler: Sampler, regions: Sequence[Region]) -> tuple[np.ndarray, CropTaps[np.ndarray]]:
    """Return a buffer of just the pixels that official crops need, one tile per crop, and the taps into it."""
    both = [sampler.taps(region) for region in regions]
    cut = [sampler.gather(rows.pixels, cols.pixels) for rows, cols in both]  # (R, C, 3) uint8 each
    starts = np.cumsum([0] + [tile.size for tile in cut[:-1]])
    pitches = np.array([3 * tile.shape[1] for tile in cut])
    buffer = np.concatenate([tile.reshape(-1) for tile in cut])
    rows, cols = [_place_in_tile(r) for r, _ in both], [_place_in_tile(c) for _, c in both]
    return buffer, _join_axes(starts, pitches, rows, cols)


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
        (ys, down), (xs, across) = _make_linear_taps(h, base), _make_linear_taps(w, base)
        scale, rounding = 1.0, Round.HALF_UP
    else:
        counted = h % base == 0 and w % base == 0  # then OpenCV adds up bytes and divides at the end
        (ys, down), (xs, across) = _make_area_taps(h, base, counted), _make_area_taps(w, base, counted)
        scale = float(np.float32(base * base / (h * w))) if counted else 1.0
        rounding = Round.HALF_UP if h == w == 2 * base else Round.HALF_EVEN
    pitch, count = 3 * sampler.source.width, len(regions)
    starts = np.array([r.y * pitch + 3 * r.x for r in regions], np.int64)
    return _join_axes(starts, np.full(count, pitch), [(ys, down)] * count, [(xs, across)] * count, scale, rounding)


def _place_in_image(taps: AxisTaps) -> TapTable:
    """Return taps with the pixels of the whole image; where nothing is read, any pixel stands."""
    return (taps.pixels if len(taps.pixels) else np.zeros(1, np.int64))[taps.index].astype(np.int32), taps.weight


def _place_in_tile(taps: AxisTaps) -> TapTable:
    """Return taps with the pixels of a tile that holds no others."""
    return taps.index.astype(np.int32), taps.weight


@lru_cache(maxsize=64)
def _make_area_taps(inputs: int, outputs: int, counted: bool) -> TapTable:
    """Return the share of each input pixel in an output pixel, or 1 for each of them where they are to be counted."""
    scale = inputs / outputs
    begin, end = np.arange(outputs) * scale, np.arange(1, outputs + 1) * scale
    index = np.floor(begin).astype(np.int64) + np.arange(int(np.ceil(scale)) + 1)[:, None]  # (T, b)
    overlap = np.minimum(end, index + 1) - np.maximum(begin, index)
    overlap[(overlap < 1e-3) | (index >= inputs)] = 0  # OpenCV leaves out slivers too
    if not overlap[-1].any():
        index, overlap = index[:-1], overlap[:-1]
    weight = overlap.round() if counted else overlap / np.minimum(scale, inputs - begin)
    return np.where(overlap > 0, index, 0).astype(np.int32), weight.astype(np.float32)


@lru_cache(maxsize=64)
def _make_linear_taps(inputs: int, outputs: int) -> TapTable:
    """Return two taps with half-pixel centres, the border repeated, weights in 1/256 as in OpenCV's exact resize."""
    at = ((np.arange(outputs) + 0.5) * (inputs / outputs) - 0.5).clip(0, inputs - 1)
    left = np.floor(at).astype(np.int64)
    right = np.rint((at - left) * 256) / 256
    index = np.stack([left, np.minimum(left + 1, inputs - 1)])
    return index.astype(np.int32), np.stack([1 - right, right]).astype(np.float32)


def _join_axes(
    starts: np.ndarray,
    pitches: np.ndarray,
    rows: Sequence[TapTable],
    cols: Sequence[TapTable],
    scale: float = 1.0,
    rounding: Round = Round.NOT,
) -> CropTaps[np.ndarray]:
    start, pitch = starts.astype(np.int64), pitches.astype(np.int64)
    return CropTaps(start, pitch, *_stack_axes(rows), *_stack_axes(cols), scale, rounding)


def _stack_axes(axes: Sequence[TapTable]) -> TapTable:
    """Stack (T, b) each -> (N, T, b), with as many taps as the longest has."""
    shape = (len(axes), max(len(index) for index, _ in axes), axes[0][0].shape[1])
    indices, weights = np.zeros(shape, np.int32), np.zeros(shape, np.float32)
    for i, (index, weight) in enumerate(axes):
        indices[i, : len(index)], weights[i, : len(weight)] = index, weight
    return indices, weights
