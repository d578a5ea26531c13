"""What is drawn of a curve: its line, its interval, and where the slider meets it."""

from __future__ import annotations

import html
from typing import Any

import plotly.graph_objects as go

from viz.accuracy.hover import hover
from viz.accuracy.marks import Mark, tint
from viz.accuracy.metrics import interval_of, x_of, y_of
from viz.accuracy.selection import Selection
from viz.common import style
from viz.common.curves import Curve, Interval, Point

Drawn = dict[str, list[Point]]  # the points of each curve that both axes can show, by id
_EDGE = 0.06  # of the width, beyond the last number of looks: there the levels of plain classifiers are marked


def drawn(shown: Selection) -> Drawn:
    """Curves without any such point are left out."""
    found: Drawn = {}
    for curve in shown.curves:
        level = _is_level(curve, shown)  # needs no number of looks
        points = [p for p in curve.points if level or x_of(p, shown.x) is not None]
        points = [p for p in points if y_of(p, shown.y) is not None]
        if points:
            found[curve.id] = points
    return found


def right_end(shown: Selection) -> float:
    """Of the axis of looks."""
    return shown.data.most_looks * (1 + _EDGE)


def line(curve: Curve, points: list[Point], mark: Mark, shown: Selection) -> go.Scatter:
    """A plain classifier is a level among looks, and elsewhere a point with its interval."""
    level, single = _is_level(curve, shown), len(points) == 1
    x = _level_x(shown) if level else [x_of(point, shown.x) for point in points]
    repeated = points * len(x) if level else points
    modes = "lines" if not mark.size else "markers" if single and not level else "lines+markers"
    return go.Scatter(
        x=x,
        y=[percent(y_of(point, shown.y)) for point in repeated],
        mode=modes,
        name=html.escape(curve.label),
        meta=curve.id,
        line={"color": mark.color, "width": mark.width, "dash": mark.dash},
        marker={
            "color": mark.color,
            "symbol": mark.symbol if mark.filled else f"{mark.symbol}-open",
            "size": mark.size + 2 if single else mark.size,
            "line": {"color": mark.color, "width": 0 if mark.filled else 1.8},
            "opacity": [0] * (len(x) - 1) + [1] if level else 1,
        },
        error_y=_error(points[0], mark, shown) if single and not level else None,
        text=[hover(curve, point) for point in repeated],
        hovertemplate="%{text}<extra></extra>",
        cliponaxis=level,
    )


def band(curve: Curve, points: list[Point], mark: Mark, shown: Selection) -> go.Scatter | None:
    """The intervals of a curve as an area behind it."""
    stated = [(x_of(p, shown.x), ends) for p in points if (ends := interval_of(p, shown.y)) is not None]
    level = _is_level(curve, shown)
    if level:
        stated = [(x, ends) for x in _level_x(shown) for _, ends in stated[:1]]
    if len(stated) < 2:
        return None
    edge: list[tuple[float | None, float]] = [(x, low) for x, (low, _) in stated]
    edge += [(x, high) for x, (_, high) in reversed(stated)]
    return go.Scatter(
        x=[x for x, _ in edge],
        y=[100 * y for _, y in edge],
        mode="lines",
        fill="toself",
        fillcolor=tint(mark.color, 0.09 if level else 0.15),
        line={"width": 0, "color": "rgba(0,0,0,0)"},
        hoverinfo="skip",
        name="",
        meta=f"interval of {curve.id}",
    )


def rings(shown: Selection, points: Drawn) -> go.Scatter:
    """The rows of the table, marked on their curves. Moved by the browser, so there even where it is empty."""
    x, y = ring_places(shown, points)
    return go.Scatter(
        x=x,
        y=y,
        mode="markers",
        marker={"symbol": "circle-open", "size": 17, "color": style.ACCENT, "line": {"width": 2}},
        hoverinfo="skip",
        name="",
        meta="slider",
        cliponaxis=False,
    )


def ring_places(shown: Selection, points: Drawn) -> tuple[list[float | None], list[float | None]]:
    """Where the curves are at the slider's number of looks."""
    places = []
    for curve in shown.curves:
        point = curve.nearest(shown.looks)
        if point is not None and not curve.plain and point in points.get(curve.id, ()):
            places.append(point)
    return [x_of(point, shown.x) for point in places], [percent(y_of(point, shown.y)) for point in places]


def percent(share: float | None) -> float | None:
    return None if share is None else 100 * share


def _is_level(curve: Curve, shown: Selection) -> bool:
    return curve.plain and shown.x.name == "locations"


def _level_x(shown: Selection) -> list[float]:
    """From beyond the left border to the marker at the right, with a place to point at above every number of looks."""
    return [-right_end(shown), *map(float, range(shown.data.most_looks + 1)), right_end(shown)]


def _error(point: Point, mark: Mark, shown: Selection) -> dict[str, Any] | None:
    """The interval of a single point."""
    ends: Interval | None = interval_of(point, shown.y)
    value = y_of(point, shown.y)
    if ends is None or value is None:
        return None
    above, below = 100 * (ends[1] - value), 100 * (value - ends[0])
    plain = {"type": "data", "thickness": 1.4, "width": 5, "color": mark.color}
    return plain | {"array": [above], "arrayminus": [below]}
