"""`LargeSource`: a file of any size, of which only the parts and resolutions that are asked for are decoded.

Tiled TIFF (also BigTIFF, GeoTIFF, with or without smaller versions inside), JPEG, PNG and TIFF in
strips. Small files, and kinds that only `decode` knows, are not opened this way.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cached_property
from pathlib import Path

import numpy as np

from tnet_core.errors import TNetError
from tnet_core.imageio import headers
from tnet_core.imageio.decode import MAX_PIXELS
from tnet_core.imageio.info import ImageInfo, OpenedFile
from tnet_core.imageio.layouts import Layout, Lines, Tiled
from tnet_core.imageio.orientation import Turn
from tnet_core.imageio.pyramid import average_level, choose_factor, find_touched
from tnet_core.imageio.source import ImageSource, resize_cut
from tnet_core.imageio.tiff_directory import read_tiff
from tnet_core.imageio.vips import choose_converter, make_converter

# Up to here a picture is decoded whole, as ever: quick, and nothing temporary on the disk.
TILED_ABOVE = 1 << 22  # pixels of a tiled TIFF
LINES_ABOVE = 1 << 26  # of a file that must be decoded from its first line on

MOST_TILED = 1 << 32
MOST_LINES = 1 << 30  # 3 GB of temporary files
MAX_LARGE_BYTES = 16 << 30
_AT_ONCE = 1 << 24  # pixels of a cut that is read whole; a larger one is averaged line by line
_MOST_CACHED = 512 << 20  # bytes: libvips keeps two rows of tiles
_MOST_STRIP = 64 << 20  # bytes of one strip, which is decoded at once


class LargeSource(ImageSource):
    """Reads a file's levels in the order in which they are stored and turns what it has read."""

    hashed = "file"

    def __init__(self, file: OpenedFile, layout: Layout, orientation: int) -> None:
        self.file, self.layout = file, layout
        self.turn = Turn(orientation, layout.width, layout.height)
        self.width, self.height = self.turn.upright_size
        self.scattered = layout.scattered

    def __reduce__(self) -> tuple[Callable[[OpenedFile], LargeSource], tuple[OpenedFile]]:
        return _reopen, (self.file,)

    @cached_property
    def sha256(self) -> str:  # type: ignore[override]
        return self.file.sha256()

    def info(self) -> ImageInfo:
        return ImageInfo(self.file, "file", self.width, self.height)

    @property
    def identity(self) -> str:
        return self.file.key

    def gather(self, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
        out = np.empty((*self.turn.turn_size((len(rows), len(cols))), 3), np.uint8)
        if not out.size:
            return out.reshape(len(rows), len(cols), 3)
        rows, cols = self.turn.find_stored_crossing(rows, cols)
        level = self.layout.level(1)
        first, width = int(cols[0]), int(cols[-1] - cols[0]) + 1
        at = 0
        while at < len(rows):  # one row of tiles at a time
            top = int(rows[at])
            until = int(np.searchsorted(rows, (top // level.block + 1) * level.block))
            lines = level.read(first, top, width, int(rows[until - 1]) - top + 1)
            out[at:until] = lines[rows[at:until] - top][:, cols - first]
            at = until
        return self.turn.turn_upright(out)

    def resized(self, box: tuple[int, int, int, int], size: tuple[int, int]) -> np.ndarray:
        factor = choose_factor(self.layout.factors, box, size)
        level, (x0, y0, x1, y1) = self.layout.level(factor), self.turn.find_stored_box(box)
        if factor == 1 and (x1 - x0) * (y1 - y0) <= _AT_ONCE:
            cut = self.turn.turn_upright(level.read(x0, y0, x1 - x0, y1 - y0))
            return resize_cut(np.ascontiguousarray(cut), size)
        shrunk = min(size[0], box[2] - box[0]), min(size[1], box[3] - box[1])
        pixels = self.turn.turn_upright(average_level(level, (x0, y0, x1, y1), self.turn.turn_size(shrunk)))
        return resize_cut(np.ascontiguousarray(pixels), size)

    def ready(self, box: tuple[int, int, int, int], size: tuple[int, int]) -> None:
        self.layout.level(choose_factor(self.layout.factors, box, size))

    @property
    def held(self) -> int:
        return self.layout.held

    def pixels_read(self, box: tuple[int, int, int, int], size: tuple[int, int]) -> int:
        rows, cols = find_touched(self.turn.find_stored_box(box), choose_factor(self.layout.factors, box, size))
        return (rows.stop - rows.start) * (cols.stop - cols.start)


def open_large(path: Path, status: os.stat_result, name: str) -> LargeSource | None:
    """Return a source for a large file; None for one that is to be decoded whole. Raises OSError.

    `status` is what the file was before anything was read of it.
    """
    if status.st_size > MAX_LARGE_BYTES:
        raise TNetError(f"{name} has {status.st_size / 2**30:.0f} GB; at most {MAX_LARGE_BYTES >> 30} are read.")
    found = _find_layout(path, name)
    if found is None:
        return None
    make, orientation = found
    file = OpenedFile.of(path, status)
    return LargeSource(file, make(file.key), orientation)


def _reopen(file: OpenedFile) -> LargeSource:
    """Open the same file again, in another process."""
    file.check()
    found = _find_layout(file.path, f"'{file.path.name}'")
    assert found is not None  # it was opened before
    make, orientation = found
    return LargeSource(file, make(file.key), orientation)


_Found = tuple[Callable[[str], Layout], int]  # layout for a key, orientation


def _find_layout(path: Path, name: str) -> _Found | None:
    with path.open("rb") as file:
        head = file.read(8)
    if head[:4] in (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+"):
        return _find_tiff_layout(path, name)
    header = None
    if head[:3] == b"\xff\xd8\xff":
        kind, header = "jpeg", headers.read_jpeg(path, LINES_ABOVE)
    elif head == b"\x89PNG\r\n\x1a\n":
        kind, header = "png", headers.read_png(path, LINES_ABOVE, name)
    if header is None:
        return None
    size = header.width, header.height
    if header.why_not:
        _check_decoded(*size, name, header.why_not)
        return None
    _check_size(*size, MOST_LINES, name)
    convert = make_converter(name, alpha=True)
    return lambda key: Lines(key, path, name, kind, size, convert), header.orientation


def _find_tiff_layout(path: Path, name: str) -> _Found | None:
    images = read_tiff(path, TILED_ABOVE, name)
    if not images:
        return None
    main = images[0]
    size = main.width, main.height
    if main.tile is None and main.width * main.height <= LINES_ABOVE:
        return None
    convert = choose_converter(main, name)
    if convert is None:
        _check_decoded(*size, name, "is a TIFF of an unusual kind")
        return None
    pixel = sum(main.bits) // 8
    if main.tile is not None:
        if 2 * (main.width + main.tile[0]) * main.tile[1] * pixel > _MOST_CACHED:
            _check_decoded(*size, name, f"has tiles of {main.tile[0]} x {main.tile[1]}, too large to read a few")
            return None
        _check_size(*size, MOST_TILED, name)
        return lambda key: Tiled(key, path, name, images, convert), main.orientation
    if main.width * main.strip * pixel > _MOST_STRIP:
        _check_decoded(*size, name, f"has strips of {main.strip} lines, too large to read one by one")
        return None
    _check_size(*size, MOST_LINES, name)
    return lambda key: Lines(key, path, name, "tiff", size, convert), main.orientation


def _check_size(width: int, height: int, most: int, name: str) -> None:
    if width * height > most:
        raise TNetError(
            f"{name} has {width} x {height} pixels; at most {most / 1e6:.0f} million can be opened of such files."
        )


def _check_decoded(width: int, height: int, name: str, why: str) -> None:
    """Refuse a file that has to be decoded whole and is too large for that, with the reason."""
    if width * height > MAX_PIXELS:
        raise TNetError(
            f"{name} has {width} x {height} pixels and {why}; such files are opened up to "
            f"{MAX_PIXELS / 1e6:.0f} million pixels."
        )
