"""Random crops, drawn as TensorFlow's `sample_distorted_bounding_box` draws them."""

from __future__ import annotations

import math

import numpy as np

ATTEMPTS = 50
MIN_COVERED = 0.1  # share of some annotated box that a crop must show

Crop = tuple[int, int, int, int]  # y, x, height, width in pixels


def random_crop(
    height: int,
    width: int,
    boxes: np.ndarray,  # (n, 4) normalised x0, y0, x1, y1; none: the whole image counts as one
    generator: np.random.Generator,
    min_area: float,
    aspect: tuple[float, float],
) -> Crop:
    """A crop of at least `min_area` of the image whose aspect ratio (width / height) lies in `aspect`.

    The whole image if no attempt succeeds.
    """
    # TensorFlow cuts off the fractions of a pixel
    pixels = (boxes.astype(np.float64) * (width, height, width, height)).astype(np.int64)
    for _ in range(ATTEMPTS):
        ratio = generator.uniform(*aspect)
        crop = _attempt(height, width, min_area, ratio, generator)
        if crop is not None and _shows_a_box(crop, pixels, height, width):
            return crop
    return 0, 0, height, width


def _attempt(height: int, width: int, min_area: float, ratio: float, generator: np.random.Generator) -> Crop | None:
    """A crop of one aspect ratio: its height uniform among those that fit, then its place."""
    least, most = min_area * height * width, height * width
    low = round(math.sqrt(least / ratio))
    high = round(math.sqrt(most / ratio))
    if round(high * ratio) > width:  # the largest height whose width still fits
        high = int((width + 0.5 - 1e-7) / ratio)
        high -= round(high * ratio) > width
    high = min(high, height)
    low = min(low, high)
    h = int(generator.integers(low, high + 1))
    # rounding may have left the bounds by one row
    if h * round(h * ratio) < least:
        h += 1
    if h * round(h * ratio) > most:
        h -= 1
    w = round(h * ratio)
    if not (least <= h * w <= most and 0 < w <= width and 0 < h <= height):
        return None
    # the last place is never drawn, as in TensorFlow
    y = int(generator.integers(height - h)) if h < height else 0
    x = int(generator.integers(width - w)) if w < width else 0
    return y, x, h, w


def _shows_a_box(crop: Crop, pixels: np.ndarray, height: int, width: int) -> bool:
    if not len(pixels):
        return crop[2] * crop[3] >= MIN_COVERED * height * width
    y, x, h, w = crop
    x0, y0, x1, y1 = pixels.T
    area = (x1 - x0) * (y1 - y0)
    across = (np.minimum(x1, x + w) - np.maximum(x0, x)).clip(0)
    down = (np.minimum(y1, y + h) - np.maximum(y0, y)).clip(0)
    return bool(((area >= 1) & (across * down >= MIN_COVERED * area)).any())
