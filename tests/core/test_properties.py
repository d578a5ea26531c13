"""Identities that hold for every image, model and question."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import tnet_core as tn
from tests.support.models import TINY, tiny
from tnet_core.records import union_area

pytestmark = pytest.mark.slow

MODELS = [TINY, replace(TINY, weighting=False), replace(TINY, positional="additive", sampling="native")]
few = settings(max_examples=25, deadline=None)


@st.composite
def traces(draw: st.DrawFn) -> tn.Trace:
    config = draw(st.sampled_from(MODELS))
    levels = draw(st.integers(2, 3))
    budget = tuple(draw(st.integers(0, 3)) for _ in range(levels - 1))
    height, width = draw(st.integers(2, 90)), draw(st.integers(2, 90))
    pixels = np.random.default_rng(draw(st.integers(0, 9))).integers(0, 256, (height, width, 3), dtype=np.uint8)
    policy = draw(st.sampled_from(["learned", "random:1", "centre", "raster"]))
    return tn.traverse(tiny(config), pixels, budget=budget, policy=policy, levels=levels)


@few
@given(traces(), st.data())
def test_contributions_are_additive(trace: tn.Trace, data: st.DataObject) -> None:
    count = len(trace.locations)
    subset = data.draw(st.permutations(range(count))) if count else []
    subset = subset[: data.draw(st.integers(0, count))]
    context = data.draw(st.booleans()) if subset else True
    cls, versus = data.draw(st.integers(0, 6)), data.draw(st.none() | st.integers(0, 6))
    logits = trace.logits(subset=subset, context=context).astype(np.float64)
    shares = trace.contributions(cls, versus, subset=subset, context=context)
    expected = logits[cls] - (0 if versus is None else logits[versus])
    assert abs(shares.values.sum() + shares.bias - expected) < 1e-5


@few
@given(traces(), st.data())
def test_the_aggregate_does_not_depend_on_the_order_of_looks(trace: tn.Trace, data: st.DataObject) -> None:
    subset = data.draw(st.permutations(range(len(trace.locations))))
    np.testing.assert_allclose(trace.logits(subset=subset), trace.logits(), atol=1e-5)
    weights = dict(zip([None, *subset], trace.weights(subset=subset), strict=True))
    plain = dict(zip([None, *range(len(subset))], trace.weights(), strict=True))
    for look, weight in plain.items():
        assert abs(weights[look] - weight) < 1e-6


@few
@given(traces())
def test_weights_are_a_distribution_and_boxes_lie_inside_the_image(trace: tn.Trace) -> None:
    for k in range(len(trace.locations) + 1):
        weights = trace.weights(k)
        assert weights.shape == (k + 1,) and (weights >= 0).all() and abs(weights.sum() - 1) < 1e-5
    for look in trace.locations:
        x0, y0, x1, y1 = look.box
        assert 0 <= x0 < x1 <= 1 and 0 <= y0 < y1 <= 1
    for grid in trace.distributions:
        assert abs(grid.probabilities.sum() - 1) < 1e-5
        assert grid.probabilities.max() / grid.probabilities.min() <= np.e**2 * (1 + 1e-5)
    assert all(0 <= share <= 1 + 1e-12 for share in trace.coverage().values())


@few
@given(traces())
def test_smaller_budgets_nest_in_larger_ones(trace: tn.Trace) -> None:
    """The looks of a smaller budget are among those of every larger one."""
    for budget in trace.budgets():
        inside = set(trace.select(budget=budget))
        for level in range(len(budget)):
            if budget[level] < trace.budget[level]:
                larger = (*budget[:level], budget[level] + 1, *budget[level + 1 :])
                assert inside <= set(trace.select(budget=larger))
    assert trace.select(budget=trace.budget) == trace.select()


@few
@given(traces())
def test_json_round_trips(trace: tn.Trace) -> None:
    text = trace.to_json()
    again = tn.Trace.from_json(text)
    assert again.to_json() == text
    np.testing.assert_array_equal(again.logits(), trace.logits())


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(*[st.integers(0, 12)] * 4), max_size=8))
def test_union_area_equals_counting_cells(corners: list[tuple[int, int, int, int]]) -> None:
    boxes = [(min(a, c) / 12, min(b, d) / 12, max(a, c) / 12, max(b, d) / 12) for a, b, c, d in corners]
    canvas = np.zeros((12, 12), dtype=bool)
    for a, b, c, d in corners:
        canvas[min(b, d) : max(b, d), min(a, c) : max(a, c)] = True
    assert abs(union_area(boxes) - canvas.mean()) < 1e-12


@few
@given(st.integers(1, 3), st.integers(0, 9), st.integers(0, 3))
def test_batched_and_single_images_agree(batch: int, seed: int, k: int) -> None:
    model = tiny()
    pixels = np.random.default_rng(seed).integers(0, 256, (batch, 128, 128, 3), dtype=np.uint8)
    images = torch.from_numpy(pixels.astype(np.float32) / 127.5 - 1).permute(0, 3, 1, 2)
    with torch.inference_mode():
        logits = model(images, (k,))
    for one, expected in zip(pixels, logits, strict=True):
        np.testing.assert_allclose(tn.traverse(model, one, budget=(k,)).logits(), expected, atol=1e-3)
