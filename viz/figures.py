"""A trace as plotly figures, for notebooks: `viz.figure(trace, "looks" | "ledger" | "levels" | "curve")`."""

from __future__ import annotations

import html
from collections.abc import Callable
from typing import Any

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from tnet_core import TNetError, Trace
from viz.common import style
from viz.common.text import compute_lift_bounds

_PICTURE_HEIGHT = 420  # CSS pixels
_ROW_HEIGHT = 26
_MAX_GRIDS = 9  # of "levels"; the first ones visited
_CURVES = 3  # classes of "curve"
_FONT_SIZE = 13
_DASHES = ("solid", "dash", "dot")


def build_figure(trace: Trace, kind: str) -> go.Figure:
    """Draw one aspect of a trace; `figure` of the package says which there are."""
    if kind not in _BUILDERS:
        raise TNetError(f"There is no figure {kind!r:.40}; choose one of {', '.join(_BUILDERS)}.")
    return _BUILDERS[kind](trace)


def build_layout(height: int, *, left: int, right: int, top: int = 4, bottom: int = 4) -> dict[str, Any]:
    """Build the layout of a still, transparent figure of a fixed height that takes the width it is given."""
    return {
        "template": "none",
        "height": height,
        "autosize": True,
        "margin": {"l": left, "r": right, "t": top, "b": bottom, "pad": 0},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"family": style.FONT, "size": _FONT_SIZE, "color": style.INK},
        "hoverlabel": {"font": {"family": style.FONT, "size": _FONT_SIZE}},
        "showlegend": False,
        # Dragging to zoom would catch the finger that wants to scroll.
        "dragmode": False,
    }


def build_axis(**changes: Any) -> dict[str, Any]:
    """Build an axis without ticks, grid or zoom."""
    plain = {"fixedrange": True, "showgrid": False, "zeroline": False, "ticks": "", "showline": False}
    return plain | changes


def build_looks(trace: Trace) -> go.Figure:
    """Draw the numbered looks on the thumbnail, or on an empty frame where the trace holds no pixels."""
    width, height = trace.image.width, trace.image.height
    figure = go.Figure(layout=build_layout(_PICTURE_HEIGHT, left=4, right=4))
    if trace.seen is not None:
        across, down = width / trace.thumbnail.shape[1], height / trace.thumbnail.shape[0]
        picture = go.Image(z=trace.thumbnail, dx=across, dy=down, x0=across / 2, y0=down / 2, hoverinfo="skip")
        figure.add_trace(picture)
    else:
        figure.add_shape(type="rect", x0=0, y0=0, x1=width, y1=height, line={"color": style.HAIRLINE})
    for number, look in enumerate(trace.locations, 1):
        x0, y0, x1, y1 = look.box[0] * width, look.box[1] * height, look.box[2] * width, look.box[3] * height
        figure.add_shape(type="rect", x0=x0, y0=y0, x1=x1, y1=y1, line={"color": style.ACCENT, "width": 2})
        figure.add_annotation(
            x=x0, y=y0, text=str(number), xanchor="left", yanchor="top", showarrow=False, bgcolor=style.ACCENT,
            font={"color": "white"},
        )  # fmt: skip
    figure.update_xaxes(build_axis(range=[0, width], showticklabels=False, constrain="domain"))
    figure.update_yaxes(
        build_axis(range=[height, 0], showticklabels=False, constrain="domain", scaleanchor="x", scaleratio=1)
    )
    return figure


