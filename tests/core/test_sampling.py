"""One sampling rule, two modes; official mode equals resizing the whole image first."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
import torch.nn.functional as F

import tnet_core as tn
from tests.support.models import TINY, TINY_3L, picture, tiny
from tnet_core.images.sampling import Sampler
from tnet_core.images.source import ImageSource


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
    rows, cols = sampler.axes(sampler.whole())
    padded = F.pad(whole, (cols.pad_before, cols.pad_after, rows.pad_before, rows.pad_after))
    for index in (0, 7, 12, 24):
        r, c = divmod(index, 5)
        cut = padded[:, :, r * rows.stride :, c * cols.stride :][:, :, : rows.cell, : cols.cell]
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
    rows, cols = sampler.axes(parent)
    padded = F.pad(level_2, (cols.pad_before, cols.pad_after, rows.pad_before, rows.pad_after))
    expected = resize(padded[:, :, : rows.cell, : cols.cell], 64)[0].permute(1, 2, 0)
    np.testing.assert_allclose(sampler.read(child)[0], expected, atol=2e-5)


def test_a_batch_of_resized_images_and_the_traversal_agree() -> None:
    model = tiny(TINY_3L)
    pixels = picture(300, 211, seed=4)
    with torch.inference_mode():
        batched = model.forward_train(official_input(pixels, 128), (2, 2))
    trace = tn.traverse(model, pixels, budget=(2, 2))
    np.testing.assert_allclose(trace.logits(), batched.logits[0], atol=1e-4)


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


def test_native_crops_are_antialiased_cuts_of_the_original() -> None:
    pixels = np.zeros((512, 512, 3), np.uint8)
    pixels[::2] = 255  # one-pixel stripes: without antialiasing they alias, with it they are grey
    trace = tn.traverse(tiny(), pixels, budget=(1,), sampling="native")
    # The filter is cut off at the border, so look inside.
    for seen in (trace.crops[0], trace.thumbnail):
        assert abs(seen[2:-2].astype(int) - 127).max() <= 3


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
