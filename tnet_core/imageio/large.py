"""Which files are read in parts, and how: for `LargeSource`, which decodes only what is asked for.

Tiled TIFF (also BigTIFF, GeoTIFF, with or without smaller versions inside), JPEG, PNG and TIFF in
strips. Small files, and kinds that only `decode` knows, are not opened this way.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tnet_core.errors import TNetError
from tnet_core.imageio import headers
from tnet_core.imageio.decode import MAX_PIXELS
from tnet_core.imageio.info import OpenedFile
from tnet_core.imageio.layouts import Layout, Lines, Tiled
from tnet_core.imageio.tiff_directory import read_tiff
from tnet_core.imageio.vips import choose_converter, make_converter

# Up to here a picture is decoded whole, as ever: quick, and nothing temporary on the disk.
TILED_ABOVE = 1 << 22  # pixels of a tiled TIFF
LINES_ABOVE = 1 << 26  # of a file that must be decoded from its first line on

MAX_TILED = 1 << 32
MAX_LINES = 1 << 30  # 3 GB of temporary files
MAX_LARGE_BYTES = 16 << 30
_MAX_CACHED = 512 << 20  # bytes: libvips keeps two rows of tiles
_MAX_STRIP = 64 << 20  # bytes of one strip, which is decoded at once


_Found = tuple[Callable[[str], Layout], int]  # makes a layout with a key; orientation


def find_layout(file: OpenedFile) -> _Found | None:
    """Return how a large file is laid out; None for one that is to be decoded whole. Raises OSError."""
    path, name = file.path, f"'{file.path.name}'"
    if file.size > MAX_LARGE_BYTES:
        raise TNetError(f"{name} has {file.size / 2**30:.0f} GB; at most {MAX_LARGE_BYTES >> 30} are read.")
    with path.open("rb") as opened:
        head = opened.read(8)
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
    _check_size(*size, MAX_LINES, name)
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
        if 2 * (main.width + main.tile[0]) * main.tile[1] * pixel > _MAX_CACHED:
            _check_decoded(*size, name, f"has tiles of {main.tile[0]} x {main.tile[1]}, too large to read a few")
            return None
        _check_size(*size, MAX_TILED, name)
        return lambda key: Tiled(key, path, name, images, convert), main.orientation
    if main.width * main.strip * pixel > _MAX_STRIP:
        _check_decoded(*size, name, f"has strips of {main.strip} lines, too large to read one by one")
        return None
    _check_size(*size, MAX_LINES, name)
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
