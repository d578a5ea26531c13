"""Which way the crops of a level reach the model: resized by the CPU, or by the device from bytes.

`TNET_KERNELS` chooses: `auto` (the default) gathers on CUDA, `off` never does, `on` does it on the CPU too,
which is slower there and meant for comparing the two ways. What moves, moves as many arrays in one
copy: to the device without waiting, from it with one wait.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from tnet_core.errors import TNetError
from tnet_core.imageio.source import ArraySource
from tnet_core.sampling.crop_taps import CropTaps, cut_tiles, make_native_taps, make_official_taps
from tnet_core.sampling.frame import Region, Sampler
from tnet_core.sampling.gather import gather_crops, is_triton_usable

_ALIGN = 16  # bytes; every array begins where any type may


def send(arrays: Sequence[np.ndarray], device: torch.device) -> list[Tensor]:
    """Copy arrays to the device, packed into one buffer: pinned on CUDA, so that the copy need not be waited for."""
    ends, total = _lay_out([array.nbytes for array in arrays])
    host = torch.empty(total, dtype=torch.uint8, pin_memory=device.type == "cuda")
    for array, end in zip(arrays, ends, strict=True):
        host.numpy()[end - array.nbytes : end].view(array.dtype).reshape(array.shape)[...] = array
    there = host.to(device, non_blocking=True)
    kinds = [(array.nbytes, torch.from_numpy(np.empty(0, array.dtype)).dtype, array.shape) for array in arrays]
    return [
        there[end - size : end].view(dtype).view(shape) for (size, dtype, shape), end in zip(kinds, ends, strict=True)
    ]


def fetch(tensors: Sequence[Tensor]) -> list[np.ndarray]:
    """Return the tensors of one device as arrays, after one wait; those of the CPU as they are."""
    if all(tensor.device.type == "cpu" for tensor in tensors):
        return [tensor.numpy() for tensor in tensors]
    packed, ends = pack_bytes(tensors)
    host = torch.empty(packed.shape, dtype=torch.uint8, pin_memory=packed.is_cuda)
    host.copy_(packed, non_blocking=True)
    torch.cuda.current_stream(packed.device).synchronize()
    return unpack_bytes(host.numpy().copy(), tensors, ends)  # a copy: pinned memory is too scarce to keep


def pack_bytes(tensors: Sequence[Tensor]) -> tuple[Tensor, list[int]]:
    """Pack tensors into one buffer on their device; returns it and where each of them ends in it."""
    sizes = [tensor.numel() * tensor.element_size() for tensor in tensors]
    ends, total = _lay_out(sizes)
    packed = torch.empty(total, dtype=torch.uint8, device=tensors[0].device)
    for tensor, size, end in zip(tensors, sizes, ends, strict=True):
        packed[end - size : end].view(tensor.dtype).view(tensor.shape).copy_(tensor)
    return packed, ends


def unpack_bytes(buffer: np.ndarray, like: Sequence[Tensor], ends: Sequence[int]) -> list[np.ndarray]:
    """Return what `pack_bytes` packed, from the buffer's bytes."""
    arrays = []
    for tensor, end in zip(like, ends, strict=True):
        part = buffer[end - tensor.numel() * tensor.element_size() : end]
        arrays.append(torch.from_numpy(part).view(tensor.dtype).view(tensor.shape).numpy())
    return arrays


def _lay_out(sizes: Sequence[int]) -> tuple[list[int], int]:
    """Return where each byte string ends in a buffer that aligns their beginnings, and its length."""
    ends, at = [], 0
    for size in sizes:
        ends.append(at + size)
        at = math.ceil((at + size) / _ALIGN) * _ALIGN
    return ends, at


LARGEST_RESIDENT = 64 << 20  # bytes of an image that is kept on the device; of a larger one, looks travel as tiles


