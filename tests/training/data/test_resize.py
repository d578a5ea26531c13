"""The eight ways to resize, against their definitions and against other libraries."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from training.data.resize import KERNELS, METHODS, compute_taps, resize


def noise(height: int, width: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)


def planes(image: np.ndarray) -> torch.Tensor:
    return torch.from_numpy(image).permute(2, 0, 1)[None].float() / 255


def lanczos(radius: int) -> Callable[[float], float]:
    def weight(d: float) -> float:
        if d > radius:
            return 0.0
        return 1.0 if d < 1e-3 else radius * math.sin(math.pi * d) * math.sin(math.pi * d / radius) / (math.pi * d) ** 2

    return weight


def mitchell(d: float) -> float:
    """B = C = 1/3, the polynomial as it is usually printed."""
    if d < 1:
        return (7 * d**3 - 12 * d**2 + 16 / 3) / 6
    return (-7 / 3 * d**3 + 12 * d**2 - 20 * d + 32 / 3) / 6 if d < 2 else 0.0


def keys(d: float) -> float:
    """a = -1/2."""
    if d < 1:
        return 1.5 * d**3 - 2.5 * d**2 + 1
    return -0.5 * d**3 + 2.5 * d**2 - 4 * d + 2 if d < 2 else 0.0


def gaussian(d: float) -> float:
    return math.exp(-2 * d * d) if d < 1.5 else 0.0  # sigma 1/2


DEFINITIONS = {
    "lanczos3": (lanczos(3), 3),
    "lanczos5": (lanczos(5), 5),
    "mitchell": (mitchell, 2),
    "bicubic": (keys, 2),
    "gaussian": (gaussian, 1.5),
}


def matrix(method: str, inputs: int, outputs: int) -> np.ndarray:
    dense = np.zeros((outputs, inputs))
    at, weight = compute_taps(method, inputs, outputs)
    np.add.at(dense, (np.arange(outputs)[:, None], at), weight)
    return dense


@pytest.mark.parametrize("method", DEFINITIONS)
def test_kernels_are_what_their_names_say(method: str) -> None:
    definition, radius = DEFINITIONS[method]
    d = np.linspace(0, 6, 601)
    assert KERNELS[method].radius == radius
    np.testing.assert_allclose(KERNELS[method].weight(d), [definition(float(v)) for v in d], atol=2e-6)


@pytest.mark.parametrize("method", DEFINITIONS)
@pytest.mark.parametrize(("inputs", "outputs"), [(7, 20), (20, 7), (13, 13), (100, 9), (3, 8)])
def test_weights_are_the_kernel_at_unstretched_distances_divided_by_their_sum(
    method: str, inputs: int, outputs: int
) -> None:
    definition, _ = DEFINITIONS[method]
    expected = np.zeros((outputs, inputs))
    for row in range(outputs):
        centre = (row + 0.5) * inputs / outputs - 0.5
        expected[row] = [definition(abs(column - centre)) for column in range(inputs)]
    expected /= expected.sum(axis=1, keepdims=True)
    # the cubic one is read from a table of 1024 steps
    np.testing.assert_allclose(matrix(method, inputs, outputs), expected, atol=1.5e-3 if method == "bicubic" else 2e-5)


@settings(max_examples=60, deadline=None)
@given(method=st.sampled_from(METHODS), inputs=st.integers(1, 300), outputs=st.integers(1, 300))
def test_weights_sum_to_one_and_taps_lie_inside(method: str, inputs: int, outputs: int) -> None:
    at, weight = compute_taps(method, inputs, outputs)
    assert at.min() >= 0 and at.max() < inputs and len(at) == outputs
    np.testing.assert_allclose(weight.sum(axis=1), 1, atol=1e-9)


@settings(max_examples=40, deadline=None)
@given(
    method=st.sampled_from(METHODS),
    height=st.integers(1, 120),
    width=st.integers(1, 120),
    size=st.integers(1, 100),
    mirror=st.booleans(),
)
def test_resizing_is_the_product_with_both_matrices(
    method: str, height: int, width: int, size: int, mirror: bool
) -> None:
    image = noise(height, width)
    down, across = matrix(method, height, size), matrix(method, width, size)
    expected = down @ (image.transpose(2, 0, 1) / 255) @ across.T
    seen = resize(image, size, method, mirror=mirror)
    assert seen.shape == (3, size, size) and seen.dtype == np.float32
    np.testing.assert_allclose(seen, expected[:, :, ::-1] if mirror else expected, atol=2e-6)


@pytest.mark.parametrize("method", METHODS)
def test_a_plain_surface_stays_plain(method: str) -> None:
    for height, width, size in ((30, 50, 64), (90, 200, 31), (1, 7, 16)):
        np.testing.assert_allclose(
            resize(np.full((height, width, 3), 128, np.uint8), size, method), 128 / 255, atol=1e-6
        )


@pytest.mark.parametrize("method", [m for m in METHODS if m not in ("gaussian", "mitchell")])
def test_at_equal_size_methods_that_interpolate_change_nothing(method: str) -> None:
    image = noise(40, 40)
    np.testing.assert_allclose(resize(image, 40, method), image.transpose(2, 0, 1) / np.float32(255), atol=1e-6)


@pytest.mark.parametrize("method", ["gaussian", "mitchell"])
def test_the_other_two_blur_even_at_equal_size(method: str) -> None:
    image = noise(40, 40)
    assert np.abs(resize(image, 40, method) - image.transpose(2, 0, 1) / 255).max() > 0.05


@pytest.mark.parametrize(("height", "width", "size"), [(37, 91, 64), (200, 150, 48), (64, 64, 64)])
def test_bilinear_and_nearest_agree_with_torch(height: int, width: int, size: int) -> None:
    image = noise(height, width)
    bilinear = F.interpolate(planes(image), (size, size), mode="bilinear", align_corners=False)[0].numpy()
    np.testing.assert_allclose(resize(image, size, "bilinear"), bilinear, atol=1e-5)
    nearest = F.interpolate(planes(image), (size, size), mode="nearest-exact")[0].numpy()
    np.testing.assert_allclose(resize(image, size, "nearest"), nearest, atol=1e-6)


def test_area_agrees_with_torch_at_whole_factors_and_repeats_pixels_when_growing() -> None:
    image = noise(96, 64)
    expected = F.interpolate(planes(image), (32, 32), mode="area")[0].numpy()
    np.testing.assert_allclose(resize(image, 32, "area"), expected, atol=1e-6)
    small = noise(8, 16)
    assert np.allclose(
        resize(small, 32, "area"), np.kron(small.transpose(2, 0, 1), np.ones((1, 4, 2))) / 255, atol=1e-6
    )


def test_area_shares_out_what_lies_on_an_edge() -> None:
    np.testing.assert_allclose(matrix("area", 5, 2), [[0.4, 0.4, 0.2, 0, 0], [0, 0, 0.2, 0.4, 0.4]], atol=1e-12)


@pytest.mark.parametrize(
    ("method", "other"), [("lanczos3", Image.Resampling.LANCZOS), ("bicubic", Image.Resampling.BICUBIC)]
)
def test_growing_by_lanczos_and_cubic_agrees_with_pillow(method: str, other: Image.Resampling) -> None:
    image = noise(30, 44)
    expected = [
        np.asarray(Image.fromarray(c.astype(np.float32) / 255).resize((64, 64), other))
        for c in image.transpose(2, 0, 1)
    ]
    np.testing.assert_allclose(
        resize(image, 64, method), np.stack(expected), atol=3e-3 if method == "bicubic" else 1e-5
    )


def test_a_view_into_a_larger_image_is_enough() -> None:
    image = noise(80, 90)
    for method in METHODS:
        inside = image[10:60, 5:75]
        assert np.array_equal(resize(inside, 40, method), resize(inside.copy(), 40, method))
