"""The three stages of `needles`: each starts from the one before and adds a level above it."""

from __future__ import annotations

from itertools import pairwise

import pytest

from tnet_core.modules.features import location_map
from training.data import open_split
from training.recipe import Recipe
from training.recipe_file import read_recipe

STAGES = ("needles-stage1", "needles-stage2", "needles")


@pytest.fixture(scope="module")
def stages() -> list[Recipe]:
    return [read_recipe(name) for name in STAGES]


def test_each_stage_starts_from_the_one_before(stages: list[Recipe]) -> None:
    assert stages[0].init.weights == "random" and stages[0].init.checkpoint is None
    for before, after in pairwise(stages):
        assert after.init.weights == "checkpoint"
        assert after.init.checkpoint == f"runs/{before.name}/checkpoint"


def test_each_stage_adds_a_level_and_glyphs_keep_their_size_in_the_closest_look(stages: list[Recipe]) -> None:
    assert [recipe.config.levels for recipe in stages] == [1, 2, 3]
    for recipe in stages:
        config = recipe.config
        closest = recipe.data.needles.canvas * config.cell_fraction ** (config.levels - 1)  # side in pixels
        assert recipe.data.needles.canvas == config.input_size
        assert recipe.data.needles.glyph * config.base_resolution / closest == pytest.approx(11.4, abs=0.1)


def test_all_stages_tell_the_same_classes_apart(stages: list[Recipe]) -> None:
    names = {open_split(recipe.data, "train", seed=recipe.seed).class_names for recipe in stages}
    assert len(names) == 1 and len(names.pop()) == stages[0].config.num_classes


def test_rows_of_the_location_map_lie_in_the_middle_of_the_cells(stages: list[Recipe]) -> None:
    config = stages[-1].config
    chosen = location_map(config)
    assert chosen.block == "blocks.3.1"
    step = config.base_resolution // 4  # cells of half a side, a quarter apart
    assert [row * 16 for row in chosen.rows] == [step, 2 * step, 3 * step]


def test_only_one_needle_is_measured_on_and_the_thumbnail_shows_where_it_may_be(stages: list[Recipe]) -> None:
    section = stages[-1].data.needles
    assert (section.needles, section.decoys) == (1, 0)  # no other pale pebble
    canvases = open_split(stages[-1].data, "validation", seed=stages[-1].seed)
    assert {len(canvases[index].boxes) for index in range(5)} == {1}
