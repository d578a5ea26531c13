"""The chart as data for the browser: accuracy or area against looks, FLOPs or time. `viz/web/accuracy` draws it."""

from __future__ import annotations

import json
import math
from typing import Any

from viz.accuracy.curve_styles import CurveStyle, assign_styles, make_translucent
from viz.accuracy.points import PointsByCurve, find_drawn_points, is_level, list_known
from viz.accuracy.published import read_published_curves
from viz.accuracy.selection import Selection, x_value, y_interval, y_value
from viz.common.curves import Curve, CurvePoint

HEIGHT = 440
_EDGE = 0.06  # of the width, beyond the last number of looks: there the levels of plain classifiers are marked
_MAX_TICKS = 12  # numbers of looks that are written


def build_chart_payload(shown: Selection) -> str:
    """Return lines, bands and axes as JSON, with the places of the rings for every stop of the slider.

    Only what both axes can show is drawn; where that is nothing, sentences say why.
    """
    points, styles = find_drawn_points(shown), assign_styles(shown.data)
    stops = shown.data.slider_stops if points else ()
    payload = {
        "height": HEIGHT,
        "curves": [
            _build_curve(curve, points[curve.id], styles[curve.id], shown)
            for curve in shown.curves
            if curve.id in points
        ],
        "x": build_x_axis(shown, points),
        "y": build_y_axis(shown, points),
        "looks": shown.looks,
        "slides": shown.x.name == "locations",  # elsewhere the same looks cost every model something else
        "rings": {str(looks): _find_ring_places(shown, points, looks) for looks in stops},
        "empty": [] if points else explain_empty_chart(shown),
    }
    return json.dumps(payload, separators=(",", ":"))


def _build_curve(curve: Curve, points: list[CurvePoint], style: CurveStyle, shown: Selection) -> dict[str, Any]:
    """Describe a curve. A plain classifier is a level among looks, and elsewhere a point with its interval.

    A level has one marker, at its end.
    """
    level = is_level(curve, shown)
    single = len(points) == 1 and not level
    x = _list_level_x(shown) if level else [x_value(point, shown.x) for point in points]
    heights = [_to_percent(y_value(point, shown.y)) for point in points]
    return {
        "id": curve.id,
        "kind": curve.kind,
        "label": curve.label,
        "style": _describe_style(style),
        "known": [list_known(curve, point) for point in points],
        "x": x,
        "y": heights * len(x) if level else heights,
        "level": level,
        "joined": not single or not style.size,
        "marked": bool(style.size),
        "bar": _build_bar(points[0], shown) if single else None,
        "band": None if curve.role else _build_band(curve, points, style, shown),
    }


def _list_level_x(shown: Selection) -> list[float]:
    """Return x from beyond the left border to the marker at the right, with one above every number of looks."""
    return [-find_right_end(shown), *map(float, range(shown.data.max_looks + 1)), find_right_end(shown)]


def _build_bar(point: CurvePoint, shown: Selection) -> list[float] | None:
    """Return how far the interval of a single point reaches below and above it."""
    ends, value = y_interval(point, shown.y), y_value(point, shown.y)
    return None if ends is None or value is None else [100 * (value - ends[0]), 100 * (ends[1] - value)]


def _build_band(curve: Curve, points: list[CurvePoint], style: CurveStyle, shown: Selection) -> dict[str, Any] | None:
    """Return the outline of the intervals of a curve, an area behind it; None where fewer than two are stated."""
    stated = [(x_value(p, shown.x), ends) for p in points if (ends := y_interval(p, shown.y)) is not None]
    level = is_level(curve, shown)
    if level:
        stated = [(x, ends) for x in _list_level_x(shown) for _, ends in stated[:1]]
    if len(stated) < 2:
        return None
    outline = [(x, low) for x, (low, _) in stated] + [(x, high) for x, (_, high) in reversed(stated)]
    return {
        "x": [x for x, _ in outline],
        "y": [100 * y for _, y in outline],
        "fill": make_translucent(style.color, 0.09 if level else 0.15),
    }


