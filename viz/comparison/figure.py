"""The chart: accuracy or area against looks, FLOPs or time."""

from __future__ import annotations

import html
from typing import Any

import plotly.graph_objects as go

from viz import style
from viz.comparison import axes, traces
from viz.comparison.marks import marks
from viz.comparison.metrics import y_of
from viz.comparison.selection import Selection

HEIGHT = 440


def figure(shown: Selection) -> go.Figure:
    """Everything selected that has both values; a sentence where nothing has."""
    points, found = traces.drawn(shown), marks(shown.data)
    curves = [curve for curve in shown.curves if curve.id in points]
    bands = [traces.band(curve, points[curve.id], found[curve.id], shown) for curve in curves if not curve.role]
    lines = [traces.line(curve, points[curve.id], found[curve.id], shown) for curve in curves]
    layout = style.layout(HEIGHT, left=46, right=14, top=44, bottom=48)
    drawn = [trace for trace in (*bands, *lines, traces.rings(shown, points)) if trace is not None]
    return go.Figure(drawn, layout).update_layout(
        xaxis=axes.x_axis(shown, points),
        yaxis=axes.y_axis(shown, points),
        annotations=[axes.title(shown), *axes.slider_label(shown, points), *([] if points else [_nothing(shown)])],
        shapes=axes.slider_line(shown, points),
        hovermode="closest",
    )


def _nothing(shown: Selection) -> dict[str, Any]:
    middle = {"xref": "paper", "yref": "paper", "x": 0.5, "y": 0.5, "align": "center"}
    return {"text": html.escape(absence(shown)), "showarrow": False, **middle}


def absence(shown: Selection) -> str:
    """Why the chart is empty."""
    if not shown.curves:
        return "No curve is ticked."
    value = (
        shown.y.missing if all(y_of(p, shown.y) is None for c in shown.curves for p in c.points) else shown.x.missing
    )
    return f"None of the ticked curves states {value}."
