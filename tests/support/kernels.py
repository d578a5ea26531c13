"""Cases for the kernels: crops of every kind as bytes and taps, and what must be the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import torch

import tnet_core as tn
from tests.support.models import TINY, TINY_3L
from tnet_core.imageio.source import ImageSource
from tnet_core.sampling.crop_taps import CropTaps, cut_tiles, make_native_taps, make_official_taps
from tnet_core.sampling.frame import Region, Sampler

ROOT = Path(__file__).parents[2]
CPU = torch.device("cpu")
PADDED = replace(TINY, cell_fraction=0.35, grid=5, location_block=None, location_rows=None, input_size=150)
DEFAULT, LARGE = (8, 64), (64, 64)  # blocks: the kernel's own, and one that the interpreter is quicker with

Case = tuple[np.ndarray, CropTaps[np.ndarray], tuple[int, int]]  # pixels, taps, block


def noise(height: int, width: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)


def on(taps: CropTaps[np.ndarray], device: torch.device = CPU) -> CropTaps[torch.Tensor]:
    return taps.with_arrays([torch.from_numpy(array).to(device) for array in taps.arrays])


def of_cpu(sampler: Sampler, regions: Sequence[Region]) -> np.ndarray:
    return np.stack([sampler.read(region)[0] for region in regions]).transpose(0, 3, 1, 2)


def some_regions(sampler: Sampler) -> list[Region]:
    """The thumbnail, corners and middle of its grid, and one crop each of the two levels below."""
    whole = sampler.whole()
    last = sampler.config.cells - 1
    second = [sampler.cell(whole, index) for index in (0, last // 2, last)]
    third = sampler.cell(second[0], last)
    return [whole, *second, third, sampler.cell(third, 0)]


def same(found: tn.Trace, expected: tn.Trace, tolerance: float = 1e-3) -> None:
    assert [look.path for look in found.locations] == [look.path for look in expected.locations]
    assert [look.box for look in found.locations] == [look.box for look in expected.locations]
    assert found.pixels_read == expected.pixels_read
    for k in range(len(expected.locations) + 1):
        np.testing.assert_allclose(found.logits(k), expected.logits(k), rtol=0, atol=tolerance)
        top = np.argsort(-expected.logits(k))[:5]
        np.testing.assert_array_equal(np.argsort(-found.logits(k))[:5], top)


FAR = 2**31 + 12345  # bytes before the image, more than 32 bits hold


@cache
def kernel_cases() -> dict[str, Case]:
    cases: dict[str, Case] = {}
    for height, width in ((96, 200), (333, 500), (1, 1), (2, 700)):
        pixels = noise(height, width)
        sampler = Sampler(ImageSource.open(pixels), PADDED)
        cases[f"official {height} x {width}"] = (pixels, make_official_taps(sampler, some_regions(sampler)), LARGE)
    pixels = noise(61, 37)
    sampler = Sampler(ImageSource.open(pixels), replace(PADDED, base_resolution=75))
    cases["own blocks, cut at the border"] = (pixels, make_official_taps(sampler, some_regions(sampler)[:2]), DEFAULT)
    cases["tiles"] = (*cut_tiles(sampler, some_regions(sampler)), LARGE)
    # Many cells in little room: the first crop of the third level is nothing but padding.
    crowded = replace(PADDED, input_size=224, grid=8, cell_fraction=0.05)
    sampler = Sampler(ImageSource.open(pixels), crowded)
    corner = sampler.cell(sampler.whole(), 0)
    grey = sampler.cell(corner, 0)
    assert grey.visible == (0, 0, 0, 0)
    cases["one all grey"] = (*cut_tiles(sampler, [corner, grey]), LARGE)
    pictures = np.stack([noise(40, 70, seed) for seed in range(2)])
    sampler = Sampler(ImageSource.open(pictures[0]), TINY_3L)
    cases["two images"] = (pictures, make_official_taps(sampler, some_regions(sampler)[:2], owners=[1, 0]), LARGE)
    for height, width in ((128, 128), (256, 256), (101, 187), (20, 30)):
        pixels = noise(height + 5, width + 3)
        sampler = Sampler(ImageSource.open(pixels), TINY, "native")
        regions = [Region(y, x, height, width, (y, x, y + height, x + width)) for y, x in ((0, 0), (5, 3))]
        taps = make_native_taps(sampler, regions)
        assert taps is not None
        cases[f"native {height} x {width}"] = (pixels, taps, LARGE)
    return cases


def far_case() -> tuple[np.ndarray, CropTaps[np.ndarray]]:
    pixels = noise(50, 60, seed=9)
    sampler = Sampler(ImageSource.open(pixels), PADDED)
    return pixels, make_official_taps(sampler, [sampler.whole()])
