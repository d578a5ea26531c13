"""Which points of the selected curves are drawn, and what is known of each."""

from __future__ import annotations

from viz.accuracy.selection import Selection, x_value, y_value
from viz.common.curves import Curve, CurvePoint, format_point_looks
from viz.common.text import (
    format_accuracy,
    format_flops,
    format_gigabytes,
    format_interval,
    format_milliseconds,
    format_percent,
)

PointsByCurve = dict[str, list[CurvePoint]]  # the points of each curve that both axes can show, by id


def find_drawn_points(shown: Selection) -> PointsByCurve:
    """Find the points that both axes can show; curves without any are left out."""
    found: PointsByCurve = {}
    for curve in shown.curves:
        level = is_level(curve, shown)  # needs no number of looks
        points = [p for p in curve.points if level or x_value(p, shown.x) is not None]
        points = [p for p in points if y_value(p, shown.y) is not None]
        if points:
            found[curve.id] = points
    return found


def is_level(curve: Curve, shown: Selection) -> bool:
    """Tell whether a curve is drawn as a level line: a classifier without looks, among numbers of looks."""
    return curve.is_plain and shown.x.name == "locations"


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
