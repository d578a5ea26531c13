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

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np

from tnet_core.errors import TNetError
from tnet_core.imageio.source import ImageSource
from tnet_core.sampling.grid import AxisGrid, divide_natively, divide_officially
from tnet_core.sampling.tap_sums import AxisTaps, make_axis_taps, make_bilinear_taps, sum_taps

if TYPE_CHECKING:
    from tnet_core.modeling.config import Sampling, TNetConfig

MAX_KEPT_PIXELS = 1 << 24  # larger inputs are read look by look


class _Crossings:
    """The pixels where some rows and columns cross, once they were read."""

    def __init__(self, rows: np.ndarray, cols: np.ndarray) -> None:
        self.rows, self.cols = rows, cols
        self.pixels: np.ndarray | None = None
        self.lock = threading.Lock()  # whoever comes second waits for the pass of the first


_KEPT: WeakKeyDictionary[ImageSource, _Crossings] = WeakKeyDictionary()  # the last of each source
_LOCK = threading.Lock()


class KeptPixels:
    """Official sampling of a file whose single pixels cost as much as the tiles around them.

    Every crop of official mode is made of the same source rows and columns: those that the virtual S x S input is
    interpolated from. Their crossings are at most 2 S x 2 S pixels, read in one pass over the file and kept with the
    source, so that no tile is decoded for a second look or a second traversal.
    """

    def __init__(self, source: ImageSource, rows: np.ndarray, cols: np.ndarray) -> None:
        self._source = source
        with _LOCK:
            kept = _KEPT.get(source)
            if kept is None or not (np.array_equal(kept.rows, rows) and np.array_equal(kept.cols, cols)):
                kept = _KEPT[source] = _Crossings(rows, cols)
        self._kept = kept

    def gather(self, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
        """Return what `ImageSource.gather` does."""
        kept = self._kept
        if len(kept.rows) * len(kept.cols) > MAX_KEPT_PIXELS:
            return self._source.gather(rows, cols)
        with kept.lock:
            if kept.pixels is None:
                kept.pixels = self._source.gather(kept.rows, kept.cols)
        return kept.pixels[np.searchsorted(kept.rows, rows)][:, np.searchsorted(kept.cols, cols)]


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
        """Return the candidate grid of a region: rows, columns."""
        rule = divide_officially if self.mode == "official" else divide_natively
        n, fraction = self.config.grid, self.config.cell_fraction
        return rule(region.h, n, fraction), rule(region.w, n, fraction)

    def depth(self, most: int) -> int:
        """Return the levels after which a cell has no more pixels than the network sees: closer looks show nothing new.

        Not fewer than in training, not more than `most`.
        """
        side, levels = max(self.height, self.width), 1
        while side > self.config.base_resolution and levels < most:
            side, levels = round(side * self.config.cell_fraction), levels + 1
        return max(levels, self.config.levels)

    def cell(self, region: Region, index: int) -> Region:
        """Return cell `index` (row-major) of a region's grid."""
        rows, cols = self.axes(region)
        r, c = divmod(index, self.config.grid)
        y, x = region.y + rows.starts[r], region.x + cols.starts[c]
        # A crop is cut from its parent's crop, so it cannot show what lies beyond the parent.
        top, left, bottom, right = region.visible
        y0, y1 = (min(max(at, top), bottom) for at in (y, y + rows.cell))
        x0, x1 = (min(max(at, left), right) for at in (x, x + cols.cell))
        return Region(y, x, rows.cell, cols.cell, (y0, x0, y1, x1))

    def box(self, region: Region) -> tuple[float, float, float, float]:
        """Return x0, y0, x1, y1 normalised to the full image and clipped to it."""
        y0, x0, y1, x1 = region.visible
        return x0 / self.width, y0 / self.height, x1 / self.width, y1 / self.height


class Sampler(Frame):
    """Cuts regions out of one image."""

    def __init__(self, source: ImageSource, config: TNetConfig, mode: Sampling | None = None) -> None:
        super().__init__(source.width, source.height, config, mode)
        self.source = source
        self.gather = source.gather
        if self.mode == "official" and source.scattered:
            self.gather = KeptPixels(source, *self._list_crossings()).gather

    def prepare(self, levels: int | None = None) -> None:
        """Read or decode what the looks of so many levels need, so that looks themselves wait for no file."""
        if self.mode == "official":
            rows, cols = self._list_crossings()
            self.gather(rows[:1], cols[:1])
            return
        region, base = self.whole(), self.config.base_resolution
        for _ in range(self.config.levels if levels is None else levels):
            y0, x0, y1, x1 = region.visible
            self.source.ready((x0, y0, x1, y1), (base, base))
            region = self.cell(region, self.config.cells // 2)  # all looks of a level have about its size

    def _list_crossings(self) -> tuple[np.ndarray, np.ndarray]:
        """Return all rows and columns of the source that the virtual input is interpolated from."""
        size = self.config.input_size
        return _list_source_pixels(self.source.height, size), _list_source_pixels(self.source.width, size)

    def read(self, region: Region) -> tuple[np.ndarray, int]:
        """Return what the network sees, (b, b, 3) float32 in [-1, 1], and how many source pixels it took."""
        base = self.config.base_resolution
        if self.mode == "native":
            y0, x0, y1, x1 = region.visible
            box, size = (x0, y0, x1, y1), (base, base)
            return to_model_space(self.source.resized(box, size)), self.source.pixels_read(box, size)
        rows, cols = self.make_taps(region)
        pixels = self.gather(rows.pixels, cols.pixels)  # (R, C, 3) uint8
        if rows.is_identity and cols.is_identity:
            return to_model_space(pixels), pixels.shape[0] * pixels.shape[1]
        return sum_taps(pixels, rows, cols), pixels.shape[0] * pixels.shape[1]

    def make_taps(self, region: Region) -> tuple[AxisTaps, AxisTaps]:
        """Return the source rows and columns that a crop of official mode is made of."""
        top, left, bottom, right = region.visible
        size, base = self.config.input_size, self.config.base_resolution
        return (
            make_axis_taps(self.source.height, size, region.y, region.h, top, bottom, base),
            make_axis_taps(self.source.width, size, region.x, region.w, left, right, base),
        )


def to_model_space(pixels: np.ndarray) -> np.ndarray:
    """Convert uint8 -> float32 in [-1, 1]."""
    return pixels.astype(np.float32) * np.float32(2 / 255) - np.float32(1)


def to_bytes(values: np.ndarray) -> np.ndarray:
    """Convert float in [-1, 1] -> uint8, for showing what the network saw."""
    return np.rint((values + 1) * 127.5).clip(0, 255).astype(np.uint8)


def _list_source_pixels(source: int, size: int) -> np.ndarray:
    """Return all source pixels of one axis that the virtual axis of `size` is interpolated from."""
    left, right, _ = make_bilinear_taps(source, size)
    return np.union1d(left, right)
