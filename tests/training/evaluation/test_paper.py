"""Whether the paper's numbers beside a model are those of the same model."""

from __future__ import annotations

from dataclasses import replace

import pytest

import tnet_core as tn
from training.evaluation.compare import PaperReference, compare_architecture, find_preset
from training.recipes.reading import list_recipes, read_recipe


@pytest.mark.slow
def test_every_recipe_of_the_paper_stands_beside_its_own_numbers_and_ours_beside_the_nearest() -> None:
    recipes = [recipe for recipe in map(read_recipe, list_recipes()) if recipe.paper]
    ours = {recipe.name for recipe in recipes if compare_architecture(recipe.config, recipe.paper)}
    assert ours == {name for name in (recipe.name for recipe in recipes) if name.startswith("lite")} != set()
    assert all(find_preset(recipe.paper) for recipe in recipes)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"dropout": 0.1, "budget": (2,), "name": "mine"}, ""),
        ({"backbone": "tf_efficientnet_lite0"}, "another backbone"),
        ({"backbone_scale": (0.5, 0.5)}, "another backbone"),
        ({"base_resolution": 160}, "another architecture"),
        ({"input_size": 600}, "another architecture"),
        ({"grid": 7}, "another architecture"),
        ({"weighting": False}, "another architecture"),
        ({"num_classes": 20}, "another architecture"),
    ],
)
def test_what_sets_a_model_apart_is_said(change: dict[str, object], said: str) -> None:
    assert compare_architecture(replace(tn.preset("cub-b0"), **change), "cub:TNet-B0") == said  # type: ignore[arg-type]


@pytest.mark.parametrize("selector", ["cub:API-Net", "cub:TNet-B9", "fmow:TNet", "ablation:Saccader, for comparison"])
def test_a_row_that_no_preset_stands_for_is_never_the_same_model(selector: str) -> None:
    assert compare_architecture(tn.preset("imagenet-bagnet77"), selector) == "another architecture"


def test_headings_tell_the_two_apart() -> None:
    assert PaperReference("cub:TNet-B0").heading == "cub:TNet-B0, its own data split and training"
    assert PaperReference("cub:TNet-B0", "another backbone").heading == (
        "cub:TNet-B0, nearest model of the paper (another backbone, trained on other images)"
    )
