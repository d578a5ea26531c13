"""How a cut of pixels in memory becomes the wanted size."""

from __future__ import annotations

import cv2
import numpy as np

_MAX_AVERAGED = 1 << 22  # pixels into one: OpenCV adds up bytes in 32 bits


def resized_cut(pixels: np.ndarray, size: tuple[int, int]) -> np.ndarray:
    """(H, W, 3) uint8 -> size (width, height): an axis that shrinks is averaged, one that grows interpolated."""
    height, width = pixels.shape[:2]
    # OpenCV averages areas only where no axis grows, so first shrink, then enlarge.
    across, down = min(size[0], width), min(size[1], height)
    if width * height > _MAX_AVERAGED * across * down:
        halfway = (min(width, 64 * across), min(height, 64 * down))
        pixels = cv2.resize(pixels, halfway, interpolation=cv2.INTER_AREA)
    pixels = cv2.resize(pixels, (across, down), interpolation=cv2.INTER_AREA)
    return cv2.resize(pixels, size, interpolation=cv2.INTER_LINEAR_EXACT)
