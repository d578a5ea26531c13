"""The whole augmentation, and the view for measuring."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from tests.support.models import TINY
from tests.training.data_files import picture
from tnet_core.imageio.source import ImageSource
from tnet_core.sampling.frame import Sampler
from training.data.augment import Augment, make_evaluation_view
from training.data.sample import Sample
from training.recipes.recipe import AugmentSection

PLAIN = AugmentSection(min_area=1.0, interpolation="bilinear", flip=False)
BIRDS = AugmentSection(translate=0.1, rotate=20)
COLOUR = AugmentSection(colour=True)


def sample(height: int = 60, width: int = 80, seed: int = 0) -> Sample:
    return Sample(picture(seed, height, width), 0, "a/b")


@pytest.mark.parametrize(
    ("height", "width", "size"), [(60, 80, 64), (300, 211, 96), (64, 64, 64), (20, 400, 64), (1, 1, 32)]
)
def test_the_evaluation_view_is_the_official_sampling_of_the_whole_image(height: int, width: int, size: int) -> None:
    image = np.random.default_rng(0).integers(0, 256, (height, width, 3), dtype=np.uint8)
    config = dataclasses.replace(TINY, input_size=size, base_resolution=size)
    sampler = Sampler(ImageSource.open(image), config, "official")
    official, _ = sampler.read(sampler.whole())
    view = make_evaluation_view(image, size)
    assert view.shape == (3, size, size) and view.dtype == np.float32 and view.flags.c_contiguous
    np.testing.assert_allclose(view, official.transpose(2, 0, 1), atol=1e-6)


def test_the_evaluation_view_is_torch_bilinear_interpolation() -> None:
    image = np.random.default_rng(1).integers(0, 256, (75, 133, 3), dtype=np.uint8)
    tensor = torch.from_numpy(image).permute(2, 0, 1)[None].float() / 255
    expected = F.interpolate(tensor, (56, 56), mode="bilinear", align_corners=False, antialias=False)[0] * 2 - 1
    np.testing.assert_allclose(make_evaluation_view(image, 56), expected.numpy(), atol=2e-5)


def test_a_read_only_image_can_be_viewed_and_augmented() -> None:
    one = sample()
    one.image.setflags(write=False)
    before = one.image.copy()
    make_evaluation_view(one.image, 60)
    Augment(BIRDS, 60)(one, np.random.default_rng(0))
    assert np.array_equal(one.image, before)


@pytest.mark.parametrize("section", [AugmentSection(), BIRDS, COLOUR])
def test_the_same_generator_state_gives_the_same_picture(section: AugmentSection) -> None:
    augment = Augment(section, 48)
    first = [augment(sample(), np.random.default_rng(seed)) for seed in range(12)]
    again = [Augment(section, 48)(sample(), np.random.default_rng(seed)) for seed in range(12)]
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
    assert len({a.tobytes() for a in first}) == len(first)
    assert all(a.shape == (3, 48, 48) and a.dtype == np.float32 and np.isfinite(a).all() for a in first)


def test_with_everything_off_the_whole_image_is_seen_as_in_evaluation() -> None:
    one = sample(64, 64)
    section = dataclasses.replace(PLAIN, aspect=(1.0, 1.0))
    assert np.array_equal(Augment(section, 40)(one, np.random.default_rng(3)), make_evaluation_view(one.image, 40))


def test_about_half_of_the_pictures_are_flipped() -> None:
    one = sample(64, 64)
    augment = Augment(dataclasses.replace(PLAIN, aspect=(1.0, 1.0), flip=True), 40)
    straight = make_evaluation_view(one.image, 40)
    generator = np.random.default_rng(0)
    flipped = 0
    for _ in range(200):
        seen = augment(one, generator)
        is_straight = np.allclose(seen, straight, atol=1e-6)
        assert is_straight or np.allclose(seen, straight[:, :, ::-1], atol=1e-6)
        flipped += not is_straight
    assert 70 < flipped < 130


def test_only_shifted_and_turned_pictures_show_black_corners() -> None:
    white = Sample(np.full((50, 50, 3), 255, np.uint8), 0, "a/b")
    for section, black in ((AugmentSection(), False), (COLOUR, False), (BIRDS, True)):
        seen = np.stack([Augment(section, 32)(white, np.random.default_rng(seed)) for seed in range(8)])
        assert (seen.min() == -1) == black
        assert seen.max() == pytest.approx(1, abs=1e-5)


def test_colours_are_clipped_and_overshoot_is_not() -> None:
    hard = Sample(
        np.kron(np.indices((10, 10)).sum(0) % 2, np.ones((6, 6)))[..., None].repeat(3, 2).astype(np.uint8) * 255,
        0,
        "a/b",
    )
    plain = np.stack([Augment(AugmentSection(), 80)(hard, np.random.default_rng(seed)) for seed in range(16)])
    assert plain.max() > 1.01 and plain.min() < -1.01
    coloured = [Augment(COLOUR, 80)(hard, np.random.default_rng(seed)) for seed in range(40)]
    inside = [a for a in coloured if a.max() <= 1 and a.min() >= -1]
    assert 20 < len(inside) < 40  # four of five variants clip, the fifth leaves what a kernel did
