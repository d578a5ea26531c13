"""The text at a point."""

from __future__ import annotations

import html

from viz.accuracy import metrics
from viz.common.curves import Curve, Point


def hover(curve: Curve, point: Point) -> str:
    """Everything that is known of a point."""
    agreement = " agreement" if curve.agreement else ""
    lines = [f"<b>{html.escape(curve.label)}</b>", "measured here" if curve.kind == "measured" else "published"]
    if point.locations is not None:
        lines.append(f"looks {metrics.looks(point)}")
    if point.threshold is not None:
        lines[-1] += f" (mean, threshold {point.threshold:g})"
    pairs = [
        (f"top-1{agreement}", metrics.accuracy(point.top1), metrics.between(point.top1_interval)),
        (f"top-5{agreement}", metrics.accuracy(point.top5), metrics.between(point.top5_interval)),
        ("", metrics.cost(point.flops), ""),
        ("", metrics.time(point.ms_per_image), html.escape(curve.timed_on)),
        ("", metrics.memory(point.memory_gb), ""),
        ("coverage", metrics.area(point.coverage), ""),
        ("precision", metrics.area(point.precision), ""),
        ("recall", metrics.area(point.recall), ""),
    ]
    lines += [f"{name} {value}{f' ({ends})' if ends else ''}".strip() for name, value, ends in pairs if value]
    return "<br>".join(lines)
