"""The figure of the most probable classes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import plotly.graph_objects as go
import pytest

import tnet_core as tn
from viz import scores
from viz.names import class_name
from viz.numbers import percent, short


@pytest.mark.parametrize("k", [0, 3, 9])
def test_bars_are_the_probabilities_and_logits_of_the_best_classes(trace: tn.Trace, k: int) -> None:
    bars = scores.figure(trace, k, count=5).data[0]
    order = np.argsort(-trace.probabilities(k))[:5]
    np.testing.assert_allclose(bars.x, 100 * trace.probabilities(k)[order], rtol=1e-6)
    np.testing.assert_allclose(bars.customdata, trace.logits(k)[order], rtol=1e-6)


def test_the_scale_is_the_same_for_every_budget(trace: tn.Trace) -> None:
    assert {tuple(scores.figure(trace, k).layout.xaxis.range) for k in range(10)} == {(0, 100)}


def written(figure: go.Figure, side: str) -> list[str]:
    return [note.text for note in figure.layout.annotations if note.xanchor == side]


def test_classes_without_names_are_numbered(trace: tn.Trace) -> None:
    order = np.argsort(-trace.logits(), kind="stable")[:5]
    names = written(scores.figure(trace, 9), "left")
    assert names == [f"<b>class {order[0]}</b>", *(f"class {cls}" for cls in order[1:])]


def test_numbers_stand_beside_the_names(trace: tn.Trace) -> None:
    order = np.argsort(-trace.logits(4), kind="stable")[:5]
    numbers = written(scores.figure(trace, 4), "right")
    for text, cls in zip(numbers, order, strict=True):
        assert text.startswith(f"logit {short(float(trace.logits(4)[cls]))}")
        assert f"<b>{percent(float(trace.probabilities(4)[cls]))}</b>" in text


def test_names_of_classes_are_escaped(trace: tn.Trace) -> None:
    named = replace(trace, class_names=tuple("<i>x</i>" for _ in range(7)))
    assert written(scores.figure(named, 9), "left")[1] == "&lt;i&gt;x&lt;/i&gt;"


@pytest.mark.parametrize(
    ("stored", "shown"),
    [
        ("001.Black_footed_Albatross", "Black footed Albatross"),
        ("cocker spaniel, English cocker spaniel, cocker", "cocker spaniel"),
        ("3", "3"),
        ("7.5", "7.5"),
        (",", ","),
        ("x" * 60, "x" * 39 + "…"),
    ],
)
def test_names_are_written_as_a_person_would(trace: tn.Trace, stored: str, shown: str) -> None:
    assert class_name(replace(trace, class_names=(stored,) * 7), 0) == shown


def test_fewer_classes_than_rows_is_no_problem(trace: tn.Trace) -> None:
    assert len(scores.figure(trace, 9, count=50).data[0].x) == 7


def test_the_caption_compares_with_the_thumbnail_alone(trace: tn.Trace) -> None:
    first = int(trace.logits(0).argmax())
    assert f"thumbnail alone: class {first}, " in scores.caption(trace, 3)
    assert "Decided from the thumbnail alone" in scores.caption(trace, 0)
