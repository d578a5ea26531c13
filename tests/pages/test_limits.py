"""Budgets of the page: complete for two levels, never too many looks for more."""

from __future__ import annotations

from dataclasses import replace

import pytest

import tnet_core as tn
from pages.limits import (
    MAX_LOOKS_PER_TRAVERSAL,
    count_levels,
    count_looks,
    largest_budget,
    opening_budget,
    trained_budget,
)
from tests.support.models import TINY, TINY_3L, picture, tiny


def test_two_levels_are_traversed_completely() -> None:
    assert largest_budget(TINY) == (9,)
    assert largest_budget(tn.preset("lite0-cub")) == (25,)


@pytest.mark.parametrize("trained", [(1, 1), (2, 1), (3, 3), (0, 0), (9, 3), (9, 9), (2, 2, 2)])
def test_more_levels_go_beyond_the_trained_while_looks_are_few(trained: tuple[int, ...]) -> None:
    config = replace(TINY_3L, levels=len(trained) + 1, budget=trained)
    most = largest_budget(config)
    assert all(have >= max(1, want) for have, want in zip(most, trained, strict=True))
    assert max(most) <= config.cells
    # Either nothing more fits, or the trained budget alone is larger.
    more = [tuple(k + (at == level) for at, k in enumerate(most)) for level in range(len(most))]
    assert all(count_looks(budget) > MAX_LOOKS_PER_TRAVERSAL or max(budget) > config.cells for budget in more)


def test_looks_of_a_budget_are_counted_over_all_levels() -> None:
    assert count_looks(()) == 0
    assert count_looks((5,)) == 5
    assert count_looks((3, 2)) == 3 + 6


@pytest.mark.parametrize("budget", [(1,), (3,), (9,)])
@pytest.mark.parametrize("levels", range(3, 13))
def test_levels_beyond_training_stay_within_a_page(budget: tuple[int, ...], levels: int) -> None:
    config = replace(TINY, budget=budget)
    first, most = trained_budget(config, levels), largest_budget(config, levels)
    assert len(first) == len(most) == levels - 1
    assert all(1 <= few <= many for few, many in zip(first, most, strict=True))
    assert count_looks(most) <= MAX_LOOKS_PER_TRAVERSAL
    assert list(most[1:]) == sorted(most[1:], reverse=True) and max(most[1:]) <= most[0]
    assert trained_budget(config, 2) == budget


def test_the_depth_of_a_picture_is_the_cores() -> None:
    for width, height in ((300, 200), (60, 1000), (128, 128), (4000, 10)):
        pixels = picture(height, width)
        expected = tn.Traversal(tiny(TINY), pixels, [1], levels="auto", sampling="native").budget
        assert count_levels(TINY, width, height) == len(expected) + 1


def test_a_page_opens_with_the_looks_of_training() -> None:
    trace = tn.traverse(tiny(TINY), picture(300, 200), (2, 1, 1), levels=4, sampling="native")
    assert opening_budget(trace) == (2, 1, 1)
