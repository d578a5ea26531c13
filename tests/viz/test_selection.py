"""Names of looks, and budgets of the page."""

from __future__ import annotations

from dataclasses import replace

import pytest

import tnet_core as tn
from tests.support.models import TINY, TINY_3L, picture, tiny
from viz.budgets import MOST_LOOKS, deepest, distinct, largest, looks_of, opening, trained
from viz.common.selection import labels


@pytest.fixture(scope="module")
def deep() -> tn.Trace:
    return tn.traverse(tiny(TINY_3L), picture(seed=3), budget=(3, 2))


def test_looks_are_called_by_their_place_in_the_tree(trace: tn.Trace, deep: tn.Trace) -> None:
    assert labels(trace) == tuple(str(n) for n in range(1, 10))
    assert labels(deep) == ("1", "2", "3", "1.1", "1.2", "2.1", "2.2", "3.1", "3.2")


@pytest.mark.parametrize("budget", [(0, 0), (1, 0), (2, 1), (1, 2), (3, 2), (0, 2)])
def test_looks_keep_their_names_at_every_budget(deep: tn.Trace, budget: tuple[int, int]) -> None:
    smaller = tn.traverse(tiny(TINY_3L), picture(seed=3), budget=budget)
    assert [labels(deep)[p] for p in deep.select(budget=budget)] == list(labels(smaller))


def test_two_levels_are_traversed_completely() -> None:
    assert largest(TINY) == (9,)
    assert largest(tn.preset("lite0-cub")) == (25,)


@pytest.mark.parametrize("trained", [(1, 1), (2, 1), (3, 3), (0, 0), (9, 3), (9, 9), (2, 2, 2)])
def test_more_levels_go_beyond_the_trained_budget_while_looks_are_few(trained: tuple[int, ...]) -> None:
    config = replace(TINY_3L, levels=len(trained) + 1, budget=trained)
    most = largest(config)
    assert all(have >= max(1, want) for have, want in zip(most, trained, strict=True))
    assert max(most) <= config.cells
    # Either nothing more fits, or the trained budget alone is larger.
    more = [tuple(k + (at == level) for at, k in enumerate(most)) for level in range(len(most))]
    assert all(looks_of(budget) > MOST_LOOKS or max(budget) > config.cells for budget in more)


def test_looks_of_a_budget_are_counted_over_all_levels() -> None:
    assert looks_of(()) == 0
    assert looks_of((5,)) == 5
    assert looks_of((3, 2)) == 3 + 6


@pytest.mark.parametrize("budget", [(1,), (3,), (9,)])
@pytest.mark.parametrize("levels", range(3, 13))
def test_levels_beyond_training_stay_within_a_page(budget: tuple[int, ...], levels: int) -> None:
    config = replace(TINY, budget=budget)
    first, most = trained(config, levels), largest(config, levels)
    assert len(first) == len(most) == levels - 1
    assert all(1 <= few <= many for few, many in zip(first, most, strict=True))
    assert looks_of(most) <= MOST_LOOKS
    assert list(most[1:]) == sorted(most[1:], reverse=True) and max(most[1:]) <= most[0]
    assert trained(config, 2) == budget


def test_the_depth_of_a_picture_is_the_cores() -> None:
    for width, height in ((300, 200), (60, 1000), (128, 128), (4000, 10)):
        pixels = picture(height, width)
        expected = tn.Traversal(tiny(TINY), pixels, [1], levels="auto", sampling="native").budget
        assert deepest(TINY, width, height) == len(expected) + 1


def test_budgets_that_differ_are_told_once() -> None:
    trace = tn.traverse(tiny(TINY), picture(300, 200), (2, 1, 1), levels=4, sampling="native")
    sets = [trace.select(budget=budget) for budget in distinct(trace)]
    assert len(set(sets)) == len(sets)
    assert set(sets) == {trace.select(budget=budget) for budget in trace.budgets()}
    assert opening(trace) == (2, 1, 1)