def _find_ring_places(
    shown: Selection, points: PointsByCurve, looks: int
) -> tuple[list[float | None], list[float | None]]:
    """Return x and y of where the curves are at a number of looks: the rows of the table are marked there."""
    places = []
    for curve in shown.curves:
        point = curve.find_nearest(looks)
        if point is not None and point.locations is not None and point in points.get(curve.id, ()):
            places.append(point)
    return [x_value(point, shown.x) for point in places], [_to_percent(y_value(point, shown.y)) for point in places]


def _to_percent(share: float | None) -> float | None:
    return None if share is None else 100 * share


def _describe_style(style: CurveStyle) -> dict[str, Any]:
    return {
        "color": style.color,
        "width": style.width,
        "dashes": style.dashes,
        "outline": style.outline if style.size else "",
        "filled": style.filled,
        "size": style.size,
    }


def explain_empty_chart(shown: Selection) -> list[str]:
    """Say why the chart is empty, and where there is something to see."""
    if not shown.curves:
        return ["No curve is ticked."]
    points = [point for curve in shown.curves for point in curve.points]
    lacks_y = all(y_value(point, shown.y) is None for point in points)
    value = shown.y.missing if lacks_y else shown.x.missing
    stating = list(
        dict.fromkeys(
            curve.data_set
            for curve in read_published_curves()
            for point in curve.points
            if (y_value(point, shown.y) if lacks_y else x_value(point, shown.x)) is not None
        )
    )
    elsewhere = [f"The paper does for {' and '.join(stating)}."] if stating and shown.data.name not in stating else []
    return [f"None of the ticked curves states {value}.", *elsewhere]


# Axes: their ranges, their ticks and their titles ---------------------------------------------------------


def build_x_axis(shown: Selection, points: PointsByCurve) -> dict[str, Any]:
    """Return title and range, logarithmic for FLOPs; ticks where they are not simply round numbers."""
    title = {"title": shown.x.title}
    if shown.x.name == "locations":
        most = shown.data.max_looks
        step = next(step for step in (1, 2, 5, 10, 20, 50, 100, 200) if most / step <= _MAX_TICKS)
        spare = 0.03 * most
        return title | {"range": [-spare, find_right_end(shown) + spare], "tickvals": list(range(0, most + 1, step))}
    values = [x for drawn in points.values() for point in drawn if (x := x_value(point, shown.x))]
    if shown.x.name == "time":
        return title | {"range": [0, 1.06 * max(values, default=1)]}
    low, high = math.log10(min(values, default=1)), math.log10(max(values, default=10))
    spare = max(0.06 * (high - low), 0.05)
    bounds = [low - spare, high + spare]
    return title | {"type": "log", "range": bounds, **_build_decade_ticks(*bounds)}


def find_right_end(shown: Selection) -> float:
    """Return where levels end among looks, beyond the last number of looks."""
    return shown.data.max_looks * (1 + _EDGE)


def _build_decade_ticks(low: float, high: float) -> dict[str, Any]:
    """Put ticks at 1, 2 and 5 of every decade, written without exponents; none where there is no room for two."""
    decades = range(math.floor(low), math.ceil(high) + 1)
    values = [leading * 10.0**decade for decade in decades for leading in (1, 2, 5)]
    inside = [value for value in values if low <= math.log10(value) <= high]
    return {} if len(inside) < 2 else {"tickvals": inside, "ticktext": [f"{value:g}" for value in inside]}


def build_y_axis(shown: Selection, points: PointsByCurve) -> dict[str, Any]:
    """Return title and range in per cent, around everything that is drawn: moving the slider does not move it."""
    values = []
    for curve in shown.curves:
        for point in points.get(curve.id, ()):
            values.append(y_value(point, shown.y) or 0.0)
            values += () if curve.role else y_interval(point, shown.y) or ()
    low, high = 100 * min(values, default=0.0), 100 * max(values, default=1.0)
    spare = max(0.06 * (high - low), 1.0)
    return {"title": _format_y_title(shown), "range": [max(low - spare, -2.0), min(high + spare, 102.0)]}


def _format_y_title(shown: Selection) -> str:
    if shown.data.agreement and shown.y.name in ("top1", "top5"):
        return f"{shown.y.choice} agreement with the backbone's answer for the whole image"
    return shown.y.title
