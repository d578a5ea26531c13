"""The kernels of `tf.image.resize`, as functions of the distance in source pixels (never stretched: no antialiasing).

Resizing with a kernel takes, for every output pixel, the source pixels within `radius` of its centre, weighs
them and divides by the sum of the weights; what lies beyond the border takes no part.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np


class Kernel(NamedTuple):
    radius: float
    weight: Callable[[np.ndarray], np.ndarray]  # of distances >= 0


def _lanczos(radius: int) -> Kernel:
    def weight(d: np.ndarray) -> np.ndarray:
        return np.where(d <= radius, np.sinc(d) * np.sinc(d / radius), 0)

    return Kernel(radius, weight)


def _gaussian(radius: float) -> Kernel:
    sigma = radius / 3

    def weight(d: np.ndarray) -> np.ndarray:
        return np.where(d < radius, np.exp(-(d**2) / (2 * sigma**2)), 0)

    return Kernel(radius, weight)


def _cubic(b: float, c: float) -> Kernel:
    """The family of Mitchell and Netravali (1988)."""

    def weight(d: np.ndarray) -> np.ndarray:
        near = (12 - 9 * b - 6 * c) * d**3 + (-18 + 12 * b + 6 * c) * d**2 + (6 - 2 * b)
        far = (-b - 6 * c) * d**3 + (6 * b + 30 * c) * d**2 + (-12 * b - 48 * c) * d + (8 * b + 24 * c)
        return np.where(d < 1, near, np.where(d < 2, far, 0)) / 6

    return Kernel(2, weight)


KERNELS = {
    "lanczos3": _lanczos(3),
    "lanczos5": _lanczos(5),
    "gaussian": _gaussian(1.5),
    "mitchell": _cubic(1 / 3, 1 / 3),
    "bicubic": _cubic(0, 0.5),  # Keys with a = -1/2
}
