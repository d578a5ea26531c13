"""Orders with hindsight and by chance, and the report that holds the network's own against them."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

import tnet_core as tn
from tests.support.models import TINY, TINY_3L, BackboneCalls, picture, tiny
from tnet_core import explain

CONFIGS = [TINY, replace(TINY, weighting=False), TINY_3L]


def trace_of(config: tn.TNetConfig) -> tn.Trace:
    return tn.traverse(tiny(config), picture(seed=7), budget=(2, 1) if config.levels == 3 else (5,))


def probability(trace: tn.Trace, looks: tuple[int, ...], cls: int, context: bool = True) -> float:
    """Through the public interface; without anything the bias alone."""
    if not looks and not context:
        bias = np.exp(trace.bias.astype(np.float64))
        return float(bias[cls] / bias.sum())
    return float(trace.probabilities(subset=looks, context=context)[cls])


@pytest.mark.parametrize("config", CONFIGS)
@pytest.mark.parametrize("context", [True, False])
def test_every_step_with_hindsight_is_the_best_of_all_steps_that_were_left(
    config: tn.TNetConfig, context: bool
) -> None:
    trace = trace_of(config)
    everything = tuple(range(len(trace.locations)))
    for cls in range(7):
        added = explain.greedy_insertion(trace, cls, context=context)
        assert sorted(added) == list(everything)
        for step, look in enumerate(added):
            reached = {p: probability(trace, (*added[:step], p), cls, context) for p in added[step:]}
            assert reached[look] == pytest.approx(max(reached.values()), abs=1e-6)
        taken = explain.greedy_deletion(trace, cls, context=context)
        assert sorted(taken) == list(everything)
        for step in range(len(taken)):
            rest = [p for p in everything if p not in taken[:step]]
            left = {p: probability(trace, tuple(q for q in rest if q != p), cls, context) for p in rest}
            assert left[taken[step]] == pytest.approx(min(left.values()), abs=1e-6)


@pytest.mark.parametrize("config", CONFIGS)
def test_hindsight_is_never_worse_than_any_order_at_its_first_step(config: tn.TNetConfig) -> None:
    trace = trace_of(config)
    count = len(trace.locations)
    for cls in range(7):
        found = explain.faithfulness(trace, cls, orders=20)
        assert found.insertion.oracle[1] >= found.insertion.network[1] - 1e-9
        assert found.deletion.oracle[1] <= found.deletion.network[1] + 1e-9
        assert (found.insertion.oracle[1] >= found.insertion.random[:, 1] - 1e-9).all()
        best = max(itertools.permutations(range(count)), key=lambda order: probability(trace, order[:1], cls))
        assert found.insertion.oracle[1] == pytest.approx(probability(trace, best[:1], cls), abs=1e-6)


def test_equal_looks_are_taken_in_the_networks_order() -> None:
    trace = trace_of(CONFIGS[1])
    aggregator = trace.aggregator
    aggregator.features[1:], aggregator.projections[1:] = aggregator.features[1], aggregator.projections[1]
    assert explain.greedy_insertion(trace, 0) == explain.greedy_deletion(trace, 0) == (0, 1, 2, 3, 4)


def test_random_orders_are_seeded_shuffles() -> None:
    trace = trace_of(TINY)
    orders = explain.random_orders(trace, 50, seed=3)
    assert orders.shape == (50, 5) and (np.sort(orders, axis=1) == np.arange(5)).all()
    np.testing.assert_array_equal(orders, explain.random_orders(trace, 50, seed=3))
    assert len({tuple(order) for order in orders.tolist()}) > 20
    assert (orders != explain.random_orders(trace, 50, seed=4)).any()
    for count, seed in ((0, 0), (5, -1), (2.5, 0), (5, "x")):
        with pytest.raises(tn.TNetError):
            explain.random_orders(trace, count, seed)  # type: ignore[arg-type]


@pytest.mark.parametrize("config", CONFIGS)
def test_the_report_gathers_what_the_single_functions_say(config: tn.TNetConfig) -> None:
    trace = trace_of(config)
    with BackboneCalls(tiny(config)) as calls:
        found = explain.faithfulness(trace, 3, orders=30, seed=5)
    assert calls.batches == []
    close = {"rtol": 1e-5, "atol": 1e-9}  # sums of float32 in another order
    orders = explain.random_orders(trace, 30, seed=5)
    for course, curve in ((found.insertion, explain.insertion), (found.deletion, explain.deletion)):
        np.testing.assert_allclose(course.network, curve(trace, 3), **close)
        np.testing.assert_allclose(course.oracle, curve(trace, 3, course.oracle_order), **close)
        np.testing.assert_allclose(course.random, [curve(trace, 3, order) for order in orders], **close)
        np.testing.assert_allclose(course.random_mean, course.random.mean(0), **close)
        low, high = course.random_band
        np.testing.assert_allclose(low, np.percentile(course.random, 5, axis=0), **close)
        np.testing.assert_allclose(high, np.percentile(course.random, 95, axis=0), **close)
    for k in range(len(trace.locations) + 1):
        for context, enough, needed in (
            (True, found.sufficiency, found.necessity),
            (False, found.sufficiency_alone, found.necessity_alone),
        ):
            assert enough[k] == pytest.approx(explain.sufficiency(trace, k, 3, context=context), abs=1e-7)
            assert needed[k] == pytest.approx(explain.necessity(trace, k, 3, context=context), abs=1e-7)
    np.testing.assert_array_equal(found.shapley, explain.shapley_values(trace, 3))
    np.testing.assert_array_equal(found.contributions.values, trace.contributions(3).values)
    np.testing.assert_array_equal(found.weights, trace.weights())
    assert list(found.violations) == explain.sign_violations(trace, 3)
    gained = trace.logits()[3] - trace.logits(0)[3]
    assert found.shapley.sum() == pytest.approx(gained, abs=1e-4)


def test_areas_are_means_of_trapezoids_and_orders_are_counted_by_them() -> None:
    assert explain.area(np.array([0.0, 1.0])) == 0.5
    assert explain.area(np.array([0.2, 0.4, 1.0])) == pytest.approx((0.3 + 0.7) / 2)
    trace = trace_of(TINY)
    found = explain.faithfulness(trace, 2)
    ours = explain.area(found.insertion.network)
    areas = [explain.area(explain.insertion(trace, 2, order)) for order in explain.random_orders(trace, 100)]
    assert found.beaten_by_insertion == np.mean([value < ours for value in areas])
    theirs = explain.area(found.deletion.network)
    areas = [explain.area(explain.deletion(trace, 2, order)) for order in explain.random_orders(trace, 100)]
    assert found.beaten_by_deletion == np.mean([value > theirs for value in areas])


def test_progress_is_told_and_too_many_or_no_looks_are_refused() -> None:
    trace = trace_of(TINY)
    steps: list[float] = []
    explain.faithfulness(trace, 0, on_step=lambda share, what: steps.append(share) if what else None)
    assert steps == sorted(steps) and len(steps) > 2 and steps[0] >= 0 and steps[-1] < 1
    for wrong in (7, -1, "no such class", None, 1.5):
        with pytest.raises(tn.TNetError):
            explain.faithfulness(trace, wrong)  # type: ignore[arg-type]
    with pytest.raises(tn.TNetError, match="1 to 12 looks; this trace has 0"):
        explain.faithfulness(trace.only([]), 0)
    long = replace(TINY, grid=4, cell_fraction=0.4, location_rows=(0, 2, 4, 6))
    with pytest.raises(tn.TNetError, match="1 to 12 looks; this trace has 13"):
        explain.faithfulness(tn.traverse(tiny(long), picture(), budget=(13,)), 0)
