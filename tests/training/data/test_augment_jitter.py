"""Colour, shift and rotation."""

from __future__ import annotations

import colorsys
import math

import numpy as np
import pytest

from training.data.augment import (
    change_brightness,
    change_contrast,
    change_hue,
    change_saturation,
    distort_colours,
    rotate,
    translate,
)


def colours(count: int = 40, seed: int = 0) -> np.ndarray:
    """(3, count, count) float32 in [0, 1], with greys, blacks and pure colours among them."""
    planes = np.random.default_rng(seed).random((3, count, count)).astype(np.float32)
    planes[:, 0] = planes[0, 0]
    planes[:, 1] = 0
    planes[:, 2] = np.round(planes[:, 2])
    return planes


def by_hsv(planes: np.ndarray, turn: float = 0.0, factor: float = 1.0) -> np.ndarray:
    flat = [colorsys.rgb_to_hsv(*(float(v) for v in pixel)) for pixel in planes.reshape(3, -1).T]
    made = [colorsys.hsv_to_rgb((h + turn) % 1, min(s * factor, 1), v) for h, s, v in flat]
    return np.array(made).T.reshape(planes.shape)


@pytest.mark.parametrize("factor", [0.5, 0.8, 1.0, 1.5])
def test_saturation_is_scaled_in_hsv(factor: float) -> None:
    np.testing.assert_allclose(change_saturation(colours(), factor), by_hsv(colours(), factor=factor), atol=1e-5)


@pytest.mark.parametrize("turn", [-0.2, -0.01, 0.0, 0.1, 0.2])
def test_hue_is_turned_in_hsv(turn: float) -> None:
    np.testing.assert_allclose(change_hue(colours(), turn), by_hsv(colours(), turn=turn), atol=1e-5)


def test_values_beyond_the_range_keep_their_order_and_lose_no_light() -> None:
    planes = np.random.default_rng(0).uniform(-0.3, 1.3, (3, 30, 30)).astype(np.float32)
    turned = change_hue(planes, 0.13)
    np.testing.assert_allclose(turned.max(axis=0), planes.max(axis=0), atol=1e-5)
    np.testing.assert_allclose(turned.min(axis=0), planes.min(axis=0), atol=1e-5)
    dark = np.array([-0.1, -0.2, -0.3], np.float32).reshape(3, 1, 1)
    np.testing.assert_allclose(change_saturation(dark, 1.2).ravel(), -0.1)  # nothing is lit: no saturation
    over = np.array([0.5, 0.2, -0.1], np.float32).reshape(3, 1, 1)
    np.testing.assert_allclose(change_saturation(over, 1.0).min(), 0, atol=1e-6)  # saturation ends at one


def test_brightness_adds_and_contrast_scales_about_the_mean_of_each_channel() -> None:
    planes = colours()
    np.testing.assert_allclose(change_brightness(planes, 0.1), planes + 0.1, atol=1e-6)
    mean = planes.mean(axis=(1, 2), keepdims=True)
    np.testing.assert_allclose(change_contrast(planes, 1.5), (planes - mean) * 1.5 + mean, atol=1e-5)


def test_one_in_five_pictures_keeps_its_colours_and_the_rest_is_clipped() -> None:
    planes = colours() * 1.2 - 0.1
    generator = np.random.default_rng(0)
    seen = [distort_colours(planes.copy(), generator) for _ in range(400)]
    same = sum(np.array_equal(s, planes) for s in seen)
    assert 50 < same < 110
    assert all(s.min() >= 0 and s.max() <= 1 for s in seen if not np.array_equal(s, planes))


def test_the_order_of_the_operations_matters_and_all_four_occur(monkeypatch: pytest.MonkeyPatch) -> None:
    from training.data import augment

    calls: list[str] = []

    def spy(name: str) -> object:
        def operation(planes: np.ndarray, amount: float) -> np.ndarray:
            low, high = {"b": (-32 / 255, 32 / 255), "h": (-0.2, 0.2)}.get(name, (0.5, 1.5))
            assert low <= amount <= high
            calls.append(name)
            return planes

        return operation

    for name in ("brightness", "saturation", "hue", "contrast"):
        monkeypatch.setattr(augment, f"change_{name}", spy(name[0]))
    orders = set()
    generator = np.random.default_rng(0)
    for _ in range(100):
        calls.clear()
        distort_colours(colours(4), generator)
        orders.add("".join(calls))
    assert orders == {"bshc", "sbch", "chbs", "hscb", ""}


def test_a_shift_moves_by_whole_pixels_and_leaves_black() -> None:
    planes = np.arange(1, 49, dtype=np.float32).reshape(3, 4, 4)
    moved = translate(planes, 1.4, -0.6)  # one to the right, one up
    assert np.array_equal(moved[:, :3, 1:], planes[:, 1:, :3])
    assert (moved[:, 3] == 0).all() and (moved[:, :, 0] == 0).all()
    assert np.array_equal(translate(planes, 0.3, -0.3), planes)
    assert (translate(planes, 9, 0) == 0).all() and (translate(planes, 0, -9) == 0).all()


def test_quarter_turns_are_exact_and_counter_clockwise() -> None:
    planes = np.random.default_rng(0).random((3, 9, 9)).astype(np.float32)
    assert np.array_equal(rotate(planes, 0), planes)
    assert np.array_equal(rotate(planes, math.pi / 2), np.rot90(planes, 1, (1, 2)))
    assert np.array_equal(rotate(planes, -math.pi / 2), np.rot90(planes, -1, (1, 2)))


@pytest.mark.parametrize("degrees", [-20, -7.3, 3, 20])
def test_a_turned_pixel_is_the_nearest_one_or_black(degrees: float) -> None:
    side = 31
    planes = np.random.default_rng(0).uniform(0.1, 1, (2, side, side)).astype(np.float32)
    angle = math.radians(degrees)
    cos, sin, middle = math.cos(angle), math.sin(angle), (side - 1) / 2
    expected = np.zeros_like(planes)
    for y in range(side):
        for x in range(side):
            # x' = cos x - sin y + offset, y' = sin x + cos y + offset, about the centre
            sx = round(cos * (x - middle) - sin * (y - middle) + middle)
            sy = round(sin * (x - middle) + cos * (y - middle) + middle)
            if 0 <= sx < side and 0 <= sy < side:
                expected[:, y, x] = planes[:, sy, sx]
    turned = rotate(planes, angle)
    assert (turned != expected).any(axis=0).sum() <= 2  # ties fall either way
    assert (turned[:, 0, 0] == 0).all()
