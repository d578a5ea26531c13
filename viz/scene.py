"""One traversed picture, ready to be shown at any budget."""

from __future__ import annotations

from dataclasses import dataclass

import plotly.graph_objects as go

from tnet_core import ImageSource, Trace
from viz import grid, ledger, looks, overlay, scores
from viz.fragments import heading, summary


@dataclass(frozen=True, eq=False)
class Scene:
    """What is made once per traversal. Holds no model and not the full image."""

    trace: Trace
    picture: str  # HTML
    crops: tuple[str, ...]  # data URIs, thumbnail first


@dataclass(frozen=True, eq=False)
class View:
    """A scene after its first k looks: HTML fragments and figures."""

    boxes: str
    summary: str
    scores_head: str
    scores: go.Figure
    ledger_head: str
    ledger: go.Figure
    looks: str
    grid_head: str
    grid: go.Figure


def prepare(trace: Trace, source: ImageSource, title: str) -> Scene:
    return Scene(trace, overlay.picture(source, title), looks.encode(trace))


def view(scene: Scene, k: int) -> View:
    """Re-aggregates cached features; a matrix product, never the backbone."""
    trace = scene.trace
    return View(
        boxes=overlay.boxes(trace, k),
        summary=summary(trace, k),
        scores_head=heading("Decision", scores.caption(trace, k)),
        scores=scores.figure(trace, k),
        ledger_head=heading("What each look was worth", ledger.caption(trace, k)),
        ledger=ledger.figure(trace, k),
        looks=heading("Looks", "What the network saw, at the resolution it saw it.")
        + looks.strip(trace, k, scene.crops),
        grid_head=heading("Where it wanted to look", grid.caption(trace)),
        grid=grid.figure(trace, k),
    )
