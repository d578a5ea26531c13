"""The chart: accuracy or area against looks, FLOPs or time."""

from __future__ import annotations

import html
import textwrap
from pathlib import Path
from typing import Any

import plotly.graph_objects as go

from viz.accuracy import axes, traces
from viz.accuracy.marks import marks
from viz.accuracy.metrics import x_of, y_of
from viz.accuracy.published import published_curves
from viz.accuracy.selection import Selection
from viz.common import style

HEIGHT = 440
_LINE = 40  # characters of a sentence in the chart, on a narrow screen too


def figure(shown: Selection) -> go.Figure:
    """Everything selected that has both values; a sentence where nothing has."""
    points, found = traces.drawn(shown), marks(shown.data)
    curves = [curve for curve in shown.curves if curve.id in points]
    bands = [traces.band(curve, points[curve.id], found[curve.id], shown) for curve in curves if not curve.role]
    lines = [traces.line(curve, points[curve.id], found[curve.id], shown) for curve in curves]
    layout = style.layout(HEIGHT, left=46, right=14, top=44, bottom=48)
    drawn = [trace for trace in (*bands, *lines) if trace is not None]
    if points:
        drawn.append(traces.rings(shown, points))  # the last one: `accuracy.js` moves it
    return go.Figure(drawn, layout).update_layout(
        xaxis=axes.x_axis(shown, points),
        yaxis=axes.y_axis(shown, points),
        annotations=[axes.title(shown), *axes.slider_label(shown, points), *([] if points else [_nothing(shown)])],
        shapes=axes.slider_line(shown, points),
        hovermode="closest",
        meta={"rings": {str(k): traces.ring_places(shown.at(k), points) for k in shown.data.stops}} if points else None,
    )


def slider_script() -> str:
    """Moves rings, line and table in the browser: JavaScript, a function of the number of looks."""
    return Path(__file__).with_name("accuracy.js").read_text(encoding="utf-8")


def _nothing(shown: Selection) -> dict[str, Any]:
    middle = {"xref": "paper", "yref": "paper", "x": 0.5, "y": 0.5, "align": "center"}
    lines = [line for sentence in absence(shown) for line in textwrap.wrap(sentence, _LINE)]
    return {"text": "<br>".join(map(html.escape, lines)), "showarrow": False, **middle}


def absence(shown: Selection) -> list[str]:
    """Why the chart is empty, and where there is something to see."""
    if not shown.curves:
        return ["No curve is ticked."]
    points = [point for curve in shown.curves for point in curve.points]
    lacks_y = all(y_of(point, shown.y) is None for point in points)
    value = shown.y.missing if lacks_y else shown.x.missing
    there = list(
        dict.fromkeys(
            curve.data_set
            for curve in published_curves()
            for point in curve.points
            if (y_of(point, shown.y) if lacks_y else x_of(point, shown.x)) is not None
        )
    )
    elsewhere = [f"The paper does for {' and '.join(there)}."] if there and shown.data.name not in there else []
    return [f"None of the ticked curves states {value}.", *elsewhere]
