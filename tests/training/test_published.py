"""Recipes and the paper's numbers."""

from __future__ import annotations

from tnet_core.published import paper_rows
from training.recipes.reading import read_recipe, recipe_names


def test_every_recipe_that_names_rows_of_the_paper_names_existing_ones() -> None:
    named = [recipe.paper for recipe in map(read_recipe, recipe_names()) if recipe.paper]
    assert len(named) >= 20
    for selector in named:
        assert paper_rows(selector), selector
