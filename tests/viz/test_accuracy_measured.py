"""Curves out of evaluation.json: the numbers of the file, and None where it has none."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.evaluation_cards import agreeing, bundled, card
from tnet_core.checkpoints import CheckpointCard
from viz.common.curves import ROLES, Curve
from viz.common.measured import read_measured_curves
from viz.common.text import format_data_set

ROOT = Path(__file__).parents[2]
CARDS = {about.source: about for about in bundled()}
TWO_LEVELS = [
    name
    for name, about in CARDS.items()
    if about.evaluation is not None and {len(r.budget) for r in about.evaluation.results} == {1}
]
THREE = {
    "schema": 1,
    "dataset": {"name": "Scenes", "split": "test", "size": 50},
    "budgets": [{"budget": [k, m], "top1": 0.1 * k + 0.01 * m} for k in range(3) for m in range(2)],
    "attention": {"learned": {"coverage": [0.25, 0.4]}},
    "stopping": {"budget": [2, 1], "probability": {"points": [{"threshold": 0.5, "top1": 0.2, "looks": 1.5}]}},
}


def file_of(name: str) -> dict[str, Any]:
    return json.loads((ROOT / "checkpoints" / name / "evaluation.json").read_text())


def by_role(curves: list[Curve]) -> dict[str, Curve]:
    return {curve.role: curve for curve in curves}


def test_there_are_checkpoints_to_compare() -> None:
    assert len(TWO_LEVELS) >= 2


@pytest.mark.parametrize("name", TWO_LEVELS)
def test_every_budget_has_the_accuracy_cost_and_interval_of_the_file(name: str) -> None:
    content, curve = file_of(name), read_measured_curves(CARDS[name])[0]
    assert len(curve.points) == len(content["budgets"])
    for index, (row, point) in enumerate(zip(content["budgets"], curve.points, strict=True)):
        assert (point.budget, point.locations) == ((row["budget"][0],), row["budget"][0])
        assert (point.top1, point.top5, point.flops) == (row["top1"], row["top5"], row["flops"])
        assert list(point.top1_interval or ()) == row["top1_interval"]
        assert list(point.top5_interval or ()) == content["policies"]["learned"]["top5_interval"][index]
        assert (point.ms_per_image, point.memory_gb) == (row.get("ms_per_image"), None)  # memory: nobody measured it
    assert (curve.kind, curve.confidence) == ("measured", 0.95)
    where = f"{content['dataset']['name']} {content['dataset']['split']}, {content['dataset']['size']} images"
    assert curve.source == format_data_set(where)


@pytest.mark.parametrize("name", TWO_LEVELS)
def test_coverage_precision_and_recall_begin_with_the_first_look(name: str) -> None:
    areas, curve = file_of(name)["attention"]["learned"], read_measured_curves(CARDS[name])[0]
    assert curve.points[0].coverage is None
    for kind in ("coverage", "precision", "recall"):
        assert [getattr(point, kind) for point in curve.points[1:]] == areas.get(kind, [None] * len(areas["coverage"]))


@pytest.mark.parametrize("name", TWO_LEVELS)
def test_other_policies_and_stopping_are_variants_of_the_curve(name: str) -> None:
    content, curves = file_of(name), read_measured_curves(CARDS[name])
    found = by_role(curves)
    newer = {"surest": "surest" in content["policies"], "stop-rule": "front" in content["stopping"]}
    assert set(found) == {"", *ROLES} - {role for role, is_there in newer.items() if not is_there}
    assert {curve.variant_of for curve in curves if curve.role} == {found[""].id}
    for policy in ("random", "centre", "mean", "oracle"):
        assert [point.top1 for point in found[policy].points] == content["policies"][policy]["top1"]
        assert [point.coverage for point in found[policy].points[1:]] == content["attention"][policy]["coverage"]
    assert [point.top1 for point in found["without_context"].points] == content["policies"]["without_context"]["top1"][
        1:
    ]
    for role, rule in (("stop-probability", "probability"), ("stop-margin", "margin")):
        rows = content["stopping"][rule]["points"]
        expected = sorted(((r["looks"], r["top1"], r["flops"], r["threshold"]) for r in rows), key=lambda row: row[0])
        points = [(p.locations, p.top1, p.flops, p.threshold) for p in found[role].points]
        assert points == expected
        assert all(point.top5 is None and point.budget == () for point in found[role].points)


def test_the_surest_looks_and_rules_with_limits_are_curves_too(tmp_path: Path) -> None:
    limits = [(1, 1, 1.0, 0.6, 1), (1, 2, 0.5, 0.61, 1.2), (1, 3, 0.9, 0.66, 1.9), (1, 3, 0.5, 0.63, 1.3)]
    points = [
        {"least": least, "most": most, "threshold": t, "top1": top1, "looks": looks, "flops": 1e9, "efficient": True}
        for least, most, t, top1, looks in limits
    ]
    content = BIRDS | {
        "policies": {"surest": {"top1": [0.5, 0.62]}},
        "stopping": {"budget": [1], "rule": {"least": 1}, "cross_fitted": {}, "front": {"points": points}},
    }
    found = by_role(read_measured_curves(card(tmp_path, content)))
    assert set(found) == {"", "surest", "stop-rule"}
    assert [point.top1 for point in found["surest"].points] == [0.5, 0.62]
    # one curve: the rules with the widest limits
    assert [(p.locations, p.top1, p.threshold) for p in found["stop-rule"].points] == [
        (1.3, 0.63, 0.5),
        (1.9, 0.66, 0.9),
    ]


def test_a_plain_classifier_is_one_point_without_looks() -> None:
    plain = [
        read_measured_curves(about) for about in CARDS.values() if about.config is not None and about.config.is_baseline
    ]
    assert plain
    for (curve,) in plain:
        assert curve.is_plain and len(curve.points) == 1 and curve.points[0].locations is None
        assert curve.find_nearest(7) is curve.points[0]


def test_agreement_is_marked_as_such() -> None:
    assert {curve.agreement for curve in read_measured_curves(agreeing())} == {True}
    assert {curve.agreement for curve in read_measured_curves(CARDS["tnet-lite0-cub"])} == {False}


def test_three_levels_give_a_curve_for_each_number_of_inner_looks(tmp_path: Path) -> None:
    curves = [curve for curve in read_measured_curves(card(tmp_path, THREE, title="Deep")) if not curve.role]
    assert [curve.label for curve in curves] == ["Deep: 0 inside each look", "Deep: 1 inside each look"]
    assert [[point.budget for point in curve.points] for curve in curves] == [
        [(0, 0), (1, 0), (2, 0)],
        [(0, 1), (1, 1), (2, 1)],
    ]
    assert [point.locations for point in curves[1].points] == [0, 2, 4]
    assert [point.coverage for point in curves[1].points] == [None, 0.25, 0.4]
    (stopping,) = [curve for curve in read_measured_curves(card(tmp_path, THREE)) if curve.role]
    assert stopping.variant_of == curves[1].id  # measured with one look inside each


def test_a_checkpoint_that_was_never_measured_has_no_curve() -> None:
    assert read_measured_curves(CheckpointCard(source="new", origin="here")) == []


BIRDS: dict[str, Any] = {
    "schema": 1,
    "dataset": {"name": "Birds", "split": "test", "size": 9},
    "budgets": [{"budget": [0], "top1": 0.5}, {"budget": [1], "top1": 0.6, "ms_per_image": 4.5, "memory_gb": 0.2}],
}


def test_time_and_memory_are_taken_where_a_file_states_them(tmp_path: Path) -> None:
    first, second = read_measured_curves(card(tmp_path, BIRDS))[0].points
    assert (first.ms_per_image, first.memory_gb, first.top5, first.flops) == (None, None, None, None)
    assert (second.ms_per_image, second.memory_gb) == (4.5, 0.2)


@pytest.mark.parametrize(
    "field",
    [
        {"policies": "none"},
        {"policies": {"random": {"top1": "high"}, "oracle": 7, "learned": {"top5_interval": [[0, 1]]}}},
        {"policies": {"random": {"top1": [True, 2.0], "top1_interval": [[0.9, 0.1], None]}}},
        {"attention": {"learned": {"coverage": [None], "precision": {"1": 0.5}}}},
        {"stopping": {"budget": "ten", "probability": {"points": [1, None, {"looks": -1}, {"looks": 1, "top1": 5}]}}},
        {"stopping": []},
        {"intervals": {"confidence": "sure"}},
        {"budgets": [{"budget": [0], "top1": 0.5, "top1_interval": "wide", "ms_per_image": "fast"}]},
        {"budgets": [{"budget": [0], "top1": 0.5, "ms_per_image": 10**400, "memory_gb": -1}]},
    ],
    ids=lambda field: str(field)[:30],
)
def test_a_field_that_is_not_as_it_should_be_is_left_out(tmp_path: Path, field: dict[str, Any]) -> None:
    curves = read_measured_curves(card(tmp_path, copy.deepcopy(BIRDS) | field))
    assert [curve.role for curve in curves] == [""]
    assert curves[0].points[0].top1 == 0.5
    assert curves[0].points[0].top1_interval is None and curves[0].points[0].ms_per_image is None
    assert curves[0].confidence is None
