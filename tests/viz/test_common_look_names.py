"""Names of looks, and budgets that differ."""

from __future__ import annotations

import pytest

import tnet_core as tn
from tests.support.models import TINY, TINY_3L, picture, tiny
from viz.common.payload import list_distinct_budgets
from viz.common.text import list_look_names


@pytest.fixture(scope="module")
def deep() -> tn.Trace:
    return tn.traverse(tiny(TINY_3L), picture(seed=3), budget=(3, 2))


def test_looks_are_called_by_their_place_in_the_tree(trace: tn.Trace, deep: tn.Trace) -> None:
    assert list_look_names(trace) == tuple(str(n) for n in range(1, 10))
    assert list_look_names(deep) == ("1", "2", "3", "1.1", "1.2", "2.1", "2.2", "3.1", "3.2")


@pytest.mark.parametrize("budget", [(0, 0), (1, 0), (2, 1), (1, 2), (3, 2), (0, 2)])
def test_looks_keep_their_names_at_every_budget(deep: tn.Trace, budget: tuple[int, int]) -> None:
    smaller = tn.traverse(tiny(TINY_3L), picture(seed=3), budget=budget)
    assert [list_look_names(deep)[p] for p in deep.select(budget=budget)] == list(list_look_names(smaller))


def test_limits_that_differ_are_told_once() -> None:
    trace = tn.traverse(tiny(TINY), picture(300, 200), (2, 1, 1), levels=4, sampling="native")
    sets = [trace.select(budget=budget) for budget in list_distinct_budgets(trace)]
    assert len(set(sets)) == len(sets)
    assert set(sets) == {trace.select(budget=budget) for budget in trace.budgets()}
