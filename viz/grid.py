"""Where the network wanted to look: lift over uniform of every cell of the thumbnail's grid."""

from __future__ import annotations

import math

import numpy as np
import plotly.graph_objects as go

from tnet_core import Trace
from viz import style
from viz.numbers import times
from viz.selection import Shown, chosen, labels

_CELL_HEIGHT = 44
_LARGEST_WRITTEN = 7  # beyond this many cells per side numbers do not fit
_SCALE = [[0.0, "rgba(107, 122, 153, 0.04)"], [1.0, "rgba(107, 122, 153, 0.78)"]]


def lift_bounds(cells: int) -> tuple[float, float]:
    """Smallest and largest lift possible when logits have unit length.

    The extreme is one cell against all others being equal: their logits then differ by sqrt(n / (n - 1)).
    """
    ratio = math.exp(math.sqrt(cells / (cells - 1)))
    return tuple(cells * r / (r + cells - 1) for r in (1 / ratio, ratio))  # type: ignore[return-value]


def figure(trace: Trace, shown: Shown) -> go.Figure:
    """A fixed scale: the same tint means the same lift for every image and every checkpoint."""
    if not trace.distributions:
        return go.Figure(layout=style.layout(60, left=0, right=0))
    grid = trace.distributions[0]
    lift = grid.lift.astype(float)
    n = lift.shape[0]
    low, high = lift_bounds(grid.cells)
    called = labels(trace)
    taken = chosen(trace, shown)
    numbers = {look.index: called[p] for p in taken if (look := trace.locations[p]).parent is None}
    heat = go.Heatmap(
        z=np.log2(lift).tolist(),  # a factor of two up and down is the same step of tint
        zmin=math.log2(low),
        zmax=math.log2(high),
        colorscale=_SCALE,
        customdata=lift.tolist(),
        text=_labels(lift, numbers),
        textfont={"size": 12},
        texttemplate="%{text}" if n <= _LARGEST_WRITTEN else None,
        hovertemplate="row %{y}, column %{x}: lift %{customdata:.4f}<extra></extra>",
        xgap=2,
        ygap=2,
        colorbar=_colour_bar(low, high),
    )
    layout = style.layout(_CELL_HEIGHT * min(n, _LARGEST_WRITTEN) + 16, left=0, right=4, top=8, bottom=8)
    figure = go.Figure(heat, layout).update_layout(
        xaxis=style.axis(showticklabels=False, range=[-0.5, n - 0.5]),
        yaxis=style.axis(showticklabels=False, range=[n - 0.5, -0.5]),
    )
    if taken:  # the newest look, or the cell it lies in
        row, column = divmod(trace.locations[taken[-1]].path[0], n)
        outline = {"color": style.ACCENT, "width": 2.5}
        figure.add_shape(x0=column - 0.48, x1=column + 0.48, y0=row - 0.47, y1=row + 0.47, line=outline)
    return figure


def _labels(lift: np.ndarray, numbers: dict[int, str]) -> list[list[str]]:
    """The lift, under the number of the look where one was taken."""
    flat = [
        f"<b>{numbers[index]}</b><br>{times(value)}" if index in numbers else times(value)
        for index, value in enumerate(lift.ravel().tolist())
    ]
    n = lift.shape[0]
    return [flat[row * n : (row + 1) * n] for row in range(n)]


def _colour_bar(low: float, high: float) -> dict[str, object]:
    marks = [low, 1.0, high]
    return {
        "thickness": 8,
        "len": 1.0,
        "ypad": 0,
        "xpad": 8,
        "outlinewidth": 0,
        "tickvals": [math.log2(mark) for mark in marks],
        "ticktext": [f"\N{EN SPACE}{times(mark)}" for mark in marks],  # the space keeps them off the bar
        "ticks": "",
        "ticklabeloverflow": "allow",  # or the marks at the two ends vanish
    }


def caption(trace: Trace) -> str:
    """Plain text: what it shows, and why not the probabilities themselves."""
    if not trace.distributions:
        return "This model looks at the whole image once: there is no grid."
    cells = trace.distributions[0].cells
    low, high = lift_bounds(cells)
    which = "The thumbnail's grid. " if trace.levels > 2 else ""
    return (
        f"{which}How much likelier than chance each cell was, 1× being uniform; bold numbers are looks. Raw "
        f"probabilities look flat whatever was learned, because location logits are L2-normalised before the softmax: "
        f"with {cells} cells lift stays within {times(low)} and {times(high)}, the ends of this fixed scale."
    )
