"""Two kinds of large files, as levels: tiles, any of which can be decoded alone, and lines, which cannot."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tnet_core.imageio.pyramid import TOP, Level
from tnet_core.imageio.raw_level import RawLevel, build_levels, plan_levels
from tnet_core.imageio.tiff_directory import TiffImage
from tnet_core.imageio.vips import Convert, VipsImage

_STRIP = 1 << 18  # pixels decoded at a time
# What stops libvips: below "warning" it shows damaged tiles as black ones, but JPEGs of some cameras deserve warnings.
_STRICT = {"tiff": "warning", "jpeg": "truncated", "png": "error"}
_REDUCED = 8  # of a JPEG: only the mean of each 8 x 8 block is decoded


class VipsLevel:
    """A level that libvips reads, as RGB."""

    def __init__(self, image: VipsImage, convert: Convert, factor: int, block: int) -> None:
        self.width, self.height, self.factor, self.block = image.width, image.height, factor, block
        self.held = 2 * image.width * block * image.pixel_bytes  # libvips keeps two rows of tiles
        self._image, self._convert = image, convert

    def read(self, x: int, y: int, width: int, height: int) -> np.ndarray:
        """Return (height, width, 3) uint8."""
        return self._convert(self._image.read(x, y, width, height))


class Layout(ABC):
    """The levels of one file, made when they are first asked for; `factors` are known before."""

    scattered = False  # whether single pixels here and there cost as much as everything around them

    def __init__(self, key: str, width: int, height: int) -> None:
        self.key, self.width, self.height = key, width, height
        self.factors: tuple[int, ...] = (1,)
        self._levels: dict[int, Level] = {}

    def level(self, factor: int) -> Level:
        """Return the level of one of `factors`; 1 is the original."""
        if factor not in self._levels:
            self._levels |= self._make_levels(factor)
        return self._levels[factor]

    @property
    def held(self) -> int:
        """Bytes of memory that the levels made so far keep, about."""
        return sum(level.held for level in list(self._levels.values()) if isinstance(level, VipsLevel))

    @abstractmethod
    def _make_levels(self, factor: int) -> dict[int, Level]:
        """Make a level that is asked for the first time, and those that come with it."""

    def _build_levels(self, what: str, plan: list[tuple[int, int, int]], strips: Any) -> dict[int, Level]:
        found: list[RawLevel] = build_levels(f"{self.key}-{what}", plan, strips)
        return {level.factor: level for level in found}


class Tiled(Layout):
    """A tiled TIFF and the smaller versions of itself that it holds; more are built where these end too early."""

    scattered = True

    def __init__(self, key: str, path: Path, name: str, images: Sequence[TiffImage], convert: Convert) -> None:
        main = images[0]
        super().__init__(key, main.width, main.height)
        self._path, self._name, self._convert = path, name, convert
        self._images = {1: main} | {factor: image for image in images[1:] if (factor := _find_factor(main, image)) > 1}
        coarsest = max(self._images)
        last = self._images[coarsest]
        self._plan = plan_levels(last.width, last.height, coarsest, first=False)
        self.factors = (*sorted(self._images), *(factor for _, _, factor in self._plan))

    def _make_levels(self, factor: int) -> dict[int, Level]:
        if factor not in self._images:
            return self._build_levels("smaller", self._plan, self._decode_strips)
        image = self._images[factor]
        return {factor: self._open_level(image, factor)}

    def _open_level(self, image: TiffImage, factor: int) -> VipsLevel:
        assert image.tile is not None
        options = {"page": image.page} | ({"subifd": image.subifd} if image.subifd >= 0 else {})
        found = VipsImage("tiff", self._path, self._name, fail_on=_STRICT["tiff"], **options)
        return VipsLevel(found, self._convert, factor, image.tile[1])

    def _decode_strips(self) -> Iterator[np.ndarray]:
        coarsest = max(self._images)
        level = self._open_level(self._images[coarsest], coarsest)  # its tiles are given back when this is done
        yield from _read_strips(level)


def _read_strips(level: VipsLevel) -> Iterator[np.ndarray]:
    rows = max(8, _STRIP // level.width // 8 * 8)
    for y in range(0, level.height, rows):
        yield level.read(0, y, level.width, min(rows, level.height - y))


def _find_factor(main: TiffImage, other: TiffImage) -> int:
    """Return how many times smaller a version of the main image is; 0 if it is something else."""
    factor = round(main.width / other.width)
    forms = {(image.bits, image.photometric, image.numbers, image.extra) for image in (main, other)}
    if not factor or not other.reduced or other.tile is None or len(forms) > 1:
        return 0
    sides = (other.width, main.width), (other.height, main.height)
    return factor if all(abs(small - large / factor) <= 1 for small, large in sides) else 0


class Lines(Layout):
    """A file that is decoded from top to bottom: once, into temporary files, when it is first needed.

    A JPEG's smaller versions come from a decoding of their own that skips most of the work.
    """

    def __init__(self, key: str, path: Path, name: str, kind: str, size: tuple[int, int], convert: Convert) -> None:
        super().__init__(key, *size)
        self._path, self._name, self._kind, self._convert = path, name, kind, convert
        self._plan = plan_levels(*size, 1, first=True)
        self._reduced: list[tuple[int, int, int]] = []
        if kind == "jpeg" and min(size) >= _REDUCED and max(size) > TOP:
            self._plan = self._plan[:2]  # 1 and 4; from 8 on there is a quicker way
            # libvips leaves out the last column or row of blocks where it is not complete.
            self._reduced = plan_levels(size[0] // _REDUCED, size[1] // _REDUCED, _REDUCED, first=True)
        self.factors = tuple(factor for _, _, factor in (*self._plan, *self._reduced))

    def _make_levels(self, factor: int) -> dict[int, Level]:
        if factor in {reduced for _, _, reduced in self._reduced}:
            return self._build_levels("reduced", self._reduced, lambda: self._decode_strips(shrink=_REDUCED))
        return self._build_levels("decoded", self._plan, self._decode_strips)

    def _decode_strips(self, **options: int) -> Iterator[np.ndarray]:
        strict = _STRICT[self._kind]
        image = VipsImage(self._kind, self._path, self._name, access="sequential", fail_on=strict, **options)
        yield from _read_strips(VipsLevel(image, self._convert, 1, 1))
