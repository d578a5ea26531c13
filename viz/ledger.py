"""What each look was worth: exact signed contributions to the logit of the predicted class."""

from __future__ import annotations

import plotly.graph_objects as go

from tnet_core import Contributions, Trace
from viz import style
from viz.names import class_name
from viz.numbers import fixed, short, signed
from viz.scores import top_classes
from viz.selection import Shown, chosen, labels

_ROW = 22  # pixels per look
_HEAD = 24  # line of column names


def names(trace: Trace, shown: Shown) -> list[str]:
    """Context first, then looks by number."""
    called = labels(trace)
    return ["context", *(f"look {called[position]}" for position in chosen(trace, shown))]


def shares_of(trace: Trace, shown: Shown, cls: int | None = None) -> Contributions:
    """Contributions to a class, by default the one predicted from these looks."""
    target = top_classes(trace, shown, 1)[0] if cls is None else cls
    return trace.contributions(target, subset=chosen(trace, shown))


def figure(trace: Trace, shown: Shown, cls: int | None = None) -> go.Figure:
    """Bars from a zero line in the middle, with the weight of each look in a column of its own."""
    shares = shares_of(trace, shown, cls)
    values = [float(value) for value in shares.values]
    weights = [float(weight) for weight in trace.weights(subset=chosen(trace, shown))]
    rows = list(range(len(values)))
    bars = go.Bar(
        orientation="h",
        y=rows,
        x=values,
        text=[signed(value) for value in values],
        textposition="outside",
        cliponaxis=False,
        constraintext="none",
        marker={"color": [style.FOR if value >= 0 else style.AGAINST for value in values], "cornerradius": 2},
        customdata=weights,
        hovertemplate="contribution %{x:+.5f}, weight %{customdata:.5f}<extra></extra>",
    )
    called = names(trace, shown)
    if len(called) > 1:
        called[-1] = f'<span style="color:{style.ACCENT}"><b>{called[-1]}</b></span>'
    # The widest bar ends at about two thirds of its side: its number stands outside.
    reach = 1.55 * max([abs(value) for value in values] + [1e-6])
    left = 62 + 10 * max(0, trace.levels - 2)  # "look 1.1" is longer than "look 1"
    layout = style.layout(_HEAD + _ROW * len(rows) + 6, left=left, right=58, top=_HEAD)
    return go.Figure(bars, layout).update_layout(
        bargap=0.3,
        xaxis=style.axis(range=[-reach, reach], showticklabels=False, zeroline=True, zerolinecolor=style.HAIRLINE),
        yaxis=style.axis(
            range=[len(rows) - 0.5, -0.5], tickmode="array", tickvals=rows, ticktext=called, ticklabelstandoff=6
        ),
        annotations=_columns(weights),
    )


def _columns(weights: list[float]) -> list[dict[str, object]]:
    plain = {"showarrow": False, "xref": "paper", "yref": "paper", "yanchor": "bottom", "y": 1.0, "yshift": 4}
    heads = [
        plain | {"x": 0.25, "xanchor": "center", "text": "◂ against"},
        plain | {"x": 0.75, "xanchor": "center", "text": "for ▸"},
        plain | {"x": 1.0, "xanchor": "right", "xshift": 54, "text": "weight"},
    ]
    cells = [
        {"showarrow": False, "xref": "paper", "x": 1.0, "xanchor": "right", "xshift": 54,
         "yref": "y", "y": row, "yanchor": "middle", "text": short(weight)}
        for row, weight in enumerate(weights)
    ]  # fmt: skip
    return heads + cells


def caption(trace: Trace, shown: Shown, cls: int | None = None) -> str:
    """Plain text: the sum the bars stand for."""
    shares = shares_of(trace, shown, cls)
    total, bias = float(shares.values.sum()), shares.bias
    written = f"{'+' if bias >= 0 else '−'} bias {fixed(abs(bias))}"
    return (
        f"Exact shares of the logit of {class_name(trace, shares.cls)}: sum {fixed(total)} {written} = "
        f"logit {fixed(shares.total)}. A weight is not a contribution: a heavy look can argue against the class."
    )
