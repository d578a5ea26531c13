"""Turns a `Trace` or an evaluation into HTML, JSON and plotly figures, one folder per tab. Runs no model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from tnet_core import Trace


def figure(trace: Trace, kind: Literal["looks", "ledger", "levels", "curve"]) -> go.Figure:
    """Return a plotly figure of a trace.

    "looks": the numbered looks on the picture. "ledger": how the logit of the predicted class adds up. "levels": lift
    over chance of every cell, grid by grid. "curve": the likeliest classes' probabilities after every look.
    """
    from viz.figures import build_figure  # plotly is imported when it is needed

    return build_figure(trace, kind)
