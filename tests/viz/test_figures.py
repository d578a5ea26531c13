"""`viz.figure`: a trace as plotly figures."""

from __future__ import annotations

import numpy as np
import pytest

import tnet_core as tn
import viz
from tests.support.models import TINY_3L, picture, tiny


@pytest.fixture(scope="module")
def trace() -> tn.Trace:
    return tn.traverse(tiny(TINY_3L), picture(), budget=(2, 1))


def test_looks_are_boxes_in_pixels_of_the_picture_over_the_thumbnail(trace: tn.Trace) -> None:
    figure = viz.figure(trace, "looks")
    shapes = figure.layout.shapes
    assert [note.text for note in figure.layout.annotations] == ["1", "2", "3", "4"]
    sides = (trace.image.width, trace.image.height) * 2
    for shape, look in zip(shapes, trace.locations, strict=True):
        assert (shape.x0, shape.y0, shape.x1, shape.y1) == pytest.approx(np.multiply(look.box, sides))
    assert figure.data[0].type == "image" and figure.layout.yaxis.scaleanchor == "x"
    assert not viz.figure(trace.detach(), "looks").data


def test_the_ledger_s_bars_add_up_to_the_logit(trace: tn.Trace) -> None:
    [bars] = viz.figure(trace, "ledger").data
    assert list(bars.y) == ["thumbnail", "look 1", "look 2", "look 3", "look 4", "bias"]
    assert sum(bars.x) == pytest.approx(float(trace.logits().max()), abs=1e-4)


def test_levels_are_the_lifts_of_every_grid(trace: tn.Trace) -> None:
    grids = viz.figure(trace, "levels").data
    assert len(grids) == len(trace.distributions) == 3
    for drawn, grid in zip(grids, trace.distributions, strict=True):
        np.testing.assert_allclose(drawn.z, grid.lift)
    assert sum(str(text) != "" for drawn in grids for text in np.ravel(drawn.text)) == 4


def test_the_curve_has_a_point_for_every_number_of_looks(trace: tn.Trace) -> None:
    first = viz.figure(trace, "curve").data[0]
    assert list(first.x) == [0, 1, 2, 3, 4]
    assert list(first.y) == pytest.approx([trace.probabilities(k)[trace.prediction] for k in range(5)])


def test_an_unknown_figure_is_answered_with_those_there_are(trace: tn.Trace) -> None:
    with pytest.raises(tn.TNetError, match="choose one of looks, ledger, levels, curve"):
        viz.figure(trace, "pie")  # type: ignore[arg-type]
