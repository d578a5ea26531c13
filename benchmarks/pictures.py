"""The same photograph at any size, written as a stream: the whole picture is never in memory.

Every pixel is repeated and grain is added at full size, so that the thumbnail stays the same while
the file has as much to decode as a picture of its size.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from tnet_core import ImageSource, TNetError
from tnet_core.imageio.vips import load_library

PHOTOGRAPH = Path(__file__).parents[1] / "examples" / "nuthatch.jpg"
KINDS = ("pyramid", "tiled", "jpeg")
LARGEST_JPEG = 16384
_BASE = 1024  # sides are multiples of it
_TILES = {"tile": True, "tile_width": 256, "tile_height": 256, "compression": "jpeg", "Q": 85}


def list_pictures(kinds: list[str], sides: list[int]) -> Iterator[tuple[str, int]]:
    """Yield kinds and sides of what there is to measure, small files first."""
    for side in sides:
        if side < _BASE or side % _BASE:
            raise TNetError(f"A side of {side} px is not possible: sides are multiples of {_BASE}.")
    for kind in kinds:
        yield from ((kind, side) for side in sorted(sides) if kind != "jpeg" or side <= LARGEST_JPEG)


def write_picture(folder: Path, kind: str, side: int) -> Path:
    """Write the picture of a kind and side, unless it is there already, and return its file."""
    path = folder / f"{kind}-{side}.{'jpg' if kind == 'jpeg' else 'tif'}"
    if path.exists():
        return path
    unfinished = path.with_name("unfinished-" + path.name)
    image = _enlarge(side)
    if kind == "jpeg":
        image.jpegsave(str(unfinished), Q=85)
    else:
        image.tiffsave(str(unfinished), **_TILES, pyramid=kind == "pyramid", bigtiff=side > 30_000)
    return unfinished.rename(path)


def _enlarge(side: int):  # type: ignore[no-untyped-def]  # libvips has no types
    vips = load_library()
    source = ImageSource.open(PHOTOGRAPH)
    photograph = source.resized((0, 0, source.width, source.height), (_BASE, _BASE))
    grain = np.random.default_rng(0).normal(0, 6, (_BASE, _BASE, 3)).astype(np.int16)
    times = side // _BASE
    image = vips.Image.new_from_array(photograph).zoom(times, times)
    image += vips.Image.new_from_array(grain).replicate(times, times)
    return image.cast("uchar").copy(interpretation="srgb")
