"""The axes, what is written at them, and the slider's line."""

from __future__ import annotations

import math
from typing import Any

from viz.accuracy.metrics import interval_of, x_of, y_of
from viz.accuracy.selection import Selection
from viz.accuracy.traces import Drawn, right_end
from viz.common import style

_GRID = "rgba(128, 136, 150, 0.22)"


def x_axis(shown: Selection, drawn: Drawn) -> dict[str, Any]:
    title = {"text": shown.x.title, "standoff": 10, "font": {"size": style.FONT_SIZE}}
    common = style.axis(showgrid=False, showline=True, linecolor=style.HAIRLINE, ticks="outside", ticklen=4,
                        tickcolor=style.HAIRLINE, title=title, visible=bool(drawn))  # fmt: skip
    if shown.x.name == "locations":
        most = shown.data.most_looks
        step = next(step for step in (1, 2, 5, 10, 20, 50, 100, 200) if most / step <= 12)
        spare = 0.03 * most
        return common | {"range": [-spare, right_end(shown) + spare], "tickvals": list(range(0, most + 1, step))}
    values = [x for points in drawn.values() for point in points if (x := x_of(point, shown.x))]
    if shown.x.name == "flops":
        low, high = math.log10(min(values, default=1)), math.log10(max(values, default=10))
        spare = max(0.06 * (high - low), 0.05)
        return common | {"type": "log", "range": [low - spare, high + spare], **_decades(low - spare, high + spare)}
    return common | {"range": [0, 1.06 * max(values, default=1)], "nticks": 8}


def _decades(low: float, high: float) -> dict[str, Any]:
    """Ticks at 1, 2 and 5 of every decade, written without exponents."""
    decades = range(math.floor(low), math.ceil(high) + 1)
    values = [leading * 10.0**decade for decade in decades for leading in (1, 2, 5)]
    shown = [value for value in values if low <= math.log10(value) <= high]
    if len(shown) < 2:  # a single model: its own decade is enough
        return {"nticks": 4, "tickformat": "~g"}
    return {"tickvals": shown, "ticktext": [f"{value:g}" for value in shown]}


def y_axis(shown: Selection, drawn: Drawn) -> dict[str, Any]:
    """Around everything that is drawn, so that moving the slider does not move it."""
    values = []
    for curve in shown.curves:
        for point in drawn.get(curve.id, ()):
            values.append(y_of(point, shown.y) or 0.0)
            values += () if curve.role else interval_of(point, shown.y) or ()
    low, high = 100 * min(values, default=0.0), 100 * max(values, default=1.0)
    spare = max(0.06 * (high - low), 1.0)
    bounds = [max(low - spare, -2.0), min(high + spare, 102.0)]
    return style.axis(showgrid=True, gridcolor=_GRID, range=bounds, ticksuffix=" %", nticks=7, visible=bool(drawn))


def y_title(shown: Selection) -> str:
    if shown.data.agreement and shown.y.name in ("top1", "top5"):
        return f"{shown.y.choice} agreement with the backbone's answer for the whole image"
    return shown.y.title


def title(shown: Selection) -> dict[str, Any]:
    """The name of the vertical axis stands above it, where it takes no width."""
    return {
        "text": f"<b>{y_title(shown)}</b>", "showarrow": False, "xref": "paper", "yref": "paper", "x": 0, "xshift": -40,
        "y": 1, "yshift": 22, "xanchor": "left", "yanchor": "bottom", "align": "left",
    }  # fmt: skip


def slider_line(shown: Selection, drawn: Drawn) -> list[dict[str, Any]]:
    """Only among looks: the same number of looks costs every model something else."""
    if shown.x.name != "locations" or not drawn:
        return []
    line = {"color": style.ACCENT, "width": 1.5, "dash": "2px,3px"}
    return [
        {"type": "line", "x0": shown.looks, "x1": shown.looks, "y0": 0, "y1": 1, "yref": "paper", "line": line,
         "layer": "below", "name": "slider"}
    ]  # fmt: skip


def slider_label(shown: Selection, drawn: Drawn) -> list[dict[str, Any]]:
    if not slider_line(shown, drawn):
        return []
    return [
        {"text": counted(shown.looks), "x": shown.looks, "xanchor": "center", "y": 1, "yref": "paper",
         "yanchor": "bottom", "showarrow": False, "name": "slider"}
    ]  # fmt: skip


def counted(looks: int) -> str:
    return "1 look" if looks == 1 else f"{looks} looks"
