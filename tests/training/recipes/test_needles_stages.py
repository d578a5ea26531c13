"""The four stages of `needles`: each starts from the one before; levels are added from below."""

from __future__ import annotations

from itertools import pairwise

import pytest
import torch

import tnet_core as tn
from tests.support.training import ROOT
from training.data import open_split
from training.recipes.reading import read_recipe
from training.recipes.recipe import Recipe

CHECKPOINT = ROOT / "checkpoints" / "tnet-needles"
STAGES = ("needles-stage1", "needles-stage2", "needles-stage3", "needles")


@pytest.fixture(scope="module")
def stages() -> list[Recipe]:
    return [read_recipe(name) for name in STAGES]


def test_each_stage_starts_from_the_one_before(stages: list[Recipe]) -> None:
    assert stages[0].init.weights == "random" and stages[0].init.checkpoint is None
    for before, after in pairwise(stages):
        assert after.init.weights == "checkpoint"
        assert after.init.checkpoint == f"runs/{before.name}/checkpoint"


def test_levels_are_added_from_below_so_that_glyphs_keep_their_size_in_the_closest_look(stages: list[Recipe]) -> None:
    assert [recipe.config.levels for recipe in stages] == [1, 2, 3, 3]
    for recipe in stages:
        config = recipe.config
        closest = recipe.data.needles.canvas * config.cell_fraction ** (config.levels - 1)  # side in pixels
        assert recipe.data.needles.canvas == config.input_size
        assert recipe.data.needles.glyph * config.base_resolution / closest == pytest.approx(12.0, abs=0.1)


def test_all_stages_tell_the_same_classes_apart(stages: list[Recipe]) -> None:
    names = {open_split(recipe.data, "train", seed=recipe.seed).class_names for recipe in stages}
    assert len(names) == 1 and len(names.pop()) == stages[0].config.num_classes


def test_what_the_location_map_sees_is_centred_on_the_cells(stages: list[Recipe]) -> None:
    model = tn.load(str(CHECKPOINT), device="cpu")
    assert model.config == stages[-1].config
    side = model.config.base_resolution
    images = torch.rand(8, 3, side, side, generator=torch.Generator().manual_seed(0)).mul(2).sub(1).requires_grad_()
    location_map, _ = model.features(images)
    assert location_map is not None
    for row, centre in enumerate((side / 4, side / 2, 3 * side / 4)):
        (seen,) = torch.autograd.grad(location_map[:, :, row].square().sum(), images, retain_graph=True)
        weight = seen.abs().sum((0, 1, 3))  # by line of the image
        assert float((weight * (torch.arange(side) + 0.5)).sum() / weight.sum()) == pytest.approx(centre, abs=5)


def test_only_one_needle_is_measured_on_and_the_thumbnail_shows_where_it_may_be(stages: list[Recipe]) -> None:
    section = stages[-1].data.needles
    assert (section.needles, section.decoys) == (1, 0)  # no other pale pebble
    canvases = open_split(stages[-1].data, "validation", seed=stages[-1].seed)
    assert {len(canvases[index].boxes) for index in range(5)} == {1}
