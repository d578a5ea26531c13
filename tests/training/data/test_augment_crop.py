"""Random crops."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from training.data.augment import draw_crop

NONE = np.zeros((0, 4), np.float32)


@settings(max_examples=150, deadline=None)
@given(
    height=st.integers(1, 600),
    width=st.integers(1, 600),
    min_area=st.floats(0.05, 1.0),
    low=st.floats(0.3, 1.0),
    high=st.floats(1.0, 3.0),
    seed=st.integers(0, 2**32 - 1),
)
def test_a_crop_lies_inside_and_keeps_its_bounds_or_is_the_whole_image(
    height: int, width: int, min_area: float, low: float, high: float, seed: int
) -> None:
    y, x, h, w = draw_crop(height, width, NONE, np.random.default_rng(seed), min_area, (low, high))
    assert y >= 0 and x >= 0 and h >= 1 and w >= 1 and y + h <= height and x + w <= width
    if (h, w) == (height, width):
        return
    assert h * w >= min_area * height * width
    # the width is the rounded product of height and ratio, so the ratio holds to half a pixel
    assert (w + 0.5) / h >= low and (w - 0.5) / h <= high


def test_crops_of_a_usual_photograph_use_the_whole_range() -> None:
    generator = np.random.default_rng(0)
    crops = np.array([draw_crop(375, 500, NONE, generator, 0.85, (0.5, 2.0)) for _ in range(2000)])
    area = crops[:, 2] * crops[:, 3] / (375 * 500)
    ratio = crops[:, 3] / crops[:, 2]
    assert 0.85 <= area.min() < 0.86 and 0.98 < area.max() <= 1
    assert ratio.min() < 1.16 and ratio.max() > 1.53  # all that an area of 85 % allows at 4 : 3
    assert crops[:, 0].max() > 50 and crops[:, 1].max() > 60  # it moves, too
    # larger areas leave fewer aspect ratios: the mean lies below the middle of the range
    assert 0.87 < area.mean() < 0.925


def test_aspect_ratio_is_drawn_uniformly_where_all_of_them_fit() -> None:
    generator = np.random.default_rng(0)
    crops = np.array([draw_crop(1000, 1000, NONE, generator, 0.1, (0.5, 2.0)) for _ in range(3000)])
    ratio = crops[:, 3] / crops[:, 2]
    share = np.histogram(ratio, bins=np.linspace(0.5, 2, 7))[0] / len(ratio)
    np.testing.assert_allclose(share, 1 / 6, atol=0.03)


def test_a_panorama_that_no_crop_fits_is_taken_whole() -> None:
    assert draw_crop(50, 500, NONE, np.random.default_rng(0), 0.85, (0.5, 2.0)) == (0, 0, 50, 500)


def test_a_crop_shows_a_tenth_of_some_box() -> None:
    corner = np.array([[0.0, 0.0, 0.1, 0.1]], np.float32)
    for seed in range(300):
        y, x, _, _ = draw_crop(200, 200, corner, np.random.default_rng(seed), 0.2, (0.9, 1.1))
        assert max(0, 20 - x) * max(0, 20 - y) >= 0.1 * 400
    free = [draw_crop(200, 200, NONE, np.random.default_rng(seed), 0.2, (0.9, 1.1)) for seed in range(300)]
    assert sum(x >= 20 or y >= 20 for y, x, _, _ in free) > 150  # otherwise the box would have changed nothing


def test_of_several_boxes_one_is_enough_and_a_box_without_area_none() -> None:
    pair = np.array([[0, 0, 0.1, 0.1], [0.9, 0.9, 1, 1]], np.float32)
    corners = set()
    for seed in range(100):
        y, x, h, w = draw_crop(100, 100, pair, np.random.default_rng(seed), 0.5, (0.9, 1.1))
        near, far = y < 10 and x < 10, y + h > 90 and x + w > 90
        assert near or far
        corners.add((near, far))
    assert {(True, False), (False, True)} <= corners
    empty = np.array([[0.5, 0.5, 0.5, 0.5]], np.float32)
    assert draw_crop(100, 100, empty, np.random.default_rng(0), 0.5, (0.9, 1.1)) == (0, 0, 100, 100)


@pytest.mark.parametrize("side", [1, 2, 3])
def test_tiny_images_have_crops(side: int) -> None:
    for seed in range(20):
        y, x, h, w = draw_crop(side, side, NONE, np.random.default_rng(seed), 0.85, (0.5, 2.0))
        assert 0 < h <= side - y and 0 < w <= side - x
