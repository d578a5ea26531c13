"""libvips, held to three loaders: the library that reads parts of files too large to decode whole.

libvips could open page descriptions, vector drawings and whatever ImageMagick knows. None of that
is wanted from a picture of a stranger, so every loader is blocked for the whole process except the
three used here, which read raster formats. It keeps no cache of operations and starts no threads.
What it delivers becomes RGB bytes by the rules of `decode`: the result is the same to the bit.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from tnet_core.errors import TNetError, reason
from tnet_core.imageio import tiff_directory as tiff
from tnet_core.imageio.decode import blend_on_white, scale_to_bytes

_LOADERS = {"tiff": "VipsForeignLoadTiffFile", "jpeg": "VipsForeignLoadJpegFile", "png": "VipsForeignLoadPngFile"}
_TYPES = {"uchar": np.uint8, "ushort": np.uint16}


@lru_cache(maxsize=1)
def load_library() -> Any:
    """Import pyvips and hold it to all this; done when the first large file is opened, not before."""
    try:
        import pyvips
    except (ImportError, OSError) as error:
        raise TNetError(f"Large pictures need pyvips, which cannot be loaded ({reason(error)}).") from None
    pyvips.block_untrusted_set(True)
    pyvips.operation_block_set("VipsForeignLoad", True)
    for name in _LOADERS.values():
        pyvips.operation_block_set(name, False)
    pyvips.cache_set_max(0)
    pyvips.concurrency_set(1)
    return pyvips


class VipsImage:
    """One image of a file, in the order and numbers it is stored in; several threads may read it."""

    def __init__(self, kind: str, path: Path, name: str, **options: Any) -> None:
        self._name, self._lock = name, threading.Lock()
        vips = load_library()
        try:
            # By the loader's name: a file cannot choose its reader.
            self._image = getattr(vips.Image, f"{kind}load")(str(path), **options)
            self._region = vips.Region.new(self._image)
        except vips.Error as error:
            raise self._explain_damage(error) from None
        self.width, self.height, self.bands = self._image.width, self._image.height, self._image.bands
        if self._image.format not in _TYPES:
            raise TNetError(f"{name} holds numbers of a kind that is not read from large files ({self._image.format}).")
        self._type = _TYPES[self._image.format]
        self.pixel_bytes = self.bands * np.dtype(self._type).itemsize

    def read(self, x: int, y: int, width: int, height: int) -> np.ndarray:
        """Return (height, width, bands) uint8 or uint16."""
        with self._lock:
            try:
                data = self._region.fetch(x, y, width, height)
            except load_library().Error as error:
                raise self._explain_damage(error) from None
        return np.frombuffer(data, self._type).reshape(height, width, self.bands)

    def _explain_damage(self, error: Any) -> TNetError:
        why = (error.detail.strip() or reason(error)).splitlines()[0].rstrip(".")[:120]
        return TNetError(f"{self._name} is damaged or cut off and cannot be decoded ({why}).")


Convert = Callable[[np.ndarray], np.ndarray]  # (h, w, bands) -> (h, w, 3) uint8


def make_converter(name: str, *, alpha: bool = False) -> Convert:
    """Return a function that makes RGB of bands; `alpha` is whether the last of four means transparency."""

    def convert(pixels: np.ndarray) -> np.ndarray:
        bands = pixels.shape[2]
        if pixels.dtype == np.uint16:
            # Pillow keeps the high byte of deep colours; deep greys are ours, and rounded.
            deep = (pixels >> 8).astype(np.uint8)
            pixels = scale_to_bytes(pixels, 65535, name) if bands == 1 else deep
        if bands == 1:
            return np.repeat(pixels, 3, axis=2)
        if bands == 3:
            return pixels
        if bands == 4 and not alpha:
            return pixels[:, :, :3]
        mode = "RGBA" if bands == 4 else "LA"
        height, width = pixels.shape[:2]
        return blend_on_white(Image.frombuffer(mode, (width, height), np.ascontiguousarray(pixels), "raw", mode, 0, 1))

    return convert


def choose_converter(image: tiff.TiffImage, name: str) -> Convert | None:
    """Return the function that makes RGB of a TIFF's bands, None for kinds that only `decode` reads."""
    bits, samples = set(image.bits), len(image.bits)
    if image.numbers != 1 or bits not in ({8}, {16}) or image.compression not in tiff.COMPRESSIONS:
        return None
    if image.planar != 1 and samples > 1:
        return None
    layout = image.photometric, samples
    is_plain = layout in {(tiff.BLACK_IS_ZERO, 1), (tiff.WHITE_IS_ZERO, 1), (tiff.RGB, 3)}
    is_palette = layout == (tiff.PALETTE, 1) and bits == {8}
    if is_plain or is_palette or (layout == (tiff.YCBCR, 3) and image.compression == tiff.JPEG):
        return make_converter(name)
    if layout == (tiff.RGB, 4) and bits == {8} and image.extra in ((0,), (2,)):
        return make_converter(name, alpha=image.extra == (2,))
    return None
