"""The chart: accuracy or area against looks, FLOPs or time."""

from __future__ import annotations

import html
import math
import textwrap
from pathlib import Path
from typing import Any

import plotly.graph_objects as go

from viz.accuracy import plot_curves
from viz.accuracy.curve_styles import assign_styles
from viz.accuracy.plot_curves import PointsByCurve, find_right_end
from viz.accuracy.published import read_published_curves
from viz.accuracy.selection import Selection, x_value, y_interval, y_value
from viz.common import style
from viz.common.text import format_look_count

HEIGHT = 440
_MAX_LINE = 40  # characters of a sentence in the chart, on a narrow screen too
_GRID_COLOUR = "rgba(128, 136, 150, 0.22)"


def build_figure(shown: Selection) -> go.Figure:
    """Draw everything selected that has both values; a sentence where nothing has."""
    points, found = plot_curves.find_drawn_points(shown), assign_styles(shown.data)
    curves = [curve for curve in shown.curves if curve.id in points]
    bands = [
        plot_curves.build_band(curve, points[curve.id], found[curve.id], shown) for curve in curves if not curve.role
    ]
    lines = [plot_curves.build_line(curve, points[curve.id], found[curve.id], shown) for curve in curves]
    layout = style.build_layout(HEIGHT, left=46, right=14, top=44, bottom=48)
    drawn = [trace for trace in (*bands, *lines) if trace is not None]
    if points:
        drawn.append(plot_curves.build_rings(shown, points))  # the last one: `accuracy.js` moves it
    return go.Figure(drawn, layout).update_layout(
        xaxis=build_x_axis(shown, points),
        yaxis=build_y_axis(shown, points),
        annotations=[
            build_y_title(shown),
            *build_slider_label(shown, points),
            *([] if points else [_build_empty_note(shown)]),
        ],
        shapes=build_slider_line(shown, points),
        hovermode="closest",
        meta={
            "rings": {
                str(k): plot_curves.find_ring_places(shown.with_looks(k), points) for k in shown.data.slider_stops
            }
        }
        if points
        else None,
    )


def read_slider_script() -> str:
    """Return the JavaScript function of the number of looks that moves rings, line and table in the browser."""
    return Path(__file__).with_name("accuracy.js").read_text(encoding="utf-8")


def _build_empty_note(shown: Selection) -> dict[str, Any]:
    middle = {"xref": "paper", "yref": "paper", "x": 0.5, "y": 0.5, "align": "center"}
    lines = [line for sentence in explain_empty_chart(shown) for line in textwrap.wrap(sentence, _MAX_LINE)]
    return {"text": "<br>".join(map(html.escape, lines)), "showarrow": False, **middle}


def explain_empty_chart(shown: Selection) -> list[str]:
    """Say why the chart is empty, and where there is something to see."""
    if not shown.curves:
        return ["No curve is ticked."]
    points = [point for curve in shown.curves for point in curve.points]
    lacks_y = all(y_value(point, shown.y) is None for point in points)
    value = shown.y.missing if lacks_y else shown.x.missing
    there = list(
        dict.fromkeys(
            curve.data_set
            for curve in read_published_curves()
            for point in curve.points
            if (y_value(point, shown.y) if lacks_y else x_value(point, shown.x)) is not None
        )
    )
    elsewhere = [f"The paper does for {' and '.join(there)}."] if there and shown.data.name not in there else []
    return [f"None of the ticked curves states {value}.", *elsewhere]


def build_x_axis(shown: Selection, drawn: PointsByCurve) -> dict[str, Any]:
    title = {"text": shown.x.title, "standoff": 10, "font": {"size": style.FONT_SIZE}}
    common = style.build_axis(showgrid=False, showline=True, linecolor=style.HAIRLINE, ticks="outside", ticklen=4,
                        tickcolor=style.HAIRLINE, title=title, visible=bool(drawn))  # fmt: skip
    if shown.x.name == "locations":
        most = shown.data.max_looks
        step = next(step for step in (1, 2, 5, 10, 20, 50, 100, 200) if most / step <= 12)
        spare = 0.03 * most
        return common | {"range": [-spare, find_right_end(shown) + spare], "tickvals": list(range(0, most + 1, step))}
    values = [x for points in drawn.values() for point in points if (x := x_value(point, shown.x))]
    if shown.x.name == "flops":
        low, high = math.log10(min(values, default=1)), math.log10(max(values, default=10))
        spare = max(0.06 * (high - low), 0.05)
        return common | {
            "type": "log",
            "range": [low - spare, high + spare],
            **_decade_ticks(low - spare, high + spare),
        }
    return common | {"range": [0, 1.06 * max(values, default=1)], "nticks": 8}


def _decade_ticks(low: float, high: float) -> dict[str, Any]:
    """Put ticks at 1, 2 and 5 of every decade, written without exponents."""
    decades = range(math.floor(low), math.ceil(high) + 1)
    values = [leading * 10.0**decade for decade in decades for leading in (1, 2, 5)]
    shown = [value for value in values if low <= math.log10(value) <= high]
    if len(shown) < 2:  # a single model: its own decade is enough
        return {"nticks": 4, "tickformat": "~g"}
    return {"tickvals": shown, "ticktext": [f"{value:g}" for value in shown]}


def build_y_axis(shown: Selection, drawn: PointsByCurve) -> dict[str, Any]:
    """Build an axis around everything that is drawn, so that moving the slider does not move it."""
    values = []
    for curve in shown.curves:
        for point in drawn.get(curve.id, ()):
            values.append(y_value(point, shown.y) or 0.0)
            values += () if curve.role else y_interval(point, shown.y) or ()
    low, high = 100 * min(values, default=0.0), 100 * max(values, default=1.0)
    spare = max(0.06 * (high - low), 1.0)
    bounds = [max(low - spare, -2.0), min(high + spare, 102.0)]
    return style.build_axis(
        showgrid=True, gridcolor=_GRID_COLOUR, range=bounds, ticksuffix=" %", nticks=7, visible=bool(drawn)
    )


def format_y_title(shown: Selection) -> str:
    if shown.data.agreement and shown.y.name in ("top1", "top5"):
        return f"{shown.y.choice} agreement with the backbone's answer for the whole image"
    return shown.y.title


def build_y_title(shown: Selection) -> dict[str, Any]:
    """Put the name of the vertical axis above it, where it takes no width."""
    return {
        "text": f"<b>{format_y_title(shown)}</b>", "showarrow": False, "xref": "paper", "yref": "paper", "x": 0,
        "xshift": -40, "y": 1, "yshift": 22, "xanchor": "left", "yanchor": "bottom", "align": "left",
    }  # fmt: skip


def build_slider_line(shown: Selection, drawn: PointsByCurve) -> list[dict[str, Any]]:
    """Build the line among looks; elsewhere none, since the same looks cost every model something else."""
    if shown.x.name != "locations" or not drawn:
        return []
    line = {"color": style.ACCENT, "width": 1.5, "dash": "2px,3px"}
    return [
        {"type": "line", "x0": shown.looks, "x1": shown.looks, "y0": 0, "y1": 1, "yref": "paper", "line": line,
         "layer": "below", "name": "slider"}
    ]  # fmt: skip


def build_slider_label(shown: Selection, drawn: PointsByCurve) -> list[dict[str, Any]]:
    if not build_slider_line(shown, drawn):
        return []
    return [
        {"text": format_look_count(shown.looks), "x": shown.looks, "xanchor": "center", "y": 1, "yref": "paper",
         "yanchor": "bottom", "showarrow": False, "name": "slider"}
    ]  # fmt: skip
