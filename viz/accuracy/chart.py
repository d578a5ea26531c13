"""The chart: accuracy or area against looks, FLOPs or time, as a figure and as data for the browser.

`viz/web/accuracy/chart.js` draws what the figure holds.
"""

from __future__ import annotations

import html
import json
import math
import textwrap
from typing import Any

import plotly.graph_objects as go

from viz.accuracy import plot_curves
from viz.accuracy.curve_styles import assign_styles
from viz.accuracy.plot_curves import PointsByCurve, find_drawn_points, find_right_end, list_known
from viz.accuracy.published import read_published_curves
from viz.accuracy.selection import Selection, x_value, y_interval, y_value
from viz.common import style
from viz.common.text import format_look_count

HEIGHT = 440
_MAX_LINE = 40  # characters of a sentence in the chart, on a narrow screen too
_GRID_COLOUR = "rgba(128, 136, 150, 0.22)"
_OF_AXES = ("range", "type", "tickvals", "ticktext")


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
        drawn.append(plot_curves.build_rings(shown, points))  # the last one: viz/web/accuracy moves it
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


def build_chart_payload(shown: Selection) -> str:
    """Return lines, bands and axes as JSON, with the places of the rings for every stop of the slider."""
    figure, points, styles = build_figure(shown), find_drawn_points(shown), assign_styles(shown.data)
    traces = {trace.meta: trace for trace in figure.data}
    curves = [
        {
            "id": curve.id,
            "kind": curve.kind,
            "label": curve.label,
            "style": _describe_style(styles[curve.id]),
            "known": [list_known(curve, point) for point in points[curve.id]],
            **_describe_trace(traces[curve.id]),
            "band": _describe_band(traces.get(f"interval of {curve.id}")),
        }
        for curve in shown.curves
        if curve.id in points
    ]
    payload = {
        "height": HEIGHT,
        "curves": curves,
        "x": _describe_axis(figure.layout.xaxis) | {"title": shown.x.title},
        "y": _describe_axis(figure.layout.yaxis) | {"title": format_y_title(shown)},
        "looks": shown.looks,
        "slides": shown.x.name == "locations",  # elsewhere the same looks cost every model something else
        "rings": figure.layout.meta["rings"] if points else {},
        "empty": [] if points else explain_empty_chart(shown),
    }
    return json.dumps(payload, separators=(",", ":"))


def _describe_trace(trace: Any) -> dict[str, Any]:
    """Return where a curve runs; a level has one marker, at its end, and a single point its interval."""
    is_level = not isinstance(trace.marker.opacity, (int, float))
    bar = trace.error_y
    return {
        "x": list(trace.x),
        "y": list(trace.y),
        "level": is_level,
        "joined": trace.mode != "markers",
        "marked": trace.mode != "lines",
        "bar": [bar.arrayminus[0], bar.array[0]] if bar.array is not None else None,
    }


def _describe_band(trace: Any) -> dict[str, Any] | None:
    return None if trace is None else {"x": list(trace.x), "y": list(trace.y), "fill": trace.fillcolor}


def _describe_style(style: Any) -> dict[str, Any]:
    return {
        "color": style.color,
        "width": style.width,
        "dashes": style.dashes,
        "outline": style.outline if style.size else "",
        "filled": style.filled,
        "size": style.size,
    }


def _describe_axis(axis: Any) -> dict[str, Any]:
    return {name: list(value) if isinstance(value, tuple) else value for name in _OF_AXES if (value := axis[name])}
