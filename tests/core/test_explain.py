"""Explanations against their definitions, computed the slow way."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Literal

import numpy as np
import pytest

import tnet_core as tn
from tests.support.models import TINY, TINY_3L, picture, tiny
from tnet_core import explain
from tnet_core.trace.aggregation import Aggregator

CONFIGS = [TINY, replace(TINY, weighting=False), TINY_3L]


def trace_of(config: tn.TNetConfig) -> tn.Trace:
    return tn.traverse(tiny(config), picture(seed=7), budget=(2, 1) if config.levels == 3 else (4,))


def worth(trace: tn.Trace, context: bool) -> Callable[[tuple[int, ...]], float]:
    """Lead of class 1 over class 4 for a set of looks, through the public API."""

    def value(subset: tuple[int, ...]) -> float:
        if not subset and not context:
            return float(trace.bias[1] - trace.bias[4])
        logits = trace.logits(subset=subset, context=context)
        return float(logits[1]) - float(logits[4])

    return value


@pytest.mark.parametrize("config", CONFIGS)
@pytest.mark.parametrize("context", [True, False])
def test_shapley_values_equal_the_average_over_all_orders(config: tn.TNetConfig, context: bool) -> None:
    trace = trace_of(config)
    value, count = worth(trace, context), len(trace.locations)
    expected = np.zeros(count)
    for order in itertools.permutations(range(count)):
        for i, look in enumerate(order):
            expected[look] += value(order[: i + 1]) - value(order[:i])
    expected /= math.factorial(count)
    shares = explain.shapley_values(trace, 1, 4, context=context)
    np.testing.assert_allclose(shares, expected, atol=1e-5)
    assert shares.sum() == pytest.approx(value(tuple(range(count))) - value(()), abs=1e-5)


@pytest.mark.parametrize("context", [True, False])
def test_interactions_equal_their_definition(context: bool) -> None:
    trace = trace_of(TINY)
    value, count = worth(trace, context), 4
    table = explain.interactions(trace, 1, 4, context=context)
    for i, j in itertools.combinations(range(count), 2):
        others = [look for look in range(count) if look not in (i, j)]
        expected = 0.0
        for size in range(len(others) + 1):
            weight = math.factorial(size) * math.factorial(count - size - 2) / math.factorial(count - 1)
            for rest in itertools.combinations(others, size):
                expected += weight * (value((*rest, i, j)) - value((*rest, i)) - value((*rest, j)) + value(rest))
        assert table[i, j] == table[j, i] == pytest.approx(expected, abs=1e-5)
    assert (np.diag(table) == 0).all()


def test_two_identical_looks_share_alike() -> None:
    model = tiny()
    image = np.full((128, 128, 3), 90, np.uint8)  # every cell looks the same but for its position
    trace = tn.traverse(model, image, budget=(3,))
    features, projections = trace.features.copy(), trace.projections.copy()
    features[1:], projections[1:] = features[1], projections[1]
    trace.aggregator = Aggregator(features, projections, trace.bias, uniform=False, weighting=model.weighting)
    shares = explain.shapley_values(trace, 1)
    np.testing.assert_allclose(shares, shares[0], atol=1e-6)


def test_up_to_twelve_looks_are_enumerated_and_more_refused() -> None:
    config = replace(TINY, grid=4, cell_fraction=0.4, location_rows=(0, 2, 4, 6))
    twelve = tn.traverse(tiny(config), picture(), budget=(12,))
    assert explain.shapley_values(twelve, 0).shape == (12,)
    thirteen = tn.traverse(tiny(config), picture(), budget=(13,))
    with pytest.raises(tn.TNetError, match="at most 12 looks; this trace has 13"):
        explain.shapley_values(thirteen, 0)


@pytest.mark.parametrize("config", CONFIGS)
@pytest.mark.parametrize("context", [True, False])
def test_leaving_one_out_equals_asking_for_the_rest(config: tn.TNetConfig, context: bool) -> None:
    trace = trace_of(config)
    value, everything = worth(trace, context), tuple(range(len(trace.locations)))
    result = explain.leave_one_out(trace, 1, 4, context=context)
    assert result.full == pytest.approx(value(everything), abs=1e-5)
    for look in everything:
        rest = tuple(p for p in everything if p != look)
        assert result.looks[look] == pytest.approx(value(everything) - value(rest), abs=1e-5)
    if context:
        assert result.context == pytest.approx(value(everything) - worth(trace, False)(everything), abs=1e-5)
    else:
        assert result.context is None


@pytest.mark.parametrize("measure", ["logit", "probability"])
def test_what_remains_without_each_look_can_be_asked_of_any_set(measure: Literal["logit", "probability"]) -> None:
    trace = trace_of(TINY_3L)
    for chosen in ((2, 0), (0,), (1, 0, 3)):
        result = explain.leave_one_out(trace, 1, subset=chosen, measure=measure)

        def value(rest: list[int], context: bool = True) -> float:
            ask = trace.logits if measure == "logit" else trace.probabilities
            return float(ask(subset=rest, context=context)[1])

        rests = [[p for p in chosen if p != look] for look in chosen]  # looks inside the one that goes stay
        expected = [value(list(chosen), context=False), *map(value, rests)]
        assert result.without == pytest.approx(expected, abs=1e-5)
    assert explain.leave_one_out(trace, 1, k=0).without == [None]  # nothing would remain


@pytest.mark.parametrize("config", CONFIGS)
@pytest.mark.parametrize("measure", ["logit", "probability"])
def test_disagreeing_signs_are_found(config: tn.TNetConfig, measure: Literal["logit", "probability"]) -> None:
    met = 0
    for seed in range(4):
        trace = tn.traverse(tiny(config), picture(seed=seed), budget=(2, 1) if config.levels == 3 else (4,))
        for cls, versus, context in itertools.product((0, 1), (None, 2), (True, False)):
            shares = trace.contributions(cls, versus, context=context)
            left = explain.leave_one_out(trace, cls, versus, measure=measure, context=context)
            effects = {None: left.context, **dict(enumerate(left.looks))}
            expected = {
                look: (value, effects[look])
                for look, value in zip(shares.looks, shares.values, strict=True)
                if value * effects[look] < 0
            }
            found = explain.sign_disagreements(trace, cls, versus, measure=measure, context=context)
            assert {one.look: (one.contribution, one.effect) for one in found} == expected
            sizes = [abs(one.effect) for one in found]
            assert sizes == sorted(sizes, reverse=True)
            met += len(found)
    assert met > 0


def test_probabilities_can_be_asked_for_instead_of_logits() -> None:
    trace = trace_of(TINY)
    result = explain.leave_one_out(trace, 1, measure="probability")
    assert result.full == pytest.approx(trace.probabilities()[1], abs=1e-6)
    without_first = trace.probabilities(subset=[1, 2, 3])[1]
    assert result.looks[0] == pytest.approx(result.full - without_first, abs=1e-6)
    with pytest.raises(tn.TNetError, match="'logit' or 'probability'"):
        explain.leave_one_out(trace, 1, measure="odds")  # type: ignore[arg-type]


@pytest.mark.parametrize("context", [True, False])
def test_sufficiency_and_necessity(context: bool) -> None:
    trace = trace_of(TINY)
    for k in range(1, 4):
        alone = trace.probabilities(k, context=context)[2]
        assert explain.sufficiency(trace, k, 2, context=context) == pytest.approx(alone, abs=1e-6)
        full = trace.probabilities(context=context)[2]
        rest = trace.probabilities(subset=range(k, 4), context=context)[2]
        assert explain.necessity(trace, k, 2, context=context) == pytest.approx(full - rest, abs=1e-6)
    assert explain.necessity(trace, 0, 2, context=context) == 0


def test_insertion_and_deletion_follow_the_given_order() -> None:
    trace = trace_of(TINY)
    order = [2, 0, 3, 1]
    inserted, deleted = explain.insertion(trace, 5, order), explain.deletion(trace, 5, order)
    assert len(inserted) == len(deleted) == 5
    for count in range(5):
        assert inserted[count] == pytest.approx(trace.probabilities(subset=order[:count])[5], abs=1e-6)
        assert deleted[count] == pytest.approx(trace.probabilities(subset=order[count:])[5], abs=1e-6)
    np.testing.assert_allclose(explain.insertion(trace, 5), [trace.probabilities(k)[5] for k in range(5)], atol=1e-6)
    # Without context nothing is left at the end: the bias alone.
    bias = np.exp(trace.bias - trace.bias.max())
    assert explain.deletion(trace, 5, context=False)[-1] == pytest.approx(bias[5] / bias.sum(), abs=1e-6)
    with pytest.raises(tn.TNetError, match="each of the 4 looks once"):
        explain.insertion(trace, 5, [0, 1])


def test_sign_violations_are_heavy_looks_that_argue_against_the_class() -> None:
    trace = trace_of(TINY)
    found = {(cls, violation.look) for cls in range(7) for violation in explain.sign_violations(trace, cls)}
    weights = trace.weights()
    expected = {
        (cls, None if row == 0 else row - 1)
        for cls in range(7)
        for row, value in enumerate(trace.contributions(cls).values)
        if weights[row] > 1 / 5 and value < 0
    }
    assert found == expected and found
    for cls in range(7):
        values = [violation.contribution for violation in explain.sign_violations(trace, cls)]
        assert values == sorted(values)  # the worst first
    assert explain.sign_violations(trace_of(CONFIGS[1]), 0) == []  # an even weight is never high


def test_adaptive_stopping_takes_the_first_margin_above_the_threshold() -> None:
    trace = trace_of(TINY)
    margins = []
    for k in range(5):
        best = np.sort(trace.probabilities(k))[::-1]
        margins.append(best[0] - best[1])
    for threshold in (0.0, *(m - 1e-6 for m in margins), 1.0):
        stop = explain.adaptive_stop(trace, float(np.clip(threshold, 0, 1)))
        above = [k for k in range(5) if margins[k] > threshold]
        assert stop.k == (above[0] if above else 4)
        assert stop.reached == bool(above)
        assert stop.prediction == int(trace.logits(stop.k).argmax())
        assert stop.flops == tn.flops(TINY, (stop.k,))
        assert stop.flops_saved == tn.flops(TINY, (4,)) - stop.flops
    np.testing.assert_allclose(stop.margins, margins, atol=1e-6)
    for bad in (-0.1, 1.5, float("nan"), "x"):
        with pytest.raises(tn.TNetError, match="probability margin"):
            explain.adaptive_stop(trace, bad)


def test_a_margin_equal_to_the_threshold_does_not_stop() -> None:
    trace = trace_of(TINY)
    margins = explain.adaptive_stop(trace, 1.0).margins
    stop = explain.adaptive_stop(trace, float(margins[0]))
    assert stop.k != 0


def test_questions_about_prefixes_need_no_model() -> None:
    trace = trace_of(TINY)
    again = tn.Trace.from_json(trace.to_json())
    assert explain.adaptive_stop(again, 0.3).k == explain.adaptive_stop(trace, 0.3).k
    np.testing.assert_array_equal(explain.insertion(again, 2), explain.insertion(trace, 2))
    assert explain.sufficiency(again, 2, 1) == explain.sufficiency(trace, 2, 1)
    with pytest.raises(tn.TNetError, match="attach"):
        explain.deletion(again, 2)
