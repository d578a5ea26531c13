"""Temperatures and stopping rules: small cases by hand, and what must hold for any numbers."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.evaluation import PLAIN, THREE, TWO, Canvases, varied
from tnet_core.stopping import HIGHEST_TEMPERATURE, LOWEST_TEMPERATURE, StoppingRule, find_stop
from training.evaluation.calibration import (
    compute_confidence,
    compute_likelihood,
    fit_temperature,
    read_calibration,
    report_calibration,
    split_halves,
)
from training.evaluation.measure import Results
from training.evaluation.plan import Options
from training.evaluation.run import evaluate
from training.evaluation.stopping import (
    MAX_CHANGED,
    MEAN_LOOKS,
    apply_rule,
    choose_rule,
    find_stops,
    list_rules,
    read_rule,
    report_rule,
)
from training.evaluation.table import format_evaluation

SURE = np.log(9.0)  # two classes, one of which has 0.9


def drawn(seed: int, images: int = 60, classes: int = 5, steps: int = 4) -> Results:
    """Return results as an evaluation measures them: logits that grow with the looks, labels that fit them mostly."""
    generator = np.random.default_rng(seed)
    labels = generator.integers(0, classes, images)
    logits = generator.normal(size=(images, steps, classes))
    logits[np.arange(images), :, labels] += 1.5
    logits *= np.arange(1, steps + 1)[:, None]
    logits -= logits.max(2, keepdims=True)
    return {
        "stop/logits": logits.astype(np.float16),
        "stop/prediction": logits.argmax(2).astype(np.int32),
        "label": labels,
        "crc": generator.integers(0, 2**32, images).astype(np.uint32),
    }


# The temperature ------------------------------------------------------------------------------------


def test_the_temperature_makes_the_probability_the_share_of_right_answers() -> None:
    # says 0.9, is right in 3 of 4: the likelihood is highest where it says 0.75, at log 9 / T = log 3
    logits = np.tile([SURE, 0.0], (8, 1, 1))
    labels = np.array([0, 0, 0, 1] * 2)
    assert fit_temperature(logits, labels) == pytest.approx(2.0, rel=1e-3)
    assert compute_confidence(logits, 2.0) == pytest.approx(np.full((8, 1), 0.75))


def test_a_network_that_says_too_little_gets_a_temperature_below_one() -> None:
    logits = np.tile([np.log(1.5), 0.0], (10, 2, 1))  # says 0.6, is right in 9 of 10
    labels = np.array([0] * 9 + [1])
    assert fit_temperature(logits, labels) == pytest.approx(np.log(1.5) / SURE, rel=3e-3)  # three digits


def test_a_temperature_stays_within_its_bounds() -> None:
    logits = np.tile([1.0, 0.0], (6, 1, 1))
    assert fit_temperature(logits, np.zeros(6, dtype=np.int64)) == LOWEST_TEMPERATURE  # always right
    assert fit_temperature(logits, np.ones(6, dtype=np.int64)) == HIGHEST_TEMPERATURE  # always wrong


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10_000), temperature=st.floats(LOWEST_TEMPERATURE, HIGHEST_TEMPERATURE))
def test_no_temperature_is_likelier_than_the_one_chosen(seed: int, temperature: float) -> None:
    results = drawn(seed, images=20)
    logits, labels = results["stop/logits"], results["label"]
    best = compute_likelihood(logits, labels, fit_temperature(logits, labels))
    assert best >= compute_likelihood(logits, labels, temperature) - 1e-4


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(0, 2**32 - 1), min_size=2, max_size=40))
def test_halves_share_no_image_and_do_not_depend_on_the_order(crc: list[int]) -> None:
    half = split_halves(np.array(crc, dtype=np.uint32))
    assert abs(int((half == 0).sum()) - int((half == 1).sum())) <= 1
    if len(set(crc)) == len(crc):
        turned = split_halves(np.array(crc[::-1], dtype=np.uint32))[::-1]
        assert np.array_equal(half, turned)


def test_an_image_is_measured_with_the_temperature_of_the_other_half() -> None:
    results = drawn(0, images=40)
    half = split_halves(results["crc"])
    found = report_calibration(results, [(k,) for k in range(4)])
    for own in (0, 1):
        others = half != own
        expected = fit_temperature(results["stop/logits"][others][:, 1:], results["label"][others])
        assert found["folds"][own] == {"images": 20, "temperature": expected}
    # what an image's own label says changes neither the temperature nor the rule that it is measured with
    changed = results | {"label": np.where(half == 0, (results["label"] + 1) % 5, results["label"])}
    again = report_calibration(changed, [(k,) for k in range(4)])
    assert again["folds"][0] == found["folds"][0] and again["folds"][1] != found["folds"][1]
    first, second = (report_rule(r, TWO, Options(resamples=20))["cross_fitted"]["folds"] for r in (results, changed))
    assert first[0] == second[0] and first[1] != second[1]


def test_the_errors_before_and_after_are_told_per_budget() -> None:
    found = report_calibration(drawn(1, images=200), [(k,) for k in range(4)])
    assert [entry["budget"] for entry in found["error"]] == [[0], [1], [2], [3]]
    assert found["budgets"] == [[1], [2], [3]]
    assert found["error_after"] == pytest.approx(np.mean([entry["after"] for entry in found["error"][1:]]), abs=1e-6)
    assert found["error_after"] < found["error_before"]
    calibration = read_calibration(found)
    assert (calibration.temperature, calibration.error_after) == (found["temperature"], found["error_after"])


# Rules ----------------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 1000), least=st.integers(0, 3), extra=st.integers(0, 3), threshold=st.floats(0, 1))
def test_all_images_at_once_stop_where_each_alone_does(seed: int, least: int, extra: int, threshold: float) -> None:
    rule = StoppingRule(least, min(3, least + extra), threshold)
    certainty = compute_confidence(drawn(seed, images=10)["stop/logits"], 1.0)
    expected = [find_stop(row, rule).looks for row in certainty]
    assert apply_rule(certainty, rule).tolist() == expected
    assert all(rule.least <= looks <= rule.most for looks in expected)


@pytest.mark.parametrize("k", [0, 1, 2, 3])
def test_a_rule_whose_least_is_its_largest_is_a_fixed_budget(k: int) -> None:
    certainty = compute_confidence(drawn(3)["stop/logits"], 0.7)
    for threshold in (0.0, 0.5, 1.0):
        assert (apply_rule(certainty, StoppingRule(k, k, threshold)) == k).all()


def test_a_rule_by_hand() -> None:
    certainty = np.array([[0.99, 0.2, 0.6, 0.5], [0.1, 0.9, 0.3, 0.2], [0.1, 0.1, 0.1, 0.95], [0.1, 0.5, 0.1, 0.1]])
    assert apply_rule(certainty, StoppingRule(1, 3, 0.5)).tolist() == [2, 1, 3, 3]  # 0.5 does not exceed 0.5
    assert apply_rule(certainty, StoppingRule(0, 2, 0.5)).tolist() == [0, 1, 2, 2]
    assert find_stops(certainty, 0.5, least=2).tolist() == [2, 3, 3, 3]


def test_the_recommended_rule_takes_the_fewest_looks_that_keep_the_answers() -> None:
    # two images of three need one look, the third changes its mind at the second look and then stays
    certainty = np.tile([[0.9, 0.95, 0.96, 0.97], [0.5, 0.80, 0.9, 0.9], [0.3, 0.55, 0.7, 0.9]], (4, 1))
    predictions = np.tile([[0, 0, 0, 0], [1, 1, 1, 1], [2, 0, 1, 1]], (4, 1))
    rule = choose_rule(certainty, predictions)
    looks = apply_rule(certainty, rule)
    assert looks.tolist() == [1, 1, 2] * 4 and rule.least == 1
    # an answer that changes at every look cannot be kept with few of them: then most of the answers are
    restless = np.tile([[0, 1, 2, 3]], (12, 1))
    kept = choose_rule(np.tile([[0.1, 0.2, 0.3, 0.4]], (12, 1)), restless)
    assert (kept.least, kept.most) == (1, 1)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_a_recommended_rule_keeps_what_it_promises(seed: int) -> None:
    results = drawn(seed, images=40)
    certainty, predictions = compute_confidence(results["stop/logits"], 1.0), results["stop/prediction"]
    rule = choose_rule(certainty, predictions)
    looks = apply_rule(certainty, rule)
    assert rule.least >= 1 and rule.most <= 3 and looks.mean() <= MEAN_LOOKS

    def changed(taken: np.ndarray) -> float:
        return float((predictions[np.arange(40), taken] != predictions[:, -1]).mean())

    for other in list_rules(3, tuple(round(0.01 * i, 2) for i in range(100))):
        taken = apply_rule(certainty, other)
        if taken.mean() <= MEAN_LOOKS and changed(taken) <= MAX_CHANGED:
            assert changed(looks) <= MAX_CHANGED and looks.mean() <= taken.mean()


def test_stopping_is_compared_with_every_fixed_number_of_looks_image_by_image() -> None:
    results = drawn(5, images=80)
    found = report_rule(results, TWO, Options(resamples=300))
    right = results["stop/prediction"] == results["label"][:, None]
    for k, entry in enumerate(found["cross_fitted"]["against"]):
        assert entry["budget"] == [k] and entry["top1"] == pytest.approx(right[:, k].mean())
        assert entry["difference"] == pytest.approx(found["cross_fitted"]["top1"] - right[:, k].mean(), abs=1e-6)
        assert entry["interval"][0] <= entry["difference"] <= entry["interval"][1]
    points = found["front"]["points"]
    fixed = {point["most"]: point for point in points if point["least"] == point["most"]}
    assert {k: point["top1"] for k, point in fixed.items()} == pytest.approx({k: right[:, k].mean() for k in (1, 2, 3)})
    efficient = sorted((point["looks"], point["top1"]) for point in points if point["efficient"])
    assert efficient and all(a[1] <= b[1] for a, b in itertools.pairwise(efficient))


# The whole evaluation -------------------------------------------------------------------------------


@pytest.mark.slow
def test_an_evaluation_holds_temperature_rule_and_front() -> None:
    found = evaluate(varied(TWO), Canvases(), Options(budget=4, workers=0, resamples=100, draws=1))
    stopping = found["stopping"]
    assert read_rule(stopping).most <= 3 and found["calibration"]["temperature"] == stopping["rule"]["temperature"]
    assert [entry["top1"] for entry in stopping["cross_fitted"]["against"]] == [b["top1"] for b in found["budgets"][:4]]
    assert {"probability", "margin", "rule", "cross_fitted", "front"} <= set(stopping)
    text = format_evaluation(found)
    assert "recommended: " in text and "calibration error" in text and "  surest  " in text


@pytest.mark.slow
@pytest.mark.parametrize("config", [THREE, PLAIN])
def test_rules_are_for_two_levels_and_temperatures_for_all(config: Any) -> None:
    found = evaluate(varied(config), Canvases(6), Options(workers=0, resamples=10, draws=1, policies=("learned",)))
    assert "rule" not in found.get("stopping", {})
    assert found["calibration"]["budgets"] == [list(config.budget)]
    assert "temperature" in format_evaluation(found)


@pytest.mark.slow
def test_one_image_cannot_be_split() -> None:
    found = evaluate(varied(TWO), Canvases(1), Options(workers=0, resamples=10, draws=1, policies=("learned",)))
    assert "calibration" not in found and "rule" not in found["stopping"]
