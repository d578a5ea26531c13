"""Resizing as `tf.image.resize(antialias=False)` does it, with any of its eight methods.

All of them are separable and linear, so an axis is resized by a sparse matrix: `compute_taps` gives the source pixels
and weights of every output pixel. It is applied in bands, dense products of a few output lines with the few source
lines that they need.

Kernels are functions of the distance in source pixels, never stretched. Resizing with one takes, for every output
pixel, the source pixels within `radius` of its centre, weighs them and divides by the sum of the weights; what lies
beyond the border takes no part.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import torch

from tnet_core.sampling.tap_sums import make_bilinear_taps

METHODS = ("bilinear", "lanczos3", "lanczos5", "bicubic", "gaussian", "nearest", "area", "mitchell")
BAND = 32  # output lines per product
CUBIC_STEPS = 1024  # TensorFlow reads its cubic kernel from a table this fine


class Taps(NamedTuple):
    at: np.ndarray  # (outputs, taps) source pixels
    weight: np.ndarray  # (outputs, taps) float64; zero where a tap is not used


def compute_taps(method: str, inputs: int, outputs: int) -> Taps:
    """Return the source pixels of every output pixel of one axis, and their weights."""
    if method == "nearest":
        at = np.floor((np.arange(outputs, dtype=np.float32) + np.float32(0.5)) * _compute_scale(inputs, outputs))
        return Taps(np.minimum(at.astype(np.int64), inputs - 1)[:, None], np.ones((outputs, 1)))
    if method == "bilinear":
        left, right, share = make_bilinear_taps(inputs, outputs)
        return Taps(np.stack([left, right], axis=1), np.stack([1 - share, share], axis=1).astype(np.float64))
    if method == "area":
        return _make_area_taps(inputs, outputs)
    return _make_kernel_taps(method, inputs, outputs)


def resize(image: np.ndarray, size: int, method: str, *, mirror: bool = False) -> np.ndarray:
    """Resize (H, W, 3) uint8 to (3, size, size) float32 in [0, 1], beyond it where a kernel overshoots.

    `mirror` turns left into right afterwards.
    """
    height, width = image.shape[:2]
    rows, down = _make_bands(method, height, size, False)
    cols, across = _make_bands(method, width, size, mirror)
    image = image if rows is None else image[rows]
    image = image if cols is None else image[:, cols]
    planes = torch.from_numpy(np.ascontiguousarray(image.transpose(2, 0, 1))).float()  # (3, H, W)
    if down:
        lines = torch.empty(3, size, planes.shape[2])
        for band in down:
            torch.matmul(band.matrix, planes[:, band.first : band.last], out=lines[:, band.start : band.stop])
        planes = lines
    if across:
        flat = planes.view(3 * size, -1)
        planes = torch.empty(3, size, size)
        out = planes.view(3 * size, size)
        for band in across:
            torch.mm(flat[:, band.first : band.last], band.matrix.T, out=out[:, band.start : band.stop])
    return planes.mul_(1 / 255).numpy()


class Band(NamedTuple):
    start: int  # output lines start … stop …
    stop: int
    first: int  # … come from source lines first … last
    last: int
    matrix: torch.Tensor  # (stop - start, last - first)


@lru_cache(maxsize=512)
def _make_bands(method: str, inputs: int, outputs: int, mirror: bool) -> tuple[np.ndarray | None, tuple[Band, ...]]:
    """Return the source lines that are needed (None: all, in order), and the products that make the output of them.

    No products where every output line is one of those source lines.
    """
    at, weight = compute_taps(method, inputs, outputs)
    if mirror:
        at, weight = at[::-1], weight[::-1]
    if (weight.max(axis=1) == 1).all() and (np.count_nonzero(weight, axis=1) == 1).all():
        lines = at[weight == 1]
        return (None if np.array_equal(lines, np.arange(inputs)) else lines), ()
    used = np.zeros(inputs, bool)
    used[at[weight != 0]] = True
    position = np.cumsum(used) - 1
    bands = []
    for start in range(0, outputs, BAND):
        lines, share = position[at[start : start + BAND]], weight[start : start + BAND]
        inside = share != 0
        first, last = int(lines[inside].min()), int(lines[inside].max()) + 1
        matrix = np.zeros((len(lines), last - first))
        row = np.broadcast_to(np.arange(len(lines))[:, None], lines.shape)
        np.add.at(matrix, (row[inside], lines[inside] - first), share[inside])
        bands.append(Band(start, start + len(lines), first, last, torch.from_numpy(matrix.astype(np.float32))))
    return (None if used.all() else np.flatnonzero(used)), tuple(bands)


def _compute_scale(inputs: int, outputs: int) -> np.float32:
    return np.float32(inputs) / np.float32(outputs)


def _find_centres(inputs: int, outputs: int) -> np.ndarray:
    """Return centres of the output pixels on the source axis, where source pixel i has its centre at i.

    In float32, as TensorFlow and PyTorch compute them, so that taps fall on the same pixels.
    """
    return (np.arange(outputs, dtype=np.float32) + np.float32(0.5)) * _compute_scale(inputs, outputs) - np.float32(0.5)


def _make_kernel_taps(method: str, inputs: int, outputs: int) -> Taps:
    kernel = KERNELS[method]
    centre = _find_centres(inputs, outputs).astype(np.float64)
    if method == "bicubic":
        whole = np.floor(centre)
        centre = whole + np.rint((centre - whole) * CUBIC_STEPS) / CUBIC_STEPS
    reach = int(np.ceil(kernel.radius))
    at = np.floor(centre).astype(np.int64)[:, None] + np.arange(-reach, reach + 2)
    weight = kernel.weight(np.abs(at - centre[:, None]))
    weight[(at < 0) | (at >= inputs)] = 0
    return Taps(at.clip(0, inputs - 1), weight / weight.sum(axis=1, keepdims=True))


def _make_area_taps(inputs: int, outputs: int) -> Taps:
    """Return the share of every source pixel in the stretch that an output pixel covers."""
    scale = inputs / outputs
    begin = np.arange(outputs)[:, None] * scale
    at = np.floor(begin).astype(np.int64) + np.arange(int(np.ceil(scale)) + 1)
    share = (np.minimum(at + 1, begin + scale) - np.maximum(at, begin)).clip(0)
    share[(at >= inputs) | (share < 1e-6)] = 0
    return Taps(at.clip(0, inputs - 1), share / share.sum(axis=1, keepdims=True))


class Kernel(NamedTuple):
    radius: float
    weight: Callable[[np.ndarray], np.ndarray]  # of distances >= 0


def _make_lanczos(radius: int) -> Kernel:
    def weight(d: np.ndarray) -> np.ndarray:
        return np.where(d <= radius, np.sinc(d) * np.sinc(d / radius), 0)

    return Kernel(radius, weight)


def _make_gaussian(radius: float) -> Kernel:
    sigma = radius / 3

    def weight(d: np.ndarray) -> np.ndarray:
        return np.where(d < radius, np.exp(-(d**2) / (2 * sigma**2)), 0)

    return Kernel(radius, weight)


def _make_cubic(b: float, c: float) -> Kernel:
    """Return a kernel of the family of Mitchell and Netravali (1988)."""

    def weight(d: np.ndarray) -> np.ndarray:
        near = (12 - 9 * b - 6 * c) * d**3 + (-18 + 12 * b + 6 * c) * d**2 + (6 - 2 * b)
        far = (-b - 6 * c) * d**3 + (6 * b + 30 * c) * d**2 + (-12 * b - 48 * c) * d + (8 * b + 24 * c)
        return np.where(d < 1, near, np.where(d < 2, far, 0)) / 6

    return Kernel(2, weight)


KERNELS = {
    "lanczos3": _make_lanczos(3),
    "lanczos5": _make_lanczos(5),
    "gaussian": _make_gaussian(1.5),
    "mitchell": _make_cubic(1 / 3, 1 / 3),
    "bicubic": _make_cubic(0, 0.5),  # Keys with a = -1/2
}
