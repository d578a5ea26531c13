"""The decision: the most probable classes after the first k looks."""

from __future__ import annotations

import html

import numpy as np
import plotly.graph_objects as go

from tnet_core import Trace
from viz import style
from viz.numbers import percent, short

_ROW = 30  # pixels per class


def top_classes(trace: Trace, k: int, count: int) -> list[int]:
    """Most probable first, ties to the lower class number."""
    return np.argsort(-trace.logits(k), kind="stable")[:count].tolist()


def figure(trace: Trace, k: int, count: int = 5) -> go.Figure:
    """Bars on a fixed scale of 0 to 100 %, so that two budgets compare at a glance."""
    classes = top_classes(trace, k, count)
    logits, probabilities = trace.logits(k), trace.probabilities(k)
    shares = [float(probabilities[c]) for c in classes]
    values = [float(logits[c]) for c in classes]
    bars = go.Bar(
        orientation="h",
        y=list(range(len(classes))),
        x=[100 * share for share in shares],
        text=[f"<b>{percent(p)}</b>  logit {short(v)}" for p, v in zip(shares, values, strict=True)],
        textposition="outside",
        cliponaxis=False,
        constraintext="none",
        marker={"color": [style.STRONG, *[style.WEAK] * (len(classes) - 1)], "cornerradius": 2},
        customdata=values,
        hovertemplate="%{x:.4f} %, logit %{customdata:.5f}<extra></extra>",
    )
    names = [html.escape(trace.class_name(c)) for c in classes]
    if names:
        names[0] = f"<b>{names[0]}</b>"
    layout = style.layout(_ROW * len(classes) + 8, left=84, right=8)
    return go.Figure(bars, layout).update_layout(
        bargap=0.36,
        xaxis=style.axis(range=[0, 100], showticklabels=False),
        yaxis=style.axis(
            autorange="reversed",
            tickmode="array",
            tickvals=list(range(len(names))),
            ticktext=names,
            ticklabelstandoff=6,
        ),
    )


def caption(trace: Trace, k: int) -> str:
    """Plain text."""
    total = f"Softmax over {len(trace.bias)} classes, bars from 0 to 100 %."
    if k == 0:
        return f"{total} Decided from the thumbnail alone."
    first = top_classes(trace, 0, 1)[0]
    return f"{total} From the thumbnail alone: {trace.class_name(first)}, {percent(trace.probabilities(0)[first])}."
