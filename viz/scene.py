"""One traversed picture, ready to be shown at any budget."""

from __future__ import annotations

from dataclasses import dataclass

import plotly.graph_objects as go

from tnet_core import ImageSource, Trace
from viz import grid, ledger, looks, overlay, scores
from viz.fragments import heading, summary
from viz.selection import Shown


@dataclass(frozen=True, eq=False)
class Scene:
    """What is made once per traversal. Holds no model and not the full image."""

    trace: Trace
    picture: str  # HTML
    crops: tuple[str, ...]  # data URIs, thumbnail first


@dataclass(frozen=True, eq=False)
class View:
    """A scene after some looks: HTML fragments and figures."""

    boxes: str
    summary: str
    scores_head: str
    scores: go.Figure
    ledger_head: str
    ledger: go.Figure
    looks: str
    grid_head: str
    grid: go.Figure


def prepare(trace: Trace, source: ImageSource, title: str, credit: str = "") -> Scene:
    return Scene(trace, overlay.picture(source, title, credit), looks.encode(trace))


def view(scene: Scene, shown: Shown) -> View:
    """Re-aggregates cached features; a matrix product, never the backbone."""
    trace = scene.trace
    return View(
        boxes=overlay.boxes(trace, shown),
        summary=summary(trace, shown),
        scores_head=heading("Decision", scores.caption(trace, shown)),
        scores=scores.figure(trace, shown),
        ledger_head=heading("What each look was worth", ledger.caption(trace, shown)),
        ledger=ledger.figure(trace, shown),
        looks=heading("Looks", "What the network saw, at the resolution it saw it.")
        + looks.strip(trace, shown, scene.crops),
        grid_head=heading("Where it wanted to look", grid.caption(trace)),
        grid=grid.figure(trace, shown),
    )
