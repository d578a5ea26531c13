"""The decision: the most probable classes after some looks."""

from __future__ import annotations

import html
from typing import Any

import numpy as np
import plotly.graph_objects as go

from tnet_core import Trace
from viz import style
from viz.names import class_name
from viz.numbers import percent, short
from viz.selection import Shown, chosen

_ROW = 40  # pixels per class: a line of text, and its bar below


def top_classes(trace: Trace, shown: Shown, count: int) -> list[int]:
    """Most probable first, ties to the lower class number."""
    return np.argsort(-trace.logits(subset=chosen(trace, shown)), kind="stable")[:count].tolist()


def figure(trace: Trace, shown: Shown, count: int = 5) -> go.Figure:
    """Bars on a fixed scale of 0 to 100 %, so that two budgets compare at a glance.

    Names and numbers stand above their bars: a long name takes no room from them, on any screen.
    """
    looks = chosen(trace, shown)
    classes = top_classes(trace, shown, count)
    logits, probabilities = trace.logits(subset=looks), trace.probabilities(subset=looks)
    shares = [float(probabilities[c]) for c in classes]
    values = [float(logits[c]) for c in classes]
    bars = go.Bar(
        orientation="h",
        y=list(range(len(classes))),
        x=[100 * share for share in shares],
        width=0.22,
        marker={"color": [style.STRONG, *[style.WEAK] * (len(classes) - 1)], "cornerradius": 2},
        customdata=values,
        hovertemplate="%{x:.4f} %, logit %{customdata:.5f}<extra></extra>",
    )
    layout = style.layout(_ROW * len(classes) + 8, left=1, right=1)
    return go.Figure(bars, layout).update_layout(
        xaxis=style.axis(range=[0, 100], showticklabels=False),
        yaxis=style.axis(range=[len(classes) - 0.75, -0.75], showticklabels=False),
        shapes=[_track(row) for row in range(len(classes))],
        annotations=[
            note
            for row, (cls, share, value) in enumerate(zip(classes, shares, values, strict=True))
            for note in _line(row, html.escape(class_name(trace, cls)), share, value)
        ],
    )


def _track(row: int) -> dict[str, Any]:
    """The whole scale, under the bar."""
    tint = {"fillcolor": style.FAINT, "line": {"width": 0}, "layer": "below"}
    return tint | {"type": "rect", "x0": 0, "x1": 100, "y0": row - 0.11, "y1": row + 0.11}


def _line(row: int, name: str, share: float, value: float) -> list[dict[str, Any]]:
    """Name to the left and numbers to the right, above the bar."""
    plain = {"showarrow": False, "xref": "paper", "yref": "y", "y": row - 0.13, "yanchor": "bottom", "borderpad": 0}
    number = f"<b>{percent(share)}</b>"
    return [
        plain | {"x": 0, "xanchor": "left", "text": f"<b>{name}</b>" if row == 0 else name},
        plain | {"x": 1, "xanchor": "right", "text": f"logit {short(value)}\N{EM SPACE}{number}"},
    ]


def caption(trace: Trace, shown: Shown) -> str:
    """Plain text."""
    total = f"Softmax over {len(trace.bias)} classes, bars from 0 to 100 %."
    if not chosen(trace, shown):
        return f"{total} Decided from the thumbnail alone."
    first = top_classes(trace, 0, 1)[0]
    return f"{total} From the thumbnail alone: {class_name(trace, first)}, {percent(trace.probabilities(0)[first])}."
