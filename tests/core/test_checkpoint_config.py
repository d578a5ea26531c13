"""What `config.json` and `evaluation.json` must be."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import tnet_core as tn
from tests.support.checkpoints import CONFIG, EVALUATION
from tests.support.models import tiny
from tnet_core.checkpoints import save
from tnet_core.schemas.checkpoint import CheckpointConfig, read_config
from tnet_core.schemas.evaluation import BudgetResult, read_evaluation

pytest_plugins = ["tests.support.checkpoint_fixtures"]


def _edited(checkpoint: Path, **changes: Any) -> Path:
    path = checkpoint / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))
    return checkpoint


def test_every_configuration_survives_the_file(tmp_path: Path) -> None:
    from tnet_core.schemas.checkpoint import write_config

    for name in tn.presets():
        write_config(tmp_path, CheckpointConfig.describe(tn.preset(name)))
        assert read_config(tmp_path).model == tn.preset(name)


def test_the_file_tells_preprocessing_and_budget_to_other_programs(checkpoint: Path) -> None:
    value = json.loads((checkpoint / "config.json").read_text())
    assert value["trained_budget"] == [3]
    assert value["preprocessing"]["interpolation"] == "bilinear"
    assert value["preprocessing"]["input_size"] == 128
    assert value["preprocessing"]["antialias"] is False


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"schema": 2}, "its field 'schema' is 2, but this version reads schema 1"),
        ({"schema": True}, "its field 'schema' is True"),
        ({"schema": "1"}, "its field 'schema' is '1'"),
        ({"weights": 1}, "'weights' is not a known field"),
        ({"model": []}, "must be a mapping"),
        ({"model": {"backbone": 5}}, "'backbone' is 5"),
        ({"model": {"dropout": 10**400}}, "'dropout' is"),
        ({"class_names": "abc"}, "must be a list"),
        ({"class_names": ["a", "b"]}, "2 class names for 3 classes"),
        ({"class_names": ["a"] * 100_001}, "100001 class names for 3 classes"),
        ({"class_names": ["a", "b", "a"]}, "has the name 'a' for the classes 0 and 2"),
        ({"class_names": ["a", "b", 3]}, "'class_names[2]' is 3, but must be a text"),
        ({"class_names": ["a", "b", " "]}, "'class_names[2]' must be a printable text"),
        ({"class_names": ["a", "b", "c" * 201]}, "at most 200 characters"),
        ({"class_names": ["a", "b", "\x1b[31m"]}, "printable"),
        ({"provenance": []}, "must be a mapping"),
        ({"trained_budget": [4]}, "'trained_budget' that contradicts its field 'model'"),
        ({"preprocessing": {}}, "'preprocessing' that contradicts"),
    ],
)
def test_wrong_fields_are_named(checkpoint: Path, changes: dict[str, Any], complaint: str) -> None:
    with pytest.raises(tn.TNetError) as caught:
        read_config(_edited(checkpoint, **changes))
    assert complaint in str(caught.value)
    assert "config.json" in str(caught.value)


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        (b"", "not valid JSON"),
        (b"\xff\xfe", "not UTF-8"),
        (b"[" * 100_000, "nested deeper"),
        (b'{"a":' * 40 + b"1" + b"}" * 40, "nested deeper"),
        (b'{"schema": 1, "schema": 1}', "'schema' more than once"),
        (b'{"schema": NaN}', "NaN is not a JSON number"),
        (b'{"schema": 1e999}', "too large"),
        (b'{"schema": ' + b"9" * 5000 + b"}", "not valid JSON"),
        (b'{"schema": "\\ud800"}', "not valid Unicode"),
        (b"{}", "its field 'schema' is missing"),
        (b"[1]", "but must be a mapping of fields"),
    ],
)
def test_text_that_is_not_a_configuration_is_refused(checkpoint: Path, data: bytes, complaint: str) -> None:
    (checkpoint / "config.json").write_bytes(data)
    with pytest.raises(tn.TNetError, match=complaint):
        read_config(checkpoint)


def test_a_huge_file_is_refused_before_it_is_read(checkpoint: Path) -> None:
    with (checkpoint / "config.json").open("wb") as file:
        file.truncate(5 << 30)  # sparse: takes no space
    with pytest.raises(tn.TNetError, match="at most 16777216 are accepted"):
        read_config(checkpoint)


def test_class_names_and_provenance_are_optional(checkpoint: Path) -> None:
    path = checkpoint / "config.json"
    value = json.loads(path.read_text())
    for name in ("class_names", "provenance", "preprocessing", "trained_budget"):
        del value[name]
    path.write_text(json.dumps(value))
    config = read_config(checkpoint)
    assert config.class_names == ()
    assert config.provenance == {}


@pytest.mark.parametrize(
    "provenance", [{"when": object()}, {1: "x"}, {"loss": float("inf")}, {"name": "\ud800"}, ["recipe"]]
)
def test_provenance_that_json_cannot_hold_is_not_saved(tmp_path: Path, provenance: Any) -> None:
    with pytest.raises(tn.TNetError, match="its field 'provenance"):
        save(tiny(CONFIG), tmp_path, provenance=provenance)
    assert not list(tmp_path.iterdir())


def test_an_evaluation_is_read_with_its_further_fields(checkpoint: Path) -> None:
    (checkpoint / "evaluation.json").write_text(json.dumps(EVALUATION | {"timing": {"seconds": 12}}))
    evaluation = read_evaluation(checkpoint)
    assert evaluation.results[2] == BudgetResult(budget=(3,), top1=0.69, flops=4.4e7)
    assert evaluation.raw["timing"] == {"seconds": 12}


def test_locations_are_counted_over_all_levels() -> None:
    assert BudgetResult(budget=(2, 1), top1=0.5).looks == 4
    assert BudgetResult(budget=(3, 2, 2), top1=0.5).looks == 3 + 6 + 12
    assert BudgetResult(budget=(), top1=0.5).looks == 0


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"schema": 3}, "'schema' is 3, but this version reads schema 1"),
        ({"dataset": "CUB"}, "'dataset' is 'CUB', but must be a mapping"),
        ({"dataset": {"name": "x", "split": "test", "size": 0}}, "'dataset.size'"),
        ({"dataset": {"name": "", "split": "test", "size": 1}}, "'dataset.name'"),
        ({"dataset": {"name": "x", "split": "a\nb", "size": 1}}, "'dataset.split'"),
        ({"budgets": []}, "'budgets'"),
        ({"budgets": [{"budget": [1]}]}, "'budgets[0].top1' is missing"),
        ({"budgets": [{"budget": [1], "top1": 70}]}, "'budgets[0].top1' is 70, but must be at most 1"),
        ({"budgets": [{"budget": [-1], "top1": 0.7}]}, "'budgets[0].budget[0]' is -1"),
        ({"budgets": [{"budget": 3, "top1": 0.7}]}, "'budgets[0].budget'"),
        ({"budgets": [{"budget": [1], "top1": 0.7}] * 2}, "more than once"),
        ({"budgets": [{"budget": [1], "top1": True}]}, "'budgets[0].top1'"),
    ],
)
def test_wrong_evaluations_name_the_field(checkpoint: Path, changes: dict[str, Any], complaint: str) -> None:
    (checkpoint / "evaluation.json").write_text(json.dumps(EVALUATION | changes))
    with pytest.raises(tn.TNetError) as caught:
        read_evaluation(checkpoint)
    assert complaint in str(caught.value)
