"""The chart: its values are those of the sources, and the two kinds of sources look different."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from tests.support.checkpoints import EVALUATION
from tests.support.evaluation_cards import agreeing, bundled, card
from viz.accuracy.captions import render_legend
from viz.accuracy.catalogue import Catalogue
from viz.accuracy.chart import build_chart_payload
from viz.accuracy.curve_styles import (
    EFFICIENTNET_COLOUR,
    MEASURED_COLOURS,
    OTHER_COLOURS,
    TNET_COLOUR,
    assign_styles,
)
from viz.accuracy.points import list_known
from viz.accuracy.selection import Selection, select, select_defaults
from viz.common import style
from viz.common.curves import ROLES, Curve
from viz.common.templates import render_macro

CATALOGUE = Catalogue([*bundled(), agreeing()])


def every(data: str, x: str = "locations", y: str = "top1", looks: int = 3) -> Selection:
    """All curves of a data set."""
    found = CATALOGUE.get(data)
    ids = [curve.id for curve in found.curves]
    return select(CATALOGUE, data, x, y, ids, list(found.roles), ids, ids, looks)


def chart(shown: Selection) -> dict[str, Any]:
    """What the browser is sent."""
    return dict(json.loads(build_chart_payload(shown)))


def curves(shown: Selection) -> dict[str, dict[str, Any]]:
    return {curve["id"]: curve for curve in chart(shown)["curves"]}


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
    drawn = curves(shown)
    for curve in shown.curves:
        if curve.is_plain and x == "locations":
            stated = getattr(curve.points[0], y)
            assert (curve.id in drawn) == (stated is not None)
            if stated is not None:
                assert drawn[curve.id]["level"] and set(drawn[curve.id]["y"]) == {100 * stated}
            continue
        expected = values(curve, x, y)
        assert (curve.id in drawn) == bool(expected)
        if expected:
            assert not drawn[curve.id]["level"]
            assert drawn[curve.id]["x"] == pytest.approx([across for across, _ in expected])
            assert drawn[curve.id]["y"] == pytest.approx([up for _, up in expected])


def test_a_level_is_marked_once_and_a_single_point_has_its_interval() -> None:
    level = curves(every("cub-200-2011"))["measured/en-lite0-cub-448"]
    assert level["level"] and level["joined"] and level["marked"] and level["bar"] is None
    assert level["x"][0] < 0 and level["x"][-1] == max(level["x"]) > CATALOGUE.get("cub-200-2011").max_looks
    (plain,) = [curve for curve in CATALOGUE.get("cub-200-2011").curves if curve.id == level["id"]]
    (point,) = plain.points
    assert level["known"] == [list_known(plain, point)]
    single = curves(every("cub-200-2011", "flops"))[level["id"]]
    low, high = point.top1_interval or (0, 0)
    assert not single["level"] and not single["joined"] and single["marked"] and single["band"] is None
    assert single["bar"] == pytest.approx([100 * ((point.top1 or 0) - low), 100 * (high - (point.top1 or 0))])


def test_what_is_known_of_every_marker_is_sent_in_the_order_of_the_markers() -> None:
    shown = every("cub-200-2011", "flops", "recall")
    for curve in shown.curves:
        stated = [point for point in curve.points if point.flops is not None and point.recall is not None]
        if stated:
            assert curves(shown)[curve.id]["known"] == [list_known(curve, point) for point in stated]


def test_the_axes_hold_everything_that_is_drawn() -> None:
    for x in ("locations", "flops", "time"):
        drawn = chart(every("cub-200-2011", x))
        across = [at for curve in drawn["curves"] if not curve["level"] for at in curve["x"]]
        up = [at for curve in drawn["curves"] for at in curve["y"] + (curve["band"] or {"y": []})["y"]]
        across = [math.log10(at) for at in across] if drawn["x"].get("type") == "log" else across
        assert (drawn["x"].get("type") == "log") == (x == "flops")
        assert drawn["x"]["range"][0] <= min(across) and max(across) <= drawn["x"]["range"][1]
        assert drawn["y"]["range"][0] <= min(up) and max(up) <= drawn["y"]["range"][1]


def test_ticks_of_a_logarithmic_axis_are_written_without_exponents() -> None:
    axis = chart(every("imagenet", "flops"))["x"]
    assert axis["ticktext"] == [f"{value:g}" for value in axis["tickvals"]] and len(axis["tickvals"]) > 2
    assert all(axis["range"][0] <= math.log10(value) <= axis["range"][1] for value in axis["tickvals"])
    one = select(CATALOGUE, "cub-200-2011", "flops", "top1", ["measured/en-lite0-cub-448"], [], [], [], 1)
    assert "tickvals" not in chart(one)["x"]  # its own decade is enough


def test_measured_is_filled_and_solid_published_is_hollow_and_dashed() -> None:
    shown = every("cub-200-2011")
    drawn = curves(shown)
    for curve in shown.curves:
        if curve.kind == "peer":
            assert curve.id not in drawn  # they count no looks
            continue
        style = drawn[curve.id]["style"]
        if curve.kind == "published":
            assert not style["filled"] and style["dashes"]
        else:
            assert style["filled"]
            assert not style["dashes"] or curve.role.startswith("stop-")
            assert (style["width"] < 2) == bool(curve.role)


def test_lines_without_markers_are_told_apart_by_dashes_that_a_browser_can_draw() -> None:
    for data in CATALOGUE.data_sets:
        for look in assign_styles(data).values():
            assert all(float(length) > 0 for length in look.dashes.split(",") if look.dashes)
            assert look.dashes or look.size
    assert len({role.dashes for role in ROLES.values() if not role.symbol}) == 3


def test_curves_that_share_a_colour_differ_in_symbol_or_line() -> None:
    for data in CATALOGUE.data_sets:
        looks = [(m.color, m.symbol, m.filled, m.dashes, m.size) for m in assign_styles(data).values()]
        assert len(set(looks)) == len(looks), data.name


def test_a_curve_keeps_its_look_whatever_else_is_chosen() -> None:
    all_of_them = curves(every("cub-200-2011"))
    few = curves(select_defaults(CATALOGUE))
    assert few and len(few) < len(all_of_them)
    for name, curve in few.items():
        assert curve["style"] == all_of_them[name]["style"]


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
    bands = {name: curve["band"] for name, curve in curves(shown).items() if curve["band"]}
    assert bands.keys() == {curve.id for curve in shown.curves if curve.kind == "measured" and not curve.role}
    curve = next(curve for curve in shown.curves if curve.id in bands and not curve.is_plain)
    ends = sorted(100 * end for point in curve.points for end in point.top1_interval or ())
    assert sorted(bands[curve.id]["y"]) == pytest.approx(ends)


def test_the_slider_is_a_line_among_looks_and_rings_everywhere() -> None:
    for x in ("locations", "flops"):
        shown = every("imagenet", x)
        drawn = chart(shown)
        assert drawn["slides"] == (x == "locations") and drawn["looks"] == 3
        assert list(drawn["rings"]) == [str(k) for k in range(31)]  # for every stop of the slider
        for k in (0, 7, 30):
            nearest = [curve.find_nearest(k) for curve in shown.curves if not curve.is_plain]
            stated = [p for p in nearest if p is not None and p.locations is not None and (x == "locations" or p.flops)]
            across, up = drawn["rings"][str(k)]
            unit = [p.locations if x == "locations" else (p.flops or 0) / 1e9 for p in stated]
            assert across == pytest.approx(unit) and up == pytest.approx([100 * (p.top1 or 0) for p in stated])


def test_moving_the_slider_moves_nothing_else() -> None:
    one, other = chart(every("needles", looks=0)), chart(every("needles", looks=12))
    assert (one.pop("looks"), other.pop("looks")) == (0, 12) and one == other


def test_agreement_is_written_at_the_axis() -> None:
    apart = [data.key for data in CATALOGUE.data_sets if data.agreement]
    assert any(key.startswith("photographs") for key in apart)  # that of the card of its own
    for key in apart:
        assert "agreement with the backbone" in chart(every(key))["y"]["title"]
    assert "accuracy" in chart(every("cub-200-2011"))["y"]["title"]


def sentence(shown: Selection) -> str:
    drawn = chart(shown)
    assert not drawn["curves"] and not drawn["rings"]
    return " ".join(drawn["empty"])


def test_an_empty_chart_says_why_and_where_there_is_something() -> None:
    assert chart(every("nabirds"))["empty"] == []
    assert sentence(every("nabirds", "time")) == (
        "None of the ticked curves states a time per image. The paper does for ImageNet and fMoW."
    )
    assert sentence(every("nabirds", y="recall")) == (
        "None of the ticked curves states a recall. The paper does for ImageNet and fMoW."
    )
    assert sentence(select(CATALOGUE, "fmow", "locations", "top1", [], [], [], [], 1)) == "No curve is ticked."
    only = select(CATALOGUE, "imagenet", "locations", "recall", [], [], ["published/imagenet:DRAM"], [], 1)
    assert sentence(only) == "None of the ticked curves states a recall."


def test_names_are_text_in_the_chart_and_escaped_in_the_legend(tmp_path: Path) -> None:
    name = '<img src=x onerror="alert(1)">&'
    catalogue = Catalogue([card(tmp_path, EVALUATION, title=name)])
    shown = select_defaults(catalogue, "garden birds")
    (curve,) = chart(shown)["curves"]
    assert curve["label"] == curve["known"][0][0] == name  # the browser writes it as text
    assert "<img" not in render_legend(shown) and "&lt;img" in render_legend(shown)


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
