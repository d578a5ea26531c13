"""One sampling rule, two modes: which pixels a look covers and how they reach base resolution.

*Official* mode reproduces the official pipeline: the image is resized (bilinear, no antialiasing,
aspect ratio not kept) to a virtual S x S input, cells are cut from it with the official integer
geometry, and each crop is resized the same way to base resolution. Nothing of size S x S is made:
both resizes are linear with two taps per axis, so a crop needs at most 4 b x 4 b source pixels,
whatever the size of the image.

*Native* mode divides the original pixels instead (evenly, without padding) and resizes each crop
once, with antialiasing.

Pixels beyond the image, and beyond the parent look, are zero in model space: mid-grey. Where the
padding is wider than a cell (many cells, small images, deep levels), whole crops are grey.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from tnet_core.config import Sampling, TNetConfig
from tnet_core.errors import TNetError
from tnet_core.grid import AxisGrid, native_axis, official_axis
from tnet_core.images.lattice import Lattice
from tnet_core.images.source import ImageSource

# Increasing source pixels of one axis, (P,), and what each weighs in each output pixel, (b, P); None: the identity.
Taps = tuple[np.ndarray, np.ndarray | None]


@dataclass(frozen=True)
class Region:
    """A rectangle y, x, h, w in the sampling frame, and the part of it that shows image."""

    y: int
    x: int
    h: int
    w: int
    # y0, x0, y1, x1 in the frame; the rest is grey. Empty, at the nearest border, if all of it is.
    visible: tuple[int, int, int, int]


class Frame:
    """Where looks lie in an image of some size. The frame is S x S (official) or the image itself (native)."""

    def __init__(self, width: int, height: int, config: TNetConfig, mode: Sampling | None = None) -> None:
        self.config = config
        self.mode: Sampling = config.sampling if mode is None else mode
        if self.mode not in ("official", "native"):
            raise TNetError(f"Sampling must be 'official' or 'native', not {mode!r:.40}.")
        side = config.input_size
        self.height, self.width = (side, side) if self.mode == "official" else (height, width)

    def whole(self) -> Region:
        return Region(0, 0, self.height, self.width, (0, 0, self.height, self.width))

    def axes(self, region: Region) -> tuple[AxisGrid, AxisGrid]:
        """The candidate grid of a region: rows, columns."""
        rule = official_axis if self.mode == "official" else native_axis
        n, fraction = self.config.grid, self.config.cell_fraction
        return rule(region.h, n, fraction), rule(region.w, n, fraction)

    def depth(self, most: int) -> int:
        """The levels after which a cell has no more pixels than the network sees: closer looks show nothing new.

        Not fewer than in training, not more than `most`.
        """
        side, levels = max(self.height, self.width), 1
        while side > self.config.base_resolution and levels < most:
            side, levels = round(side * self.config.cell_fraction), levels + 1
        return max(levels, self.config.levels)

    def cell(self, region: Region, index: int) -> Region:
        """Cell `index` (row-major) of a region's grid."""
        rows, cols = self.axes(region)
        r, c = divmod(index, self.config.grid)
        y, x = region.y + rows.starts[r], region.x + cols.starts[c]
        # A crop is cut from its parent's crop, so it cannot show what lies beyond the parent.
        top, left, bottom, right = region.visible
        y0, y1 = (min(max(at, top), bottom) for at in (y, y + rows.cell))
        x0, x1 = (min(max(at, left), right) for at in (x, x + cols.cell))
        return Region(y, x, rows.cell, cols.cell, (y0, x0, y1, x1))

    def box(self, region: Region) -> tuple[float, float, float, float]:
        """x0, y0, x1, y1 normalised to the full image and clipped to it."""
        y0, x0, y1, x1 = region.visible
        return x0 / self.width, y0 / self.height, x1 / self.width, y1 / self.height


