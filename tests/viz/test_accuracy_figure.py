"""The chart: its values are those of the sources, and the two kinds of sources look different."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import plotly.graph_objects as go
import pytest

from tests.support.checkpoints import EVALUATION
from tests.support.evaluation_cards import agreeing, bundled, card
from viz.accuracy.captions import render_legend
from viz.accuracy.catalogue import Catalogue
from viz.accuracy.chart import build_figure
from viz.accuracy.curve_styles import (
    EFFICIENTNET_COLOUR,
    MEASURED_COLOURS,
    OTHER_COLOURS,
    TNET_COLOUR,
    assign_styles,
)
from viz.accuracy.selection import Selection, select, select_defaults
from viz.common import style
from viz.common.curves import Curve
from viz.common.templates import render_macro

CATALOGUE = Catalogue([*bundled(), agreeing()])


def every(data: str, x: str = "locations", y: str = "top1", looks: int = 3) -> Selection:
    """All curves of a data set."""
    found = CATALOGUE.get(data)
    ids = [curve.id for curve in found.curves]
    return select(CATALOGUE, data, x, y, ids, list(found.roles), ids, ids, looks)


def traces(drawn: go.Figure) -> dict[str, Any]:
    return {trace.meta: trace for trace in drawn.data}


def values(curve: Curve, x: str, y: str) -> list[tuple[float, float]]:
    unit = {
        "locations": lambda p: p.locations,
        "flops": lambda p: p.flops and p.flops / 1e9,
        "time": lambda p: p.ms_per_image,
    }
    pairs = [(unit[x](point), getattr(point, y)) for point in curve.points]
    return [(across, 100 * up) for across, up in pairs if across is not None and up is not None]


@pytest.mark.parametrize("x", ["locations", "flops", "time"])
@pytest.mark.parametrize("y", ["top1", "top5", "coverage", "precision", "recall"])
@pytest.mark.parametrize("data", [data.key for data in CATALOGUE.data_sets])
def test_every_curve_is_drawn_where_its_source_says(data: str, x: str, y: str) -> None:
    shown = every(data, x, y)
    drawn = traces(build_figure(shown))
    for curve in shown.curves:
        if curve.is_plain and x == "locations":
            stated = getattr(curve.points[0], y)
            assert (curve.id in drawn) == (stated is not None)
            if stated is not None:  # a level
                assert set(drawn[curve.id].y) == {100 * stated}
            continue
        expected = values(curve, x, y)
        assert (curve.id in drawn) == bool(expected)
        if expected:
            assert list(drawn[curve.id].x) == pytest.approx([across for across, _ in expected])
            assert list(drawn[curve.id].y) == pytest.approx([up for _, up in expected])


def test_measured_is_filled_and_solid_published_is_hollow_and_dashed() -> None:
    shown = every("cub-200-2011")
    drawn = traces(build_figure(shown))
    for curve in shown.curves:
        if curve.kind == "peer":
            assert curve.id not in drawn  # they count no looks
            continue
        trace = drawn[curve.id]
        if curve.kind == "published":
            assert trace.marker.symbol.endswith("-open") and trace.line.dash != "solid"
        else:
            assert not trace.marker.symbol.endswith("-open")
            assert trace.line.dash == "solid" or curve.role.startswith("stop-")
            assert (trace.line.width < 2) == bool(curve.role)


def test_curves_that_share_a_colour_differ_in_symbol_or_line() -> None:
    for data in CATALOGUE.data_sets:
        looks = [(m.color, m.symbol, m.filled, m.dash, m.size) for m in assign_styles(data).values()]
        assert len(set(looks)) == len(looks), data.name


def test_a_curve_keeps_its_look_whatever_else_is_chosen() -> None:
    all_of_them = traces(build_figure(every("cub-200-2011")))
    few = select_defaults(CATALOGUE)
    for name, trace in traces(build_figure(few)).items():
        if name != "slider":
            assert trace.line.color == all_of_them[name].line.color
            assert trace.marker.symbol == all_of_them[name].marker.symbol


@pytest.mark.parametrize("color", [*MEASURED_COLOURS, *OTHER_COLOURS, TNET_COLOUR, EFFICIENTNET_COLOUR, style.ACCENT])
@pytest.mark.parametrize("ground", ["#ffffff", "#0b0f19"])
def test_every_colour_reads_on_white_and_on_nearly_black(color: str, ground: str) -> None:
    def light(text: str) -> float:
        channels = [int(text[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        red, green, blue = (c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    low, high = sorted([light(color), light(ground)])
    assert (high + 0.05) / (low + 0.05) >= 3


def test_intervals_are_drawn_around_measured_curves_only() -> None:
    shown = every("cub-200-2011")
    drawn = traces(build_figure(shown))
    bands = {name.removeprefix("interval of ") for name in drawn if name.startswith("interval of ")}
    assert bands == {curve.id for curve in shown.curves if curve.kind == "measured" and not curve.role}
    curve = next(curve for curve in shown.curves if curve.id in bands and not curve.is_plain)
    ends = sorted(100 * end for point in curve.points for end in point.top1_interval or ())
    assert sorted(drawn[f"interval of {curve.id}"].y) == pytest.approx(ends)


def test_the_slider_is_a_line_among_looks_and_rings_everywhere() -> None:
    for x in ("locations", "flops"):
        shown = every("imagenet", x, looks=7)
        drawn = build_figure(shown)
        lines = [(shape.x0, shape.x1) for shape in drawn.layout.shapes]
        assert lines == ([(7, 7)] if x == "locations" else [])
        rings = traces(drawn)["slider"]
        nearest = {curve.id: curve.find_nearest(7) for curve in shown.curves if not curve.is_plain}
        stated = [
            p for p in nearest.values() if p is not None and p.locations is not None and (x == "locations" or p.flops)
        ]
        assert sorted(rings.y) == pytest.approx(sorted(100 * (point.top1 or 0) for point in stated))


def test_what_every_stop_of_the_slider_marks_is_sent_along() -> None:
    for x in ("locations", "flops"):
        sent = build_figure(every("imagenet", x, looks=2)).layout.meta["rings"]
        assert list(sent) == [str(k) for k in range(31)]
        for k in (0, 7, 30):
            rings = traces(build_figure(every("imagenet", x, looks=k)))["slider"]
            assert [list(rings.x), list(rings.y)] == [list(values) for values in sent[str(k)]]


def test_moving_the_slider_does_not_move_the_axes() -> None:
    one, other = build_figure(every("needles", looks=0)), build_figure(every("needles", looks=12))
    assert one.layout.xaxis == other.layout.xaxis and one.layout.yaxis == other.layout.yaxis


def test_agreement_is_written_at_the_axis() -> None:
    apart = [data.key for data in CATALOGUE.data_sets if data.agreement]
    assert any(key.startswith("photographs") for key in apart)  # that of the card of its own
    for key in apart:
        assert "agreement with the backbone" in build_figure(every(key)).layout.annotations[0].text
    assert "accuracy" in build_figure(every("cub-200-2011")).layout.annotations[0].text


def sentence(shown: Selection) -> str:
    drawn = build_figure(shown)
    assert not drawn.data and not drawn.layout.shapes
    return drawn.layout.annotations[-1].text.replace("<br>", " ")


def test_an_empty_chart_says_why_and_where_there_is_something() -> None:
    assert sentence(every("nabirds", "time")) == (
        "None of the ticked curves states a time per image. The paper does for ImageNet and fMoW."
    )
    assert sentence(every("nabirds", y="recall")) == (
        "None of the ticked curves states a recall. The paper does for ImageNet and fMoW."
    )
    assert sentence(select(CATALOGUE, "fmow", "locations", "top1", [], [], [], [], 1)) == "No curve is ticked."
    only = select(CATALOGUE, "imagenet", "locations", "recall", [], [], ["published/imagenet:DRAM"], [], 1)
    assert sentence(only) == "None of the ticked curves states a recall."


def test_names_are_escaped_in_chart_and_legend(tmp_path: Path) -> None:
    catalogue = Catalogue([card(tmp_path, EVALUATION, title='<img src=x onerror="alert(1)">&')])
    shown = select_defaults(catalogue, "garden birds")
    text = json.dumps(build_figure(shown).to_plotly_json(), default=str) + render_legend(shown)
    assert "<img" not in text and "&lt;img" in text


def test_the_legend_names_both_kinds_and_what_is_not_stated() -> None:
    text = render_legend(select_defaults(CATALOGUE))
    assert text.index("Measured here") < text.index("Published in the paper")
    assert "not stated" not in text
    assert render_legend(select_defaults(CATALOGUE, None, "locations", "coverage")).count("not stated") >= 2
    hollow, filled = (
        assign_styles(CATALOGUE.get(None))["published/cub:TNet-B0"],
        assign_styles(CATALOGUE.get(None))[CATALOGUE.get(None).measured[0].id],
    )
    swatches = [render_macro("accuracy/accuracy.html", "swatch_of", mark) for mark in (hollow, filled)]
    assert 'fill="none" stroke' in swatches[0] and f'fill="{filled.color}"' in swatches[1]
