"""The axes of the chart: their ranges, their ticks and their titles."""

from __future__ import annotations

import math
from typing import Any

from viz.accuracy.points import PointsByCurve
from viz.accuracy.selection import Selection, x_value, y_interval, y_value

_EDGE = 0.06  # of the width, beyond the last number of looks: there the levels of plain classifiers are marked
_MAX_TICKS = 12  # numbers of looks that are written


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
