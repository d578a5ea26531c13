"""Crops from bytes and tap tables: torch everywhere, one Triton kernel where it runs."""

from __future__ import annotations

import os
import warnings
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor

from tnet_core.sampling.crop_taps import CropTaps, Round


def gather_crops(pixels: Tensor, taps: CropTaps[Tensor]) -> Tensor:
    """Make crops: uint8 RGB pixels of any shape -> (N, 3, b, b) float32 in [-1, 1], channels-last.

    All tensors on one device. Triton's kernel is used on CUDA, and on the CPU under TRITON_INTERPRET=1.
    """
    if is_triton_usable(pixels.device):
        from tnet_core.sampling.triton_gather import BLOCK, launch

        # The interpreter's time goes by programs, not by pixels.
        return launch(pixels, taps, BLOCK if pixels.is_cuda else (64, 64))
    return gather_by_torch(pixels, taps)


def gather_by_torch(pixels: Tensor, taps: CropTaps[Tensor]) -> Tensor:
    """Do what `gather_crops` does in plain torch: the kernel is held to it."""
    flat = pixels.reshape(-1)
    count, row_taps, base = taps.rows.shape
    channels = torch.arange(3, device=flat.device)
    total = torch.zeros((count, base, base, 3), device=flat.device)
    for i in range(row_taps):
        lines = taps.start[:, None] + taps.rows[:, i].long() * taps.pitch[:, None]  # (N, b)
        line = torch.zeros_like(total)
        for j in range(taps.cols.shape[1]):
            at = lines[:, :, None] + 3 * taps.cols[:, j].long()[:, None, :]  # (N, b, b)
            # A weight of 0 stands for no pixel at all, and then there may be none in the buffer.
            read = (taps.down[:, i, :, None] != 0) & (taps.across[:, j, None, :] != 0)
            found = torch.zeros_like(total)
            found[read] = flat[at[read][:, None] + channels].float()
            line += taps.across[:, j, None, :, None] * found
        total += taps.down[:, i, :, None, None] * line
    if taps.round is Round.NOT:
        weight = taps.down.sum(1)[:, :, None] * taps.across.sum(1)[:, None, :]  # (N, b, b); the rest is grey
        values = total * (2 / 255) - weight[..., None]
    else:
        level = total * taps.scale
        level = level.round() if taps.round is Round.HALF_EVEN else (level + 0.5).floor()
        values = level * (2 / 255) - 1
    return values.permute(0, 3, 1, 2)


@lru_cache(maxsize=16)
def is_triton_usable(device: torch.device) -> bool:
    """Tell whether Triton's kernel works here: it is there, compiles, and says what torch says on a small case."""
    if device.type != "cuda" and os.environ.get("TRITON_INTERPRET") != "1":
        return False
    try:
        from tnet_core.sampling.triton_gather import launch
    except ImportError:
        return False
    pixels, taps = _make_small_case(device)
    try:
        agrees = torch.allclose(launch(pixels, taps), gather_by_torch(pixels, taps), atol=1e-4)
    except Exception as error:  # no compiler, a device too old, …: whatever it is, torch does the same work
        warnings.warn(f"Triton does not run on '{device}' ({error!r:.200}): torch gathers crops instead.", stacklevel=2)
        return False
    if not agrees:
        warnings.warn(f"Triton's crops are wrong on '{device}': torch gathers them instead.", stacklevel=2)
    return agrees


def _make_small_case(device: torch.device) -> tuple[Tensor, CropTaps[Tensor]]:
    """Return two crops of 20 x 20 with two taps per axis, grey at their borders, out of 9 x 11 pixels."""
    generator = np.random.default_rng(0)
    pixels = generator.integers(0, 256, (9, 11, 3), dtype=np.uint8)
    weight = generator.random((2, 2, 20), dtype=np.float32)
    weight[:, :, :2] = 0
    start, pitch = np.array([0, 33], np.int64), np.array([33, 33], np.int64)
    rows, cols = (generator.integers(0, most, (2, 2, 20), dtype=np.int32) for most in (8, 11))
    taps: CropTaps[np.ndarray] = CropTaps(start, pitch, rows, weight, cols, weight)
    return torch.from_numpy(pixels).to(device), taps.with_arrays([torch.from_numpy(a).to(device) for a in taps.arrays])
