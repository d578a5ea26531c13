"""`evaluation.json`: which fields there are, and that what is read is written again as it was."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import tnet_core as tn
from tnet_core.schemas.evaluation import parse_evaluation, read_evaluation

BUNDLED = sorted((Path(__file__).parents[2] / "checkpoints").glob("*/evaluation.json"))
ROW = {"budget": [1], "top1": 1, "flops": 5}
PLAIN: dict[str, Any] = {"schema": 1, "dataset": {"name": "a", "split": "b", "size": 3}, "budgets": [ROW]}


@pytest.mark.parametrize("path", BUNDLED, ids=lambda path: path.parent.name)
def test_a_bundled_evaluation_is_written_again_number_by_number(path: Path) -> None:
    expected = json.loads(path.read_text(encoding="utf-8"))
    written = json.loads(read_evaluation(path.parent).to_text())
    assert json.dumps(written, sort_keys=True) == json.dumps(expected, sort_keys=True)


def test_a_whole_number_stays_one() -> None:
    assert json.dumps(parse_evaluation(PLAIN).raw) == json.dumps(PLAIN)


@pytest.mark.parametrize(
    ("content", "field"),
    [
        (PLAIN | {"top_1": 1}, "top_1"),
        (PLAIN | {"dataset": PLAIN["dataset"] | {"sizes": 3}}, "dataset.sizes"),
        (PLAIN | {"budgets": [ROW | {"top-1": 1}]}, r"budgets\[0\].top-1"),
    ],
)
def test_a_field_that_nobody_knows_is_refused_by_its_name(content: dict[str, Any], field: str) -> None:
    with pytest.raises(tn.TNetError, match=f"'{field}' is not a known field"):
        parse_evaluation(content)


def test_fields_that_no_bundled_evaluation_has_are_known_too() -> None:
    dataset = PLAIN["dataset"] | {"unreadable": {"count": 1, "first": ["'a.jpg' is empty (0 bytes)."]}}
    content = PLAIN | {"dataset": dataset, "displaced": {"budgets": []}, "budgets": [ROW | {"memory_gb": 1.5}]}
    assert parse_evaluation(content).raw == content


def test_what_a_section_holds_is_its_readers_matter() -> None:
    content = PLAIN | {"policies": {"learned": {"top1": [0.5], "further": None}}, "stopping": 3}
    assert parse_evaluation(content).raw == content
