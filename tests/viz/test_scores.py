"""The figure of the most probable classes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import tnet_core as tn
from viz import scores


@pytest.mark.parametrize("k", [0, 3, 9])
def test_bars_are_the_probabilities_and_logits_of_the_best_classes(trace: tn.Trace, k: int) -> None:
    bars = scores.figure(trace, k, count=5).data[0]
    order = np.argsort(-trace.probabilities(k))[:5]
    np.testing.assert_allclose(bars.x, 100 * trace.probabilities(k)[order], rtol=1e-6)
    np.testing.assert_allclose(bars.customdata, trace.logits(k)[order], rtol=1e-6)


def test_the_scale_is_the_same_for_every_budget(trace: tn.Trace) -> None:
    assert {tuple(scores.figure(trace, k).layout.xaxis.range) for k in range(10)} == {(0, 100)}


def test_classes_without_names_are_numbered(trace: tn.Trace) -> None:
    best = trace.prediction
    assert scores.figure(trace, 9).layout.yaxis.ticktext[0] == f"<b>class {best}</b>"


def test_names_of_classes_are_escaped(trace: tn.Trace) -> None:
    named = replace(trace, class_names=tuple("<i>x</i>" for _ in range(7)))
    assert scores.figure(named, 9).layout.yaxis.ticktext[1] == "&lt;i&gt;x&lt;/i&gt;"


def test_fewer_classes_than_rows_is_no_problem(trace: tn.Trace) -> None:
    assert len(scores.figure(trace, 9, count=50).data[0].x) == 7


def test_the_caption_compares_with_the_thumbnail_alone(trace: tn.Trace) -> None:
    first = int(trace.logits(0).argmax())
    assert f"thumbnail alone: class {first}, " in scores.caption(trace, 3)
    assert "Decided from the thumbnail alone" in scores.caption(trace, 0)
