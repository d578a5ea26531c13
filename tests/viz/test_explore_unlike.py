"""The sentence about a picture that may be unlike what a checkpoint knows."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import tnet_core as tn
from tests.support.evaluation_cards import card
from tests.support.models import TINY, picture, tiny
from tnet_core.checkpoints import CheckpointCard
from viz.explore.checkpoint import explain_unlike


@pytest.fixture(scope="module")
def trace() -> tn.Trace:
    return tn.traverse(tiny(TINY), picture(90, 120, seed=5), (9,))


def about(folder: Path, **fields: Any) -> CheckpointCard:
    known = {"budget": list(TINY.budget), "threshold": 0.999, "quantile": 0.05, "temperature": 1.0} | fields
    told = {"schema": 1, "dataset": {"name": "birds", "split": "test", "size": 9}, "familiar": known}
    return card(folder, told | {"budgets": [{"budget": [1], "top1": 0.5}]})


def test_it_is_said_below_the_threshold_alone(trace: tn.Trace, tmp_path: Path) -> None:
    surest = float(trace.probabilities(budget=TINY.budget).max())
    told = explain_unlike(trace, about(tmp_path))
    assert (
        told.startswith("This picture may be unlike what the checkpoint knows: with ")
        and "95\N{NO-BREAK SPACE}%" in told
    )
    assert explain_unlike(trace, about(tmp_path, threshold=surest - 0.001)) == ""
    assert explain_unlike(trace, about(tmp_path, threshold=min(1.0, surest + 0.001))) != ""


def test_a_threshold_says_nothing_about_other_looks_or_probabilities(trace: tn.Trace, tmp_path: Path) -> None:
    for other in ({"budget": [1]}, {"budget": "x"}, {"temperature": 0.6}, {"threshold": None}, {"threshold": "high"}):
        assert explain_unlike(trace, about(tmp_path, **other)) == "", other
    assert explain_unlike(trace, CheckpointCard("untrained", "")) == ""
    native = replace(trace, config=replace(trace.config, sampling="native"))
    assert explain_unlike(native, about(tmp_path)) == ""
