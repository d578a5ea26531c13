"""The selected curves as CSV, complete and at full precision, to be saved by the browser."""

from __future__ import annotations

import base64
import csv
import html
import io
import re

from viz.accuracy.selection import Selection
from viz.common.curves import Curve, Interval, Point

COLUMNS = (
    "curve", "kind", "data_set", "source", "counted", "looks", "budget", "threshold", "top1", "top1_low", "top1_high",
    "top5", "top5_low", "top5_high", "interval_confidence", "flops", "ms_per_image", "timed_on", "memory_gb",
    "coverage", "precision", "recall",
)  # fmt: skip


def csv_text(shown: Selection) -> str:
    """One line per point of every selected curve; shares are fractions, what a source does not state is empty."""
    output = io.StringIO()
    writer = csv.writer(output, lineterminator="\n")
    writer.writerow(COLUMNS)
    for curve in shown.curves:
        writer.writerows(_line(curve, point) for point in curve.points)
    return output.getvalue()


def download(shown: Selection) -> str:
    """HTML: a link that holds the file, so that no file is kept anywhere."""
    if not shown.curves:
        return ""
    data = base64.b64encode(csv_text(shown).encode("utf-8")).decode("ascii")
    name = re.sub(r"[^a-z0-9]+", "-", shown.data.key.casefold()).strip("-")[:60] or "data"
    count = sum(len(curve.points) for curve in shown.curves)
    return (
        f'<a class="tnc-download" download="tnet-comparison-{html.escape(name)}.csv" '
        f'href="data:text/csv;charset=utf-8;base64,{data}">Download CSV</a>'
        f"{_drawn(name, 'svg')}{_drawn(name, 'png')}"
        f'<span class="tnc-note">CSV: {count} points, full precision</span>'
    )


def _drawn(name: str, kind: str) -> str:
    """A button; the browser draws the chart and its legend as they stand."""
    return (
        f'<button type="button" class="tnc-download" data-chart=".tnc-chart" data-format="{kind}" '
        f'data-name="tnet-comparison-{html.escape(name)}">Chart as {kind.upper()}</button>'
    )


def _line(curve: Curve, point: Point) -> list[str]:
    return [
        _text(curve.label),
        curve.kind,
        _text(curve.data_set),
        _text(curve.source),
        "agreement" if curve.agreement else "accuracy",
        _number(point.locations),
        "x".join(str(k) for k in point.budget),
        _number(point.threshold),
        _number(point.top1),
        *_ends(point.top1_interval),
        _number(point.top5),
        *_ends(point.top5_interval),
        _number(curve.confidence if point.top1_interval or point.top5_interval else None),
        _number(point.flops),
        _number(point.ms_per_image),
        _text(curve.timed_on if point.ms_per_image is not None else ""),
        _number(point.memory_gb),
        _number(point.coverage),
        _number(point.precision),
        _number(point.recall),
    ]


def _text(text: str) -> str:
    """A spreadsheet must not take a name for a formula."""
    return f"'{text}" if text[:1] in ("=", "+", "-", "@", "\t", "\r") else text


def _number(value: float | None) -> str:
    """Every digit; whole numbers without a point."""
    if value is None:
        return ""
    return str(int(value)) if value == int(value) else repr(value)


def _ends(interval: Interval | None) -> tuple[str, str]:
    return ("", "") if interval is None else (_number(interval[0]), _number(interval[1]))
