"""Lift over uniform, and the ends of its scale."""

from __future__ import annotations

import math

import numpy as np
import pytest

from viz.common.text import compute_lift_bounds


@pytest.mark.parametrize("cells", [4, 9, 25, 100])
def test_no_unit_length_logits_leave_the_scale(cells: int) -> None:
    low, high = compute_lift_bounds(cells)
    generator = np.random.default_rng(cells)
    logits = generator.normal(size=(20_000, cells)) ** generator.choice([1, 3, 5], size=(20_000, 1))
    logits /= np.linalg.norm(logits, axis=1, keepdims=True)
    exponentials = np.exp(logits)
    lift = cells * exponentials / exponentials.sum(1, keepdims=True)
    assert low <= lift.min()
    assert lift.max() <= high


@pytest.mark.parametrize("cells", [4, 9, 25, 100])
def test_the_ends_of_the_scale_are_reached(cells: int) -> None:
    one_against_all = np.full(cells, -1 / math.sqrt(cells * (cells - 1)))
    one_against_all[0] = math.sqrt((cells - 1) / cells)
    assert np.linalg.norm(one_against_all) == pytest.approx(1)
    for logits, bound in zip((-one_against_all, one_against_all), compute_lift_bounds(cells), strict=True):
        assert cells * np.exp(logits)[0] / np.exp(logits).sum() == pytest.approx(bound)


def test_twenty_five_cells_stay_between_a_third_and_two_and_a_half() -> None:
    assert compute_lift_bounds(25) == pytest.approx((0.37, 2.59), abs=0.005)
