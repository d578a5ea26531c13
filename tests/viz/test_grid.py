"""The figure of lift over uniform."""

from __future__ import annotations

import math

import numpy as np
import pytest

import tnet_core as tn
from tests.support.models import picture, tiny
from viz import grid


@pytest.mark.parametrize("cells", [4, 9, 25, 100])
def test_no_unit_length_logits_leave_the_scale(cells: int) -> None:
    low, high = grid.lift_bounds(cells)
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
    for logits, bound in zip((-one_against_all, one_against_all), grid.lift_bounds(cells), strict=True):
        assert cells * np.exp(logits)[0] / np.exp(logits).sum() == pytest.approx(bound)


def test_twenty_five_cells_stay_between_a_third_and_two_and_a_half() -> None:
    assert grid.lift_bounds(25) == pytest.approx((0.37, 2.59), abs=0.005)


def test_cells_show_the_lift_of_the_trace(trace: tn.Trace) -> None:
    heat = grid.figure(trace, 9).data[0]
    lift = trace.distributions[0].lift
    np.testing.assert_allclose(heat.customdata, lift, rtol=1e-6)
    np.testing.assert_allclose(np.exp2(np.array(heat.z)), lift, rtol=1e-5)


def test_the_scale_does_not_depend_on_the_picture(trace: tn.Trace) -> None:
    other = tn.traverse(tiny(), picture(seed=9), budget=(9,))
    first, second = (grid.figure(t, 2).data[0] for t in (trace, other))
    assert (first.zmin, first.zmax) == (second.zmin, second.zmax)
    np.testing.assert_allclose((2**first.zmin, 2**first.zmax), grid.lift_bounds(9))


def test_looks_are_numbered_in_their_cells_and_the_newest_is_outlined(trace: tn.Trace) -> None:
    figure = grid.figure(trace, 3)
    flat = [label for row in figure.data[0].text for label in row]
    for position, look in enumerate(trace.locations):
        assert flat[look.index].startswith(f"<b>{position + 1}</b>") is (position < 3)
    (outline,) = figure.layout.shapes
    row, column = divmod(trace.locations[2].index, 3)
    assert (outline.x0 < column < outline.x1) and (outline.y0 < row < outline.y1)
    assert not grid.figure(trace, 0).layout.shapes


def test_the_caption_says_why_probabilities_would_look_flat(trace: tn.Trace) -> None:
    assert "L2-normalised before the softmax" in grid.caption(trace)


def test_a_model_without_a_grid_says_so() -> None:
    plain = tn.TNetConfig(
        backbone="tf_efficientnet_b0", backbone_scale=(0.25, 0.25), num_classes=7, input_size=64, base_resolution=64,
        levels=1, budget=(), location="none", positional="none", weighting=False,
    )  # fmt: skip
    trace = tn.traverse(tn.build(plain), picture())
    assert "no grid" in grid.caption(trace)
    assert not grid.figure(trace, 0).data
