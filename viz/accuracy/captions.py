"""The text around the chart: caption, legend, and the longer explanation of what the numbers are."""

from __future__ import annotations

from collections.abc import Collection
from urllib.parse import urlencode

from viz.accuracy.curve_styles import assign_styles
from viz.accuracy.points import find_drawn_points
from viz.accuracy.selection import Selection
from viz.common.templates import render_macro

_HEADINGS = {"measured": "Measured here", "published": "Published in the paper", "peer": "Published by others"}


def render_intro(shown: Selection) -> str:
    """Render the heading and the one caption line of the chart; what it shows is named for the page's address."""
    settings = urlencode({"data": shown.data.key, "x": shown.x.name, "y": shown.y.name})
    return render_macro("accuracy/accuracy.html", "intro", _format_caption(shown), settings)


def _format_caption(shown: Selection) -> str:
    measured = [curve for curve in shown.curves if curve.kind == "measured"]
    sentences = []
    if measured:
        places = list(dict.fromkeys(curve.source for curve in measured))
        where = "; ".join(places[:3]) + ("; …" if len(places) > 3 else "")
        sentences.append(f"Filled markers, solid lines: measured here ({where}).")
    if any(curve.kind == "published" for curve in shown.curves):
        sentences.append("Hollow markers, dashed lines: printed in the paper, on its own test images.")
    if any(curve.kind == "peer" for curve in shown.curves):
        where = "" if shown.x.name == "flops" else " They state FLOPs at most, so they are drawn on that axis alone."
        sentences.append(
            "Small grey markers: published by others, with their own training and pictures, so no ranking beside "
            f"numbers measured here.{where}"
        )
    if shown.data.agreement:
        sentences.append("Counted is agreement with the backbone's answer for the whole image: this is no accuracy.")
    points = find_drawn_points(shown)
    if shown.x.name == "locations" and any(curve.is_plain and curve.id in points for curve in shown.curves):
        sentences.append("Classifiers that take no looks are level lines, marked at the right.")
    if shown.x.name == "time" and points:
        sentences.append(_format_times(shown, points))
    return " ".join(sentences) or "Tick the curves to compare."


def _format_times(shown: Selection, points: Collection[str]) -> str:
    """Say whose times are drawn, and which can be compared."""
    drawn = [curve for curve in shown.curves if curve.id in points]
    whose = [
        f"{told} on {'; '.join(found)}"
        for kind, told in (("measured", "one image at a time"), ("published", "the paper's"))
        if (
            found := dict.fromkeys(
                curve.timed_on or "a machine that is not named" for curve in drawn if curve.kind == kind
            )
        )
    ]
    machines = {curve.timed_on for curve in drawn}
    only = " These are different machines: compare times on one of them only." if len(machines) > 1 else ""
    return f"Times: {', '.join(whose)}.{only}"


def render_chart_place() -> str:
    """Render the place that the browser draws the chart in; it has its height from the beginning."""
    return render_macro("accuracy/accuracy.html", "chart_place")


def render_explanation() -> str:
    """Render the explanation, which is closed until somebody opens it."""
    return render_macro("accuracy/accuracy.html", "explanation")


def render_legend(shown: Selection) -> str:
    """Render the legend as text of the page: it wraps on any screen and says which numbers are whose."""
    found, points = assign_styles(shown.data), find_drawn_points(shown)
    groups = []
    for kind, head in _HEADINGS.items():
        head += _format_machines(shown, kind) if shown.x.name == "time" else ""
        curves = [
            (curve, found[curve.id] if curve.id in points else None) for curve in shown.curves if curve.kind == kind
        ]
        if curves:
            groups.append((kind, head, curves))
    return render_macro("accuracy/accuracy.html", "legend", groups)


def _format_machines(shown: Selection, kind: str) -> str:
    """Return ', on …': whose times they are."""
    found = dict.fromkeys(curve.timed_on for curve in shown.curves if curve.kind == kind and curve.timed_on)
    return f", on {'; '.join(found)}" if found else ""
