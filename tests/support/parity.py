"""The formula behind the parity data: weights from variable names and images from seeds.

The reference outputs in `tests/data` were computed by the official implementation with every variable
set to `fill(name, shape)` and every picture made by `image(size, seed)`, so neither has to be stored.
"""

from __future__ import annotations

import math
import zlib

import numpy as np
import torch

# How strongly a kernel amplifies, by the end of its name: keeps activations of deep networks in a sane range.
_GAINS = {
    "/comp_1/conv2d/kernel": 1.9,
    "/comp_2/conv2d/kernel": 1.9,
    "/comp_3/conv2d/kernel": 0.6,
    "/shortcut_comp/conv2d/kernel": 1.2,
    "/expand/conv2d/kernel": 2.6,
    "/depthwise/conv2d/depthwise_kernel": 2.6,
    "feat_weighting/output_linear/kernel": 0.5,
}
# leaf: (offset, scale) of offset + scale * z
_AFFINE = {
    "bias": (0.0, 0.05),
    "gamma": (1.0, 0.1),
    "beta": (0.0, 0.1),
    "moving_mean": (0.0, 0.1),
    "moving_variance": (1.0, 0.2),
}


def _gain(name: str) -> float:
    if name.endswith("/bottleneck/conv2d/kernel"):
        return 3.2 if "_block1/" in name else 0.2
    return next((gain for ending, gain in _GAINS.items() if name.endswith(ending)), 2.0)


def fill(name: str, shape: tuple[int, ...]) -> np.ndarray:
    """Value of an official variable (official layout, float32); `name` is written with "/"."""
    if name == "baseline_var":
        return np.full(shape, 0.5, dtype=np.float32)
    uniform = np.random.Generator(np.random.PCG64(zlib.crc32(name.encode()))).random(math.prod(shape))
    z = (math.sqrt(3) * (2 * uniform - 1)).reshape(shape)  # mean 0, variance 1
    leaf = name.rpartition("/")[2]
    if leaf in _AFFINE:
        offset, scale = _AFFINE[leaf]
    elif "/height_scaling/" in name or "/width_scaling/" in name:
        offset, scale = 1.0, 0.3
    else:
        fan_in = math.prod(shape[:2] if leaf == "depthwise_kernel" else shape[:-1])
        offset, scale = 0.0, math.sqrt(_gain(name) / fan_in)
    return (offset + scale * z).astype(np.float32)


def _enlarge(grid: np.ndarray, size: int) -> np.ndarray:
    """Integer bilinear enlargement of an (n, n, 3) grid to (size, size, 3)."""
    n = len(grid)
    position = np.arange(size) * (n - 1) * 256 // (size - 1)
    cell = np.minimum(position >> 8, n - 2)
    fraction = position - 256 * cell
    rows = grid[cell] * (256 - fraction)[:, None, None] + grid[cell + 1] * fraction[:, None, None]
    both = rows[:, cell] * (256 - fraction)[:, None] + rows[:, cell + 1] * fraction[:, None]
    return both >> 16


def image(size: int, seed: int) -> np.ndarray:
    """(size, size, 3) uint8 RGB, the same on every machine: integer arithmetic only."""
    generator = np.random.Generator(np.random.PCG64(seed))
    coarse = generator.integers(0, 255, (5, 5, 3), endpoint=True)
    middle = generator.integers(-96, 96, (24, 24, 3), endpoint=True)
    noise = generator.integers(-24, 24, (size, size, 3), endpoint=True)
    return np.clip(_enlarge(coarse, size) + _enlarge(middle, size) + noise, 0, 255).astype(np.uint8)


def model_input(images: list[np.ndarray]) -> torch.Tensor:
    """(B, 3, S, S) float32 in [-1, 1], as the official code feeds its models."""
    batch = np.stack(images).astype(np.float32) / np.float32(255)
    return torch.from_numpy(2 * (batch - np.float32(0.5))).permute(0, 3, 1, 2).contiguous()
