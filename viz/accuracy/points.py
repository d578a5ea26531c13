"""What is drawn of a curve: its line, its interval, and where the slider meets it."""

from __future__ import annotations

import html
from typing import Any

import plotly.graph_objects as go

from viz.accuracy.curve_styles import CurveStyle, make_translucent
from viz.accuracy.selection import Selection, x_value, y_interval, y_value
from viz.common import style
from viz.common.curves import Curve, CurvePoint, Interval, format_point_looks
from viz.common.text import (
    format_accuracy,
    format_flops,
    format_gigabytes,
    format_interval,
    format_milliseconds,
    format_percent,
)

PointsByCurve = dict[str, list[CurvePoint]]  # the points of each curve that both axes can show, by id
_EDGE = 0.06  # of the width, beyond the last number of looks: there the levels of plain classifiers are marked


def find_drawn_points(shown: Selection) -> PointsByCurve:
    """Find the points that both axes can show; curves without any are left out."""
    found: PointsByCurve = {}
    for curve in shown.curves:
        level = _is_level(curve, shown)  # needs no number of looks
        points = [p for p in curve.points if level or x_value(p, shown.x) is not None]
        points = [p for p in points if y_value(p, shown.y) is not None]
        if points:
            found[curve.id] = points
    return found


def find_right_end(shown: Selection) -> float:
    """Return the right end of the axis of looks."""
    return shown.data.max_looks * (1 + _EDGE)


def build_line(curve: Curve, points: list[CurvePoint], mark: CurveStyle, shown: Selection) -> go.Scatter:
    """Draw a curve; a plain classifier is a level among looks, and elsewhere a point with its interval."""
    level, single = _is_level(curve, shown), len(points) == 1
    x = _find_level_x(shown) if level else [x_value(point, shown.x) for point in points]
    repeated = points * len(x) if level else points
    modes = "lines" if not mark.size else "markers" if single and not level else "lines+markers"
    return go.Scatter(
        x=x,
        y=[to_percent(y_value(point, shown.y)) for point in repeated],
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
        error_y=_build_error_bar(points[0], mark, shown) if single and not level else None,
        text=["<br>".join(map(html.escape, list_known(curve, point))) for point in repeated],
        hovertemplate="%{text}<extra></extra>",
        cliponaxis=level,
    )


def build_band(curve: Curve, points: list[CurvePoint], mark: CurveStyle, shown: Selection) -> go.Scatter | None:
    """Draw the intervals of a curve as an area behind it."""
    stated = [(x_value(p, shown.x), ends) for p in points if (ends := y_interval(p, shown.y)) is not None]
    level = _is_level(curve, shown)
    if level:
        stated = [(x, ends) for x in _find_level_x(shown) for _, ends in stated[:1]]
    if len(stated) < 2:
        return None
    edge: list[tuple[float | None, float]] = [(x, low) for x, (low, _) in stated]
    edge += [(x, high) for x, (_, high) in reversed(stated)]
    return go.Scatter(
        x=[x for x, _ in edge],
        y=[100 * y for _, y in edge],
        mode="lines",
        fill="toself",
        fillcolor=make_translucent(mark.color, 0.09 if level else 0.15),
        line={"width": 0, "color": "rgba(0,0,0,0)"},
        hoverinfo="skip",
        name="",
        meta=f"interval of {curve.id}",
    )


def build_rings(shown: Selection, points: PointsByCurve) -> go.Scatter:
    """Mark the rows of the table on their curves. The browser moves these rings, so they exist even where empty."""
    x, y = find_ring_places(shown, points)
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


def find_ring_places(shown: Selection, points: PointsByCurve) -> tuple[list[float | None], list[float | None]]:
    """Find where the curves are at the slider's number of looks."""
    places = []
    for curve in shown.curves:
        point = curve.find_nearest(shown.looks)
        if point is not None and point.locations is not None and point in points.get(curve.id, ()):
            places.append(point)
    return [x_value(point, shown.x) for point in places], [to_percent(y_value(point, shown.y)) for point in places]


def to_percent(share: float | None) -> float | None:
    return None if share is None else 100 * share


def _is_level(curve: Curve, shown: Selection) -> bool:
    return curve.is_plain and shown.x.name == "locations"


def _find_level_x(shown: Selection) -> list[float]:
    """Return x from beyond the left border to the marker at the right, with one above every number of looks."""
    return [-find_right_end(shown), *map(float, range(shown.data.max_looks + 1)), find_right_end(shown)]


def _build_error_bar(point: CurvePoint, mark: CurveStyle, shown: Selection) -> dict[str, Any] | None:
    """Draw the interval of a single point."""
    ends: Interval | None = y_interval(point, shown.y)
    value = y_value(point, shown.y)
    if ends is None or value is None:
        return None
    above, below = 100 * (ends[1] - value), 100 * (value - ends[0])
    plain = {"type": "data", "thickness": 1.4, "width": 5, "color": mark.color}
    return plain | {"array": [above], "arrayminus": [below]}


def list_known(curve: Curve, point: CurvePoint) -> list[str]:
    """Return everything that is known of a point, in lines; the first is the curve's name."""
    agreement = " agreement" if curve.agreement else ""
    whose = {"measured": "measured here", "published": "printed in the paper", "peer": "published by others"}[
        curve.kind
    ]
    lines = [curve.label, whose + (", second hand" if curve.is_second_hand else "")]
    if point.locations is not None:
        lines.append(f"looks {format_point_looks(point)}")
    if point.threshold is not None:
        lines[-1] += f" (mean, threshold {point.threshold:g})"
    pairs = [
        (f"top-1{agreement}", format_accuracy(point.top1), format_interval(point.top1_interval)),
        (f"top-5{agreement}", format_accuracy(point.top5), format_interval(point.top5_interval)),
        ("", format_flops(point.flops), ""),
        ("", format_milliseconds(point.ms_per_image), curve.timed_on),
        ("", format_gigabytes(point.memory_gb), ""),
        ("coverage", format_percent(point.coverage), ""),
        ("precision", format_percent(point.precision), ""),
        ("recall", format_percent(point.recall), ""),
    ]
    lines += [f"{name} {value}{f' ({ends})' if ends else ''}".strip() for name, value, ends in pairs if value]
    return lines
