"""The selected curves as CSV, complete and at full precision, to be saved by the browser."""

from __future__ import annotations

import csv
import html
import io

from viz.accuracy.selection import Selection
from viz.common.curves import Curve, CurvePoint, Interval
from viz.common.page import format_file_name, render_download

COLUMNS = (
    "curve", "kind", "data_set", "source", "counted", "looks", "budget", "threshold", "top1", "top1_low", "top1_high",
    "top5", "top5_low", "top5_high", "interval_confidence", "flops", "ms_per_image", "timed_on", "memory_gb",
    "coverage", "precision", "recall",
)  # fmt: skip


def format_csv(shown: Selection) -> str:
    """Write one line per point of every selected curve; shares are fractions, what a source does not state is empty."""
    output = io.StringIO()
    writer = csv.writer(output, lineterminator="\n")
    writer.writerow(COLUMNS)
    for curve in shown.curves:
        writer.writerows(_format_row(curve, point) for point in curve.points)
    return output.getvalue()


def render_downloads(shown: Selection) -> str:
    """Render a link that holds the table, and buttons that save the chart as it stands."""
    if not shown.curves:
        return ""
    name = f"tnet-comparison-{format_file_name(shown.data.key)}"
    count = sum(len(curve.points) for curve in shown.curves)
    link = render_download(
        format_csv(shown), f"{name}.csv", "text/csv;charset=utf-8", "Download CSV", "accuracy-download"
    )
    return (
        f"{link}{_render_chart_button(name, 'svg')}{_render_chart_button(name, 'png')}"
        f'<span class="accuracy-note">CSV: {count} points, full precision</span>'
    )


def _render_chart_button(name: str, kind: str) -> str:
    """Render a button; the browser draws the chart and its legend as they stand."""
    return (
        f'<button type="button" class="accuracy-download" data-chart=".accuracy-chart" data-format="{kind}" '
        f'data-name="{html.escape(name)}">Chart as {kind.upper()}</button>'
    )


def _format_row(curve: Curve, point: CurvePoint) -> list[str]:
    return [
        _format_text(curve.label),
        curve.kind,
        _format_text(curve.data_set),
        _format_text(curve.source),
        "agreement" if curve.agreement else "accuracy",
        _format_number(point.locations),
        "x".join(str(k) for k in point.budget),
        _format_number(point.threshold),
        _format_number(point.top1),
        *_format_ends(point.top1_interval),
        _format_number(point.top5),
        *_format_ends(point.top5_interval),
        _format_number(curve.confidence if point.top1_interval or point.top5_interval else None),
        _format_number(point.flops),
        _format_number(point.ms_per_image),
        _format_text(curve.timed_on if point.ms_per_image is not None else ""),
        _format_number(point.memory_gb),
        _format_number(point.coverage),
        _format_number(point.precision),
        _format_number(point.recall),
    ]


def _format_text(text: str) -> str:
    """Mark a name that a spreadsheet would take for a formula."""
    return f"'{text}" if text[:1] in ("=", "+", "-", "@", "\t", "\r") else text


def _format_number(value: float | None) -> str:
    """Write every digit; whole numbers without a point."""
    if value is None:
        return ""
    return str(int(value)) if value == int(value) else repr(value)


def _format_ends(interval: Interval | None) -> tuple[str, str]:
    return ("", "") if interval is None else (_format_number(interval[0]), _format_number(interval[1]))
