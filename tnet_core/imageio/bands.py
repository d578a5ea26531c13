"""Bands as libvips delivers them -> RGB bytes, by the rules of `decode`: the result is the same to the bit."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from PIL import Image

from tnet_core.imageio import tiff_directory as tiff
from tnet_core.imageio.decode import on_white, scaled_to_bytes

Convert = Callable[[np.ndarray], np.ndarray]  # (h, w, bands) -> (h, w, 3) uint8


def conversion(name: str, *, alpha: bool = False) -> Convert:
    """How to read bands; `alpha` is whether the last of four means transparency."""

    def convert(pixels: np.ndarray) -> np.ndarray:
        bands = pixels.shape[2]
        if pixels.dtype == np.uint16:
            # Pillow keeps the high byte of deep colours; deep greys are ours, and rounded.
            deep = (pixels >> 8).astype(np.uint8)
            pixels = scaled_to_bytes(pixels, 65535, name) if bands == 1 else deep
        if bands == 1:
            return np.repeat(pixels, 3, axis=2)
        if bands == 3:
            return pixels
        if bands == 4 and not alpha:
            return pixels[:, :, :3]
        mode = "RGBA" if bands == 4 else "LA"
        height, width = pixels.shape[:2]
        return on_white(Image.frombuffer(mode, (width, height), np.ascontiguousarray(pixels), "raw", mode, 0, 1))

    return convert


def of_tiff(image: tiff.TiffImage, name: str) -> Convert | None:
    """None for kinds that only `decode` reads."""
    bits, samples = set(image.bits), len(image.bits)
    if image.numbers != 1 or bits not in ({8}, {16}) or image.compression not in tiff.COMPRESSIONS:
        return None
    if image.planar != 1 and samples > 1:
        return None
    if image.photometric in (tiff.BLACK_IS_ZERO, tiff.WHITE_IS_ZERO) and samples == 1:
        return conversion(name)
    if image.photometric == tiff.PALETTE and samples == 1 and bits == {8}:
        return conversion(name)
    if image.photometric == tiff.YCBCR and samples == 3 and image.compression == tiff.JPEG:
        return conversion(name)
    if image.photometric == tiff.RGB and samples == 3:
        return conversion(name)
    if image.photometric == tiff.RGB and samples == 4 and bits == {8} and image.extra in ((0,), (2,)):
        return conversion(name, alpha=image.extra == (2,))
    return None
