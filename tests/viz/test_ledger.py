"""The ledger of contributions."""

from __future__ import annotations

import re

import numpy as np
import pytest

import tnet_core as tn
from viz import ledger, style
from viz.numbers import short


@pytest.mark.parametrize("k", [0, 4, 9])
def test_bars_are_the_exact_contributions_with_the_context_first(trace: tn.Trace, k: int) -> None:
    figure = ledger.figure(trace, k)
    predicted = int(trace.logits(k).argmax())
    np.testing.assert_allclose(figure.data[0].x, trace.contributions(predicted, k=k).values)
    plain = [re.sub("<[^>]*>", "", name) for name in figure.layout.yaxis.ticktext]
    assert plain == ["context", *(f"look {n}" for n in range(1, k + 1))]


def test_weights_stand_beside_the_bars(trace: tn.Trace) -> None:
    figure = ledger.figure(trace, 4)
    written = [note.text for note in figure.layout.annotations if note.yref == "y"]
    assert written == [short(float(weight)) for weight in trace.weights(4)]
    np.testing.assert_allclose(figure.data[0].customdata, trace.weights(4), rtol=1e-6)


@pytest.mark.parametrize("cls", range(7))
def test_zero_is_in_the_middle_and_sign_decides_side_and_colour(trace: tn.Trace, cls: int) -> None:
    figure = ledger.figure(trace, 9, cls)
    low, high = figure.layout.xaxis.range
    assert low == -high
    assert high > max(abs(value) for value in figure.data[0].x)
    expected = [style.FOR if value >= 0 else style.AGAINST for value in trace.contributions(cls).values]
    assert list(figure.data[0].marker.color) == expected


def test_both_signs_occur_in_this_trace(trace: tn.Trace) -> None:
    """Or the test above would show nothing."""
    signs = {bool(value >= 0) for cls in range(7) for value in trace.contributions(cls).values}
    assert signs == {True, False}


@pytest.mark.parametrize("k", [0, 5, 9])
@pytest.mark.parametrize("cls", [None, 0, 3])
def test_the_caption_adds_up_to_the_logit(trace: tn.Trace, k: int, cls: int | None) -> None:
    text = ledger.caption(trace, k, cls).replace("−", "-")
    match = re.search(r"class (\d+): sum (-?[\d.]+) ([+-]) bias ([\d.]+) = logit (-?[\d.]+)\.", text)
    assert match, text
    total, bias = float(match[2]), float(match[4]) * (1 if match[3] == "+" else -1)
    assert total + bias == pytest.approx(float(match[5]), abs=0.0151)
    assert float(match[5]) == pytest.approx(trace.logits(k)[int(match[1])], abs=0.0051)


def test_only_the_newest_look_has_the_accent(trace: tn.Trace) -> None:
    accented = [style.ACCENT in name for name in ledger.figure(trace, 3).layout.yaxis.ticktext]
    assert accented == [False, False, False, True]
    assert not any(style.ACCENT in name for name in ledger.figure(trace, 0).layout.yaxis.ticktext)