class Sampler(Frame):
    """Cuts regions out of one image."""

    def __init__(self, source: ImageSource, config: TNetConfig, mode: Sampling | None = None) -> None:
        super().__init__(source.width, source.height, config, mode)
        self.source = source
        self.gather = source.gather
        if self.mode == "official" and source.scattered:
            self.gather = Lattice(source, *self._crossings()).gather

    def prepare(self) -> None:
        """Reads or decodes what all looks need, so that looks themselves wait for no file."""
        if self.mode == "official":
            rows, cols = self._crossings()
            self.gather(rows[:1], cols[:1])

    def _crossings(self) -> tuple[np.ndarray, np.ndarray]:
        """All rows and columns of the source that the virtual input is interpolated from."""
        size = self.config.input_size
        return _taken(self.source.height, size), _taken(self.source.width, size)

    def read(self, region: Region) -> tuple[np.ndarray, int]:
        """What the network sees: (b, b, 3) float32 in [-1, 1], and how many source pixels it took."""
        base = self.config.base_resolution
        if self.mode == "native":
            y0, x0, y1, x1 = region.visible
            box, size = (x0, y0, x1, y1), (base, base)
            return to_model_space(self.source.resized(box, size)), self.source.pixels_read(box, size)
        (rows, down), (cols, across) = self.taps(region)
        pixels = self.gather(rows, cols)  # (R, C, 3) uint8
        values = to_model_space(pixels)
        if down is not None:
            values = np.tensordot(down, values, axes=(1, 0))  # (b, C, 3)
        if across is not None:
            values = np.matmul(across, values)  # (b, C) @ (b, C, 3) -> (b, b, 3)
        return np.ascontiguousarray(values), len(rows) * len(cols)

    def taps(self, region: Region) -> tuple[Taps, Taps]:
        """The source rows and columns that a crop of official mode is made of."""
        top, left, bottom, right = region.visible
        size, base = self.config.input_size, self.config.base_resolution
        return (
            axis_taps(self.source.height, size, region.y, region.h, top, bottom, base),
            axis_taps(self.source.width, size, region.x, region.w, left, right, base),
        )


def to_model_space(pixels: np.ndarray) -> np.ndarray:
    """uint8 -> float32 in [-1, 1]."""
    return pixels.astype(np.float32) * np.float32(2 / 255) - np.float32(1)


def to_bytes(values: np.ndarray) -> np.ndarray:
    """float in [-1, 1] -> uint8, for showing what the network saw."""
    return np.rint((values + 1) * 127.5).clip(0, 255).astype(np.uint8)


def _bilinear(inputs: int, outputs: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Left tap, right tap and weight of the right tap, for a half-pixel-centred bilinear resize."""
    # float32 as the reference does, so that taps fall on the same pixels
    scale = np.float32(inputs) / np.float32(outputs)
    at = np.maximum((np.arange(outputs, dtype=np.float32) + np.float32(0.5)) * scale - np.float32(0.5), 0)
    left = np.minimum(at.astype(np.int64), inputs - 1)
    return left, np.minimum(left + 1, inputs - 1), (at - left).astype(np.float32)


def _taken(source: int, size: int) -> np.ndarray:
    """All source pixels of one axis that the virtual axis of `size` is interpolated from."""
    left, right, _ = _bilinear(source, size)
    return np.union1d(left, right)


@lru_cache(maxsize=512)
def axis_taps(source: int, size: int, start: int, length: int, first: int, last: int, base: int) -> Taps:
    """Source pixels of one axis and the (base, pixels) matrix that turns them into the crop's axis.

    source -> virtual axis of `size` -> its pixels start … start + length -> base, with virtual
    pixels outside first … last set to zero. The matrix is None when it would be the identity, and
    has no columns where nothing is inside.
    """
    near, far, toward_far = _bilinear(length, base)
    v_left, v_right, v_weight = _bilinear(source, size)
    out = np.arange(base)
    entries: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
    for virtual, weight in ((near + start, 1 - toward_far), (far + start, toward_far)):
        inside = (virtual >= first) & (virtual < last) & (weight > 0)
        rows, at, share = out[inside], virtual[inside], weight[inside]
        entries.append((rows, v_left[at], share * (1 - v_weight[at])))
        entries.append((rows, v_right[at], share * v_weight[at]))
    used = np.unique(np.concatenate([cols[w > 0] for _, cols, w in entries]))
    matrix = np.zeros((base, len(used)), np.float32)
    for rows, cols, weight in entries:
        keep = weight > 0
        np.add.at(matrix, (rows[keep], np.searchsorted(used, cols[keep])), weight[keep])
    used.setflags(write=False)
    matrix.setflags(write=False)
    identity = matrix.shape[0] == matrix.shape[1] and np.array_equal(matrix, np.eye(base, dtype=np.float32))
    return used, None if identity else matrix
