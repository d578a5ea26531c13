"""Many arrays in one copy: to the device without waiting, from it with one wait."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

_ALIGN = 16  # bytes; every array begins where any type may


def send(arrays: Sequence[np.ndarray], device: torch.device) -> list[Tensor]:
    """Copies on the device, packed into one buffer: pinned on CUDA, so that the copy need not be waited for."""
    ends, total = _layout([array.nbytes for array in arrays])
    host = torch.empty(total, dtype=torch.uint8, pin_memory=device.type == "cuda")
    for array, end in zip(arrays, ends, strict=True):
        host.numpy()[end - array.nbytes : end].view(array.dtype).reshape(array.shape)[...] = array
    there = host.to(device, non_blocking=True)
    kinds = [(array.nbytes, torch.from_numpy(np.empty(0, array.dtype)).dtype, array.shape) for array in arrays]
    return [
        there[end - size : end].view(dtype).view(shape) for (size, dtype, shape), end in zip(kinds, ends, strict=True)
    ]


def fetch(tensors: Sequence[Tensor]) -> list[np.ndarray]:
    """The tensors of one device as arrays, after one wait; those of the CPU as they are."""
    if all(tensor.device.type == "cpu" for tensor in tensors):
        return [tensor.numpy() for tensor in tensors]
    packed, ends = packed_bytes(tensors)
    host = torch.empty(packed.shape, dtype=torch.uint8, pin_memory=packed.is_cuda)
    host.copy_(packed, non_blocking=True)
    torch.cuda.current_stream(packed.device).synchronize()
    return unpacked(host.numpy().copy(), tensors, ends)  # a copy: pinned memory is too scarce to keep


def packed_bytes(tensors: Sequence[Tensor]) -> tuple[Tensor, list[int]]:
    """One buffer on the tensors' device, and where each of them ends in it."""
    sizes = [tensor.numel() * tensor.element_size() for tensor in tensors]
    ends, total = _layout(sizes)
    packed = torch.empty(total, dtype=torch.uint8, device=tensors[0].device)
    for tensor, size, end in zip(tensors, sizes, ends, strict=True):
        packed[end - size : end].view(tensor.dtype).view(tensor.shape).copy_(tensor)
    return packed, ends


def unpacked(buffer: np.ndarray, like: Sequence[Tensor], ends: Sequence[int]) -> list[np.ndarray]:
    """What `packed_bytes` packed, from the buffer's bytes."""
    arrays = []
    for tensor, end in zip(like, ends, strict=True):
        part = buffer[end - tensor.numel() * tensor.element_size() : end]
        arrays.append(torch.from_numpy(part).view(tensor.dtype).view(tensor.shape).numpy())
    return arrays


def _layout(sizes: Sequence[int]) -> tuple[list[int], int]:
    """Where each of several byte strings ends in a buffer that aligns their beginnings, and its length."""
    ends, at = [], 0
    for size in sizes:
        ends.append(at + size)
        at = math.ceil((at + size) / _ALIGN) * _ALIGN
    return ends, at