@dataclass(frozen=True)
class Views:
    """What the network sees of some regions."""

    images: Tensor  # (B, 3, b, b) in [-1, 1], where the model is and in its precision
    positions: Tensor  # (B, 3) int64, with them
    pixels_read: tuple[int, ...]
    values: tuple[np.ndarray, ...] = ()  # (b, b, 3) each, where the CPU made them

    def as_bytes(self) -> Tensor:
        """Return (B, b, b, 3) uint8, for showing what the network saw: `to_bytes` where the images are."""
        return ((self.images.float() + 1) * 127.5).round().clamp(0, 255).to(torch.uint8).permute(0, 2, 3, 1)


class HostReader:
    """The CPU resizes, the device gets floats."""

    def __init__(self, sampler: Sampler, like: Tensor) -> None:
        self.sampler = sampler
        self.device, self.dtype = like.device, like.dtype

    def read(self, regions: Sequence[Region], positions: Sequence[tuple[int, int, int]]) -> Views:
        read = [self.sampler.read(region) for region in regions]
        images = np.stack([values for values, _ in read])  # (B, b, b, 3)
        where = np.asarray(positions, np.int64)
        if self.device.type == "cpu":
            there = [torch.from_numpy(images), torch.from_numpy(where)]
        else:
            there = send([images, where], self.device)
        batch = there[0].permute(0, 3, 1, 2).to(self.dtype)
        return Views(batch, there[1], tuple(count for _, count in read), tuple(values for values, _ in read))


class DeviceReader(HostReader):
    """The device gets bytes, once for all looks or tile by tile, and one kernel makes the crops of a level."""

    def __init__(self, sampler: Sampler, like: Tensor) -> None:
        super().__init__(sampler, like)
        self._image: Tensor | None = None
        if _fits(sampler, self.device):
            assert isinstance(sampler.source, ArraySource)
            self._image = send([sampler.source.array], self.device)[0]

    @property
    def is_resident(self) -> bool:
        """Tell whether the whole image is on the device."""
        return self._image is not None

    def read(self, regions: Sequence[Region], positions: Sequence[tuple[int, int, int]]) -> Views:
        taps, buffer = self._make_taps(regions)
        if taps is None:
            return super().read(regions, positions)
        arrays = [np.asarray(positions, np.int64), *taps.arrays, *([] if buffer is None else [buffer])]
        where, *there = send(arrays, self.device)
        pixels = self._image if self._image is not None else there.pop()
        images = gather_crops(pixels, taps.with_arrays(there)).to(self.dtype)
        return Views(images, where, tuple(self._count_pixels(region) for region in regions))

    def _make_taps(self, regions: Sequence[Region]) -> tuple[CropTaps[np.ndarray] | None, np.ndarray | None]:
        if self.sampler.mode == "native":
            # Averaging without the kernel would be a launch per source pixel of an output pixel.
            here = self.is_resident and (self.device.type == "cpu" or is_triton_usable(self.device))
            return (make_native_taps(self.sampler, regions) if here else None), None
        if self.is_resident:
            return make_official_taps(self.sampler, regions), None
        buffer, taps = cut_tiles(self.sampler, regions)
        return taps, buffer

    def _count_pixels(self, region: Region) -> int:
        if self.sampler.mode == "native":
            return region.h * region.w
        rows, cols = self.sampler.make_taps(region)
        return len(rows.pixels) * len(cols.pixels)


def choose_reader(sampler: Sampler, like: Tensor) -> HostReader:
    """Return a reader for a model whose weights are like this tensor."""
    chosen = os.environ.get("TNET_KERNELS") or "auto"
    if chosen not in ("auto", "on", "off"):
        raise TNetError(f"TNET_KERNELS is {chosen!r:.40}, but must be auto, on or off.")
    on_device = chosen == "on" or (chosen == "auto" and like.device.type == "cuda")
    return DeviceReader(sampler, like) if on_device else HostReader(sampler, like)


def _fits(sampler: Sampler, device: torch.device) -> bool:
    """Tell whether the image is in memory, and small enough to be copied whole."""
    source = sampler.source
    if not isinstance(source, ArraySource) or source.array.nbytes > LARGEST_RESIDENT:
        return False
    return device.type == "cpu" or 4 * source.array.nbytes < torch.cuda.mem_get_info(device)[0]
