"""The arithmetic of an evaluation, checked by hand or against known distributions."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import tnet_core as tn
from tests.support.evaluation import PLAIN, THREE, TWO, Canvases, varied
from tnet_core.explain import adaptive_stop
from tnet_core.schemas.evaluation import parse_evaluation
from training.evaluation.bootstrap import (
    compute_gap_share,
    compute_interval,
    compute_share_interval,
    describe_few_images,
    resample_means,
)
from training.evaluation.calibration import compute_calibration_error
from training.evaluation.compare import pack_results, pair_results, unpack_results
from training.evaluation.learned_policy import (
    compute_centre_bias,
    compute_spread,
    count_taken,
    report_heat_map,
)
from training.evaluation.measure import measure_attention
from training.evaluation.plan import Options, make_plan
from training.evaluation.run import evaluate
from training.evaluation.stopping import find_stops
from training.evaluation.table import format_evaluation

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def content() -> dict[str, Any]:
    return evaluate(varied(TWO), Canvases(), Options(budget=4, workers=0, resamples=400, draws=2))


# Precision, recall, coverage ---------------------------------------------------------------------


def test_precision_recall_and_coverage_of_one_look() -> None:
    # a quarter of the image; the box overlaps it by 0.25 x 0.25, and is 0.5 x 0.25 itself
    found = measure_attention([(0.0, 0.0, 0.5, 0.5)], np.array([[0.25, 0.25, 0.75, 0.5]]))
    assert found == pytest.approx((0.0625 / 0.25, 0.0625 / 0.125, 0.25))


def test_overlapping_looks_and_boxes_count_once() -> None:
    looks = [(0.0, 0.0, 0.5, 0.5), (0.25, 0.0, 0.75, 0.5)]  # union 0.75 x 0.5
    boxes = np.array([[0.5, 0.0, 1.0, 0.5], [0.5, 0.25, 1.0, 1.0]])  # union 0.5 x 1
    assert measure_attention(looks, boxes) == pytest.approx((0.125 / 0.375, 0.125 / 0.5, 0.375))


def test_a_box_beyond_the_image_is_clipped_and_no_box_leaves_coverage_only() -> None:
    assert measure_attention([(0.5, 0.5, 1.0, 1.0)], np.array([[0.5, 0.5, 2.0, 2.0]])) == pytest.approx(
        (1.0, 1.0, 0.25)
    )
    precision, recall, coverage = measure_attention([(0.0, 0.0, 0.5, 1.0)], np.zeros((0, 4)))
    assert np.isnan(precision) and np.isnan(recall) and coverage == 0.5


# Bootstrap ---------------------------------------------------------------------------------------


def test_bootstrap_intervals_are_those_of_a_known_distribution() -> None:
    values = np.zeros((2000, 1), dtype=bool)
    values[:600] = True
    low, high = compute_interval(resample_means(values, 4000, seed=1), 0.95)[0]
    half = 1.96 * np.sqrt(0.3 * 0.7 / 2000)
    assert (low, high) == pytest.approx((0.3 - half, 0.3 + half), abs=0.002)


def test_the_interval_of_a_share_is_wilsons_and_claims_no_certainty_at_the_ends() -> None:
    four, none = (
        compute_share_interval(np.array([1.0]), 4, 0.95)[0],
        compute_share_interval(np.array([0.0]), 8, 0.95)[0],
    )
    assert four == pytest.approx((0.5101, 1.0), abs=1e-4)  # as tables of Wilson's interval have it
    assert none == pytest.approx((0.0, 0.3244), abs=1e-4)
    assert compute_share_interval(np.array([0.3]), 10, 0.95)[0] == pytest.approx((0.1078, 0.6032), abs=1e-4)
    assert np.isnan(compute_share_interval(np.array([np.nan]), 0, 0.95)).all()


def test_few_images_are_warned_of(content: dict[str, Any]) -> None:
    assert content["dataset"]["size"] == 28
    assert "Only 28 images: intervals are wide" in format_evaluation(content)
    assert describe_few_images(1).startswith("Only 1 image:") and describe_few_images(30) == ""


def test_resamples_are_paired_seeded_and_independent_of_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(0)
    values = generator.random((50, 1)) < 0.5
    means = resample_means(np.concatenate([values, values, ~values], axis=1), 300, seed=2)
    assert np.array_equal(means[:, 0], means[:, 1])
    assert means[:, 0] + means[:, 2] == pytest.approx(1.0)
    assert np.array_equal(means, resample_means(np.concatenate([values, values, ~values], axis=1), 300, seed=2))
    assert not np.array_equal(means[:, :1], resample_means(values, 300, seed=3))
    monkeypatch.setattr("training.evaluation.bootstrap._MAX_COUNTS", 777)
    assert np.array_equal(means[:, :1], resample_means(values, 300, seed=2))


def test_the_share_of_the_gap_is_undefined_without_a_gap() -> None:
    share = compute_gap_share(np.array([0.7, 0.6]), np.array([0.6, 0.6]), np.array([0.8, 0.6]))
    assert share[0] == pytest.approx(0.5) and np.isnan(share[1])
    samples = np.array([[0.2, np.nan], [0.4, np.nan], [np.nan, np.nan]])
    assert compute_interval(samples, 0.5)[0] == pytest.approx((0.25, 0.35))
    assert np.isnan(compute_interval(samples, 0.5)[1]).all()


# Adaptive stopping -------------------------------------------------------------------------------


def test_an_image_stops_at_the_first_look_that_is_certain_enough() -> None:
    certainty = np.array([[0.2, 0.6, 0.5], [0.1, 0.2, 0.3], [0.9, 0.1, 0.1]])
    assert find_stops(certainty, 0.5).tolist() == [1, 2, 0]


def test_the_extremes_of_the_threshold_are_fixed_budgets(content: dict[str, Any]) -> None:
    for rule in ("probability", "margin"):
        points = content["stopping"][rule]["points"]
        never, always = points[0], points[-1]
        assert (never["threshold"], never["looks"]) == (0.0, 0.0) and never["top1"] == content["budgets"][0]["top1"]
        assert (always["threshold"], always["looks"]) == (1.0, 4.0) and always["top1"] == content["budgets"][4]["top1"]
        assert (never["flops"], always["flops"]) == (content["budgets"][0]["flops"], content["budgets"][4]["flops"])
        looks = [point["looks"] for point in points]
        assert looks == sorted(looks) and 0 < looks[8] < 4


@pytest.mark.parametrize("config", [TWO, THREE])
def test_the_margin_rule_is_that_of_the_explanations(config: tn.TNetConfig) -> None:
    data = Canvases(6)
    budget = 4 if config is TWO else (3, 2)
    found = evaluate(varied(config), data, Options(budget=budget, workers=0, resamples=10, policies=("learned",)))
    run = tuple(found["stopping"]["budget"])
    assert run == ((4,) if config is TWO else THREE.budget)
    for point in found["stopping"]["margin"]["points"][2:20:6]:
        stops = [adaptive_stop(tn.traverse(varied(config), data[i].image, run), point["threshold"]) for i in range(6)]
        assert point["looks"] == pytest.approx(np.mean([stop.k for stop in stops]), abs=1e-4)
        assert point["flops"] == pytest.approx(np.mean([stop.flops for stop in stops]), abs=1)
        hits = [stop.prediction == data.labels[i] for i, stop in enumerate(stops)]
        assert point["top1"] == pytest.approx(np.mean(hits), abs=1e-5)


# Where it looks ----------------------------------------------------------------------------------


def test_heat_maps_count_cells_among_the_first_looks() -> None:
    taken = count_taken(np.array([[4, 0], [4, 8], [0, 4]]), 9)
    assert taken[0].tolist() == [1, 0, 0, 0, 2, 0, 0, 0, 0]
    assert taken[1].tolist() == [2, 0, 0, 0, 3, 0, 0, 0, 1]


def test_centre_bias_is_one_at_the_centre_and_zero_for_uniform_looks() -> None:
    centre, corner = np.eye(9)[4], np.eye(9)[0]
    assert compute_centre_bias(centre, 3) == 1
    assert compute_centre_bias(np.ones(9), 3) == pytest.approx(0)
    assert compute_centre_bias(corner, 3) < 0
    assert compute_spread(centre) == 0 and compute_spread(np.ones(9)) == pytest.approx(1)


def test_heat_maps_of_classes_add_up_to_the_overall_one(content: dict[str, Any]) -> None:
    heat = content["heat_map"]
    assert np.sum([entry["taken_1"] for entry in heat["per_class"]], axis=0).tolist() == heat["taken"][0]
    assert np.sum([entry["taken_trained"] for entry in heat["per_class"]], axis=0).tolist() == heat["taken"][2]
    assert [sum(row) for row in heat["taken"]] == [28 * k for k in (1, 2, 3, 4)]
    assert sum(heat["probability"]) == pytest.approx(1, abs=1e-4)
    assert len(content["typical"]["most"]) == 12 and content["typical"]["most"][0]["name"].count("/") == 1


# The file ----------------------------------------------------------------------------------------


def test_the_content_is_a_valid_evaluation_and_plain_json(content: dict[str, Any]) -> None:
    read = parse_evaluation(json.loads(json.dumps(content, allow_nan=False)))
    assert read.where == "canvases test, 28 images"
    assert [result.budget for result in read.results] == [(k,) for k in range(5)]
    assert read.results[3].flops == tn.flops(TWO, 3)


def test_every_share_of_images_lies_in_an_interval_of_some_width(content: dict[str, Any]) -> None:
    for entry in content["policies"].values():
        for kind in ("top1", "top5"):
            for value, ends in zip(entry[kind], entry[f"{kind}_interval"], strict=True):
                assert value is None or (ends[0] <= value <= ends[1] and ends[1] - ends[0] > 0.1)


def test_differences_and_intervals_fit_the_accuracies(content: dict[str, Any]) -> None:
    policies = content["policies"]
    compared = {f"learned-{name}" for name in ("random", "centre", "mean", "surest")} | {"oracle-learned"}
    assert set(content["comparisons"]) == compared
    for name, found in content["comparisons"].items():
        first, second = name.split("-")
        expected = np.subtract(policies[first]["top1"], policies[second]["top1"])
        assert found["difference"] == pytest.approx(expected, abs=2e-6)
        for (low, high), value in zip(found["interval"], found["difference"], strict=True):
            assert low <= value <= high
    assert policies["without_context"]["top1"][0] is None and policies["without_context"]["top1"][1] is not None
    share = content["gap_closed"]["share"][1]
    learned, centre, oracle = (policies[name]["top1"][1] for name in ("learned", "centre", "oracle"))
    assert share == pytest.approx((learned - centre) / (oracle - centre), abs=1e-4)
    assert oracle >= max(learned, centre, policies["surest"]["top1"][1])
    shares = np.array(content["gap_to_surest"]["share"], dtype=float)
    ours, middle, surest = (np.array(policies[name]["top1"]) for name in ("learned", "centre", "surest"))
    for at, value in enumerate(shares):
        if np.isnan(value):
            assert surest[at] <= middle[at]
        else:
            assert value == pytest.approx((ours[at] - middle[at]) / (surest[at] - middle[at]), abs=1e-4)
    # without a look all policies are the same
    assert len({policies[name]["top1"][0] for name in ("learned", "random", "centre", "mean", "surest", "oracle")}) == 1


def test_attention_is_reported_for_every_policy(content: dict[str, Any]) -> None:
    found = content["attention"]
    assert found["images_with_boxes"] == 28
    for name in ("learned", "random", "centre", "mean", "oracle"):
        assert found[name]["coverage"][0] == pytest.approx(0.25)
        assert found[name]["recall"] == sorted(found[name]["recall"])


def test_a_baseline_has_one_budget_and_no_looks() -> None:
    found = evaluate(varied(PLAIN), Canvases(), Options(workers=0, resamples=50))
    assert [entry["budget"] for entry in found["budgets"]] == [[]]
    assert set(found["policies"]) == {"learned"} and "heat_map" not in found and "stopping" not in found
    parse_evaluation(json.loads(json.dumps(found, allow_nan=False)))


def test_results_per_image_come_back_and_pair_by_name(content: dict[str, Any]) -> None:
    crc, right = unpack_results(content["per_image"], (2,))
    assert len(crc) == 28 and right.mean() == pytest.approx(content["budgets"][2]["top1"], abs=1e-6)
    fewer = evaluate(varied(PLAIN), Canvases(9), Options(workers=0, resamples=50))
    ours, theirs = pair_results(content["per_image"], (2,), fewer["per_image"], ())
    assert len(ours) == len(theirs) == 9
    assert theirs.mean() == pytest.approx(fewer["budgets"][0]["top1"], abs=1e-6)
    with pytest.raises(tn.TNetError, match="budget"):
        unpack_results(content["per_image"], (9,))


def test_a_large_evaluation_stays_small() -> None:
    images, classes, n = 6000, 200, 5
    generator = np.random.default_rng(0)
    planned = make_plan(tn.preset("lite0-cub"), Options())
    results = {
        "label": generator.integers(0, classes, images),
        "crc": generator.integers(0, 2**32, images, dtype=np.uint32),
        "top1/learned": generator.random((images, 11)) < 0.8,
        "cells": np.argsort(generator.random((images, n * n)), axis=1)[:, :10],
        "probability": generator.random((images, n * n)),
        "inner": np.zeros((images, 0, n * n), dtype=int),
    }
    names = tuple(f"class number {i}" for i in range(classes))
    content = [report_heat_map(results, planned, n, names), pack_results(results, planned.budgets)]
    assert len(json.dumps(content)) < 500_000


def test_calibration_error_of_known_cases() -> None:
    assert compute_calibration_error(np.full(10, 0.9), np.array([True] * 9 + [False])) == pytest.approx(0)
    assert compute_calibration_error(np.array([1.0, 1.0]), np.array([False, True])) == pytest.approx(0.5)
