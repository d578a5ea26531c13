"""One sampling rule, two modes; official mode equals resizing the whole image first."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

import tnet_core as tn
from tests.support.models import TINY, TINY_3L, picture, tiny
from tnet_core.imageio.source import ImageSource
from tnet_core.inference.memory import PeakMemory
from tnet_core.modeling.config import Sampling
from tnet_core.sampling.frame import Sampler
from tnet_core.sampling.grid import divide_natively, divide_officially


def resize(image: torch.Tensor, size: int) -> torch.Tensor:
    return F.interpolate(image, (size, size), mode="bilinear", align_corners=False, antialias=False)


def official_input(pixels: np.ndarray, size: int) -> torch.Tensor:
    image = torch.from_numpy(pixels.astype(np.float32) / 255).permute(2, 0, 1)[None]
    return 2 * (resize(image, size) - 0.5)  # (1, 3, S, S)


SIZES = [(128, 128), (96, 200), (500, 333), (37, 61), (1, 1), (2, 700), (1024, 1024)]


@pytest.mark.parametrize(("height", "width"), SIZES)
@pytest.mark.parametrize("fraction", [0.35, 0.5])
def test_official_crops_equal_those_of_the_resized_image(height: int, width: int, fraction: float) -> None:
    generator = np.random.default_rng(height)
    pixels = generator.integers(0, 256, (height, width, 3), dtype=np.uint8)
    config = replace(TINY, cell_fraction=fraction, grid=5, location_block=None, location_rows=None, input_size=150)
    sampler = Sampler(ImageSource.open(pixels), config)
    whole = official_input(pixels, 150)
    seen, _ = sampler.read(sampler.whole())
    np.testing.assert_allclose(seen, resize(whole, 64)[0].permute(1, 2, 0), atol=2e-5)
    axis = divide_officially(150, 5, fraction)
    padded = F.pad(whole, (axis.pad_before, axis.pad_after) * 2)
    for index in (0, 7, 12, 24):
        r, c = divmod(index, 5)
        cut = padded[:, :, r * axis.stride :, c * axis.stride :][:, :, : axis.cell, : axis.cell]
        region = sampler.cell(sampler.whole(), index)
        crop, _ = sampler.read(region)
        np.testing.assert_allclose(crop, resize(cut, 64)[0].permute(1, 2, 0), atol=2e-5)


def test_a_third_level_crop_cannot_see_beyond_its_parent() -> None:
    """The official code cuts level-3 crops from level-2 crops, padding those with grey."""
    config = replace(TINY_3L, cell_fraction=0.35, grid=5, location_block=None, location_rows=None, input_size=448)
    pixels = np.random.default_rng(0).integers(0, 256, (448, 448, 3), dtype=np.uint8)
    sampler = Sampler(ImageSource.open(pixels), config)
    parent = sampler.cell(sampler.whole(), 12)
    child = sampler.cell(parent, 0)
    assert parent.h == 157 and child.y < parent.y  # its first line lies outside the parent
    level_2 = official_input(pixels, 448)[:, :, parent.y : parent.y + 157, parent.x : parent.x + 157]
    axis = divide_officially(157, 5, 0.35)
    padded = F.pad(level_2, (axis.pad_before, axis.pad_after) * 2)
    expected = resize(padded[:, :, : axis.cell, : axis.cell], 64)[0].permute(1, 2, 0)
    np.testing.assert_allclose(sampler.read(child)[0], expected, atol=2e-5)


@settings(max_examples=100, deadline=None)
@given(
    size=st.integers(16, 300),
    grid=st.integers(2, 12),
    fraction=st.floats(0.03, 0.97),
    path=st.lists(st.floats(0, 1, exclude_max=True), min_size=1, max_size=6),
    mode=st.sampled_from(["official", "native"]),
)
def test_boxes_stay_in_the_image_and_crops_are_the_official_ones(
    size: int, grid: int, fraction: float, path: list[float], mode: Sampling
) -> None:
    """Up to seven levels, and every geometry a configuration allows."""
    config = replace(TINY, input_size=size, grid=grid, cell_fraction=fraction, location_block=None, location_rows=None)
    pixels = np.random.default_rng(size).integers(0, 256, (90, 70, 3), dtype=np.uint8)
    sampler = Sampler(ImageSource.open(pixels), config, mode)
    region, image = sampler.whole(), official_input(pixels, size)
    for step in path:
        index = int(step * config.cells)
        row, col = divmod(index, grid)
        if mode == "official" and round(region.h * fraction) == 0:
            with pytest.raises(tn.TNetError, match="too small to be divided"):
                sampler.cell(region, index)
            return
        region = sampler.cell(region, index)
        x0, y0, x1, y1 = sampler.box(region)
        assert 0 <= x0 <= x1 <= 1 and 0 <= y0 <= y1 <= 1
        crop, pixels_read = sampler.read(region)
        if mode == "native":
            assert x0 < x1 and y0 < y1
            continue
        axis = divide_officially(image.shape[2], grid, fraction)
        padded = F.pad(image, (axis.pad_before, axis.pad_after) * 2)
        image = padded[:, :, row * axis.stride :, col * axis.stride :][:, :, : axis.cell, : axis.cell]
        np.testing.assert_allclose(crop, resize(image, 64)[0].permute(1, 2, 0), atol=5e-5)
        if x0 == x1 or y0 == y1:
            assert (crop == 0).all() and pixels_read == 0


@pytest.mark.parametrize(("size", "grid", "fraction", "levels"), [(224, 8, 0.05, 3), (448, 5, 0.35, 6)])
def test_a_crop_of_nothing_but_padding_is_grey_with_an_empty_box_at_the_border(
    size: int, grid: int, fraction: float, levels: int
) -> None:
    config = replace(TINY, input_size=size, grid=grid, cell_fraction=fraction, location_block=None, location_rows=None)
    sampler = Sampler(ImageSource.open(picture()), config)
    region = sampler.whole()
    for _ in range(levels - 1):  # more of the padding is in front, so the first cell is the one that vanishes
        region = sampler.cell(region, 0)
    assert sampler.box(region) == (0, 0, 0, 0)
    seen, pixels_read = sampler.read(region)
    assert seen.shape == (64, 64, 3) and (seen == 0).all() and pixels_read == 0


def test_a_batch_of_resized_images_and_the_traversal_agree() -> None:
    model = tiny(TINY_3L)
    pixels = picture(300, 211, seed=4)
    with torch.inference_mode():
        batched = model.forward_train(official_input(pixels, 128), (2, 2))
    trace = tn.traverse(model, pixels, budget=(2, 2))
    np.testing.assert_allclose(trace.logits(), batched.logits[0], atol=1e-4)


@pytest.mark.slow
def test_official_cost_in_pixels_does_not_grow_with_the_image() -> None:
    model = tiny()
    read = [sum(tn.traverse(model, picture(side, side), budget=(3,)).pixels_read) for side in (512, 1024, 4096)]
    assert read[0] == read[1] == read[2]


@pytest.mark.parametrize(("height", "width"), [(128, 128), (301, 77), (40, 600)])
def test_native_cells_lie_inside_the_original_pixels(height: int, width: int) -> None:
    trace = tn.traverse(tiny(), picture(height, width), budget=(9,), sampling="native")
    assert trace.sampling == "native"
    for look in trace.locations:
        y, x, h, w = look.pixels
        assert y >= 0 and x >= 0 and y + h <= height and x + w <= width
        assert look.box == pytest.approx((x / width, y / height, (x + w) / width, (y + h) / height))
    corners = {look.index: look.pixels for look in trace.locations}
    assert corners[0][:2] == (0, 0)
    assert corners[8][0] + corners[8][2] == height and corners[8][1] + corners[8][3] == width


@pytest.mark.parametrize(
    ("side", "n", "fraction", "cell", "starts"),
    [
        (100, 5, 0.35, 35, (0, 16, 32, 49, 65)),
        (448, 5, 5 / 14, 160, (0, 72, 144, 216, 288)),
        (1000, 3, 0.5, 500, (0, 250, 500)),
        (1, 3, 0.5, 1, (0, 0, 0)),
    ],
)
def test_native_cells_are_spread_evenly(side: int, n: int, fraction: float, cell: int, starts: tuple[int, ...]) -> None:
    axis = divide_natively(side, n, fraction)
    assert (axis.cell, axis.starts) == (cell, starts)


def test_native_cost_in_pixels_is_what_the_boxes_cover() -> None:
    trace = tn.traverse(tiny(), picture(301, 77), budget=(9,), sampling="native")
    assert trace.pixels_read == (301 * 77, *(look.pixels[2] * look.pixels[3] for look in trace.locations))
    assert set(trace.pixels_read[1:]) == {150 * 38}


@pytest.mark.parametrize("side", [1280, 96])  # crops that shrink and crops that grow
def test_a_native_crop_depends_only_on_the_pixels_in_its_box(side: int) -> None:
    pixels = picture(side, side)
    for look, crop in _native_looks(pixels):
        y, x, h, w = look.pixels
        changed = 255 - pixels
        changed[y : y + h, x : x + w] = pixels[y : y + h, x : x + w]
        again = {other.index: seen for other, seen in _native_looks(changed)}
        np.testing.assert_array_equal(again[look.index], crop)


def _native_looks(pixels: np.ndarray) -> list[tuple[tn.Location, np.ndarray]]:
    trace = tn.traverse(tiny(), pixels, budget=(9,), policy="raster", sampling="native")
    return list(zip(trace.locations, trace.crops, strict=True))


def test_native_crops_are_antialiased_cuts_of_the_original() -> None:
    pixels = np.zeros((512, 512, 3), np.uint8)
    pixels[::2] = 255  # one-pixel stripes: without antialiasing they alias, with it they are grey
    trace = tn.traverse(tiny(), pixels, budget=(1,), sampling="native")
    for seen in (trace.crops[0], trace.thumbnail):
        assert abs(seen.astype(float) - 127.5).max() <= 1  # up to the borders


def averaged(inputs: int, outputs: int) -> np.ndarray:
    """(outputs, inputs): the share of each input pixel in the area of each output pixel."""
    edges = np.arange(outputs + 1) * inputs / outputs
    at = np.arange(inputs)
    overlap = np.minimum(edges[1:, None], at + 1) - np.maximum(edges[:-1, None], at)
    return overlap.clip(0) * outputs / inputs


def interpolated(inputs: int, outputs: int) -> np.ndarray:
    """(outputs, inputs): bilinear weights with half-pixel centres, the border repeated."""
    identity = torch.eye(inputs)[None]
    return F.interpolate(identity, outputs, mode="linear", align_corners=False)[0].T.numpy()


@pytest.mark.parametrize("height", [20, 64, 100, 301, 1280])
@pytest.mark.parametrize("width", [1, 64, 187])
def test_native_resizing_averages_areas_and_interpolates(height: int, width: int) -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (height + 7, width + 9, 3), dtype=np.uint8)
    source = ImageSource.open(pixels)
    seen = source.resized((5, 4, 5 + width, 4 + height), (64, 64)).astype(float)
    down = averaged(height, 64) if height > 64 else interpolated(height, 64)
    across = averaged(width, 64) if width > 64 else interpolated(width, 64)
    cut = pixels[4 : 4 + height, 5 : 5 + width].astype(float)
    exact = np.einsum("yi,xj,ijc->yxc", down, across, cut, optimize=True)
    assert abs(seen - exact).max() <= 1.1


def test_a_huge_area_is_averaged_without_overflow() -> None:
    source = ImageSource.open(np.full((3000, 3000, 3), 255, np.uint8))
    assert (source.resized((0, 0, 3000, 3000), (1, 1)) == 255).all()


@pytest.mark.slow
@pytest.mark.parametrize("sampling", ["official", "native"])
def test_a_traversal_makes_no_copy_of_the_image(sampling: Sampling) -> None:
    model = tiny()
    tn.traverse(model, picture(), sampling=sampling)
    pixels = np.full((6000, 6000, 3), 90, np.uint8)  # 103 MB
    peak = PeakMemory(torch.device("cpu"))
    before = peak.read()  # a new mark starts at what is resident
    tn.traverse(model, pixels, sampling=sampling)
    extra = peak.read() - before
    assert before > pixels.nbytes and extra < pixels.nbytes / 4


@pytest.mark.slow
def test_crops_at_base_resolution_are_the_pixels_themselves() -> None:
    """448 px, cells of 5/14, base 160: the network sees exact pixels."""
    model = tn.build(tn.preset("lite0-cub"))
    pixels = np.random.default_rng(0).integers(0, 256, (448, 448, 3), dtype=np.uint8)
    trace = tn.traverse(model, pixels, budget=(4,))
    for look, crop in zip(trace.locations, trace.crops, strict=True):
        y, x, h, w = look.pixels
        assert (h, w) == (160, 160)
        np.testing.assert_array_equal(crop, pixels[y : y + h, x : x + w])


def test_the_mode_comes_from_the_configuration_and_is_recorded() -> None:
    model = tiny(replace(TINY, sampling="native"))
    assert tn.traverse(model, picture()).sampling == "native"
    assert tn.traverse(model, picture(), sampling="official").sampling == "official"
    with pytest.raises(tn.TNetError, match="'official' or 'native'"):
        tn.traverse(model, picture(), sampling="nearest")