def build_ledger(trace: Trace) -> go.Figure:
    """Draw the exact shares that add up to the predicted class's logit, first the thumbnail's, last the bias."""
    shares = trace.contributions(trace.prediction)
    names = ["thumbnail" if look is None else f"look {look + 1}" for look in shares.looks] + ["bias"]
    values = [*map(float, shares.values), shares.bias]
    bars = go.Bar(
        x=values, y=names, orientation="h", text=[f"{value:+.3f}" for value in values], textposition="outside",
        cliponaxis=False, marker_color=[style.FOR if value >= 0 else style.AGAINST for value in values],
        hoverinfo="skip",
    )  # fmt: skip
    figure = go.Figure(bars, build_layout(70 + _ROW_HEIGHT * len(names), left=80, right=60, top=40, bottom=20))
    figure.update_layout(title_text=f"{_name(trace, trace.prediction)}: logit {shares.total:+.3f}")
    figure.update_xaxes(build_axis(zeroline=True, zerolinecolor=style.HAIRLINE))
    return figure.update_yaxes(build_axis(autorange="reversed"))


def build_levels(trace: Trace) -> go.Figure:
    """Draw every grid visited, the thumbnail's first: lift of its cells over chance, with the looks' numbers."""
    grids = trace.distributions[:_MAX_GRIDS]
    if not grids:
        raise TNetError("This trace has no grid: its model takes no looks.")
    numbers = {(look.parent, look.index): str(number) for number, look in enumerate(trace.locations, 1)}
    titles = ["thumbnail" if grid.parent is None else f"look {grid.parent + 1}" for grid in grids]
    columns = min(len(grids), 3)
    rows = -(-len(grids) // columns)
    figure = make_subplots(rows=rows, cols=columns, subplot_titles=titles)
    low, high = compute_lift_bounds(trace.config.cells)
    for position, grid in enumerate(grids):
        side = grid.lift.shape[0]
        texts = np.array([numbers.get((grid.parent, cell), "") for cell in range(grid.cells)]).reshape(side, side)
        heat = go.Heatmap(
            z=grid.lift, text=texts, texttemplate="%{text}", zmin=low, zmax=high, colorscale="Cividis", xgap=1, ygap=1,
            showscale=position == 0, colorbar={"title": "lift"}, hovertemplate="lift %{z:.2f}<extra></extra>",
        )  # fmt: skip
        figure.add_trace(heat, row=position // columns + 1, col=position % columns + 1)
        figure.update_yaxes(scaleanchor=_name_axis(position), row=position // columns + 1, col=position % columns + 1)
    figure.update_layout(build_layout(60 + 260 * rows, left=10, right=10, top=40, bottom=10))
    figure.update_xaxes(build_axis(showticklabels=False, constrain="domain"))
    return figure.update_yaxes(build_axis(showticklabels=False, constrain="domain", autorange="reversed"))


def _name_axis(position: int) -> str:
    """Return plotly's name of the x axis of a subplot, which its y axis keeps square cells with."""
    return "x" if position == 0 else f"x{position + 1}"


def build_curve(trace: Trace) -> go.Figure:
    """Draw the probability of the likeliest classes after every number of looks, in the order they were taken."""
    counts = list(range(len(trace.locations) + 1))
    probabilities = np.stack([trace.probabilities(k) for k in counts])
    best = np.argsort(-probabilities[-1], kind="stable")[:_CURVES]
    lines = [
        go.Scatter(
            x=counts, y=probabilities[:, cls], name=_name(trace, int(cls)), mode="lines+markers",
            line={"color": style.ACCENT if order == 0 else style.STRONG, "dash": _DASHES[order]},
            hovertemplate="%{x} looks: %{y:.1%}",
        )
        for order, cls in enumerate(best)
    ]  # fmt: skip
    figure = go.Figure(lines, build_layout(320, left=60, right=10, top=10, bottom=50))
    figure.update_layout(showlegend=True)
    figure.update_xaxes(build_axis(title="looks", dtick=max(len(counts) // 10, 1)))
    return figure.update_yaxes(build_axis(title="probability", range=[0, 1.02], tickformat=".0%", showgrid=True))


def _name(trace: Trace, cls: int) -> str:
    return html.escape(trace.class_name(cls)[:60])  # plotly reads some HTML in texts


_BUILDERS: dict[str, Callable[[Trace], go.Figure]] = {
    "looks": build_looks,
    "ledger": build_ledger,
    "levels": build_levels,
    "curve": build_curve,
}
