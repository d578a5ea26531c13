"""The selected curves as tables: at the slider's number of looks under the chart, and complete as CSV to be saved."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from typing import Any

from viz.accuracy.curve_styles import assign_styles
from viz.accuracy.selection import Selection
from viz.common.curves import Curve, CurvePoint, Interval, format_point_looks
from viz.common.page import format_file_name, render_download
from viz.common.templates import render_macro
from viz.common.text import (
    format_accuracy,
    format_flops,
    format_gigabytes,
    format_interval,
    format_milliseconds,
    format_percent,
)

Cell = tuple[str, tuple[str, ...]]  # a value, and what is said about it in small letters
FormatCell = Callable[[Curve, CurvePoint], Cell]
_COLUMNS: dict[str, FormatCell] = {
    "Top-1": lambda _, point: (format_accuracy(point.top1), (format_interval(point.top1_interval),)),
    "Top-5": lambda _, point: (format_accuracy(point.top5), (format_interval(point.top5_interval),)),
    "Cost": lambda _, point: (format_flops(point.flops), ()),
    "Time": lambda curve, point: (format_milliseconds(point.ms_per_image), (curve.timed_on,)),
    "Memory": lambda _, point: (format_gigabytes(point.memory_gb), ()),
    "Coverage": lambda _, point: (format_percent(point.coverage), ()),
    "Precision": lambda _, point: (format_percent(point.precision), ()),
    "Recall": lambda _, point: (format_percent(point.recall), ()),
}
CSV_COLUMNS = (
    "curve", "kind", "data_set", "source", "counted", "looks", "budget", "threshold", "top1", "top1_low", "top1_high",
    "top5", "top5_low", "top5_high", "interval_confidence", "flops", "ms_per_image", "timed_on", "memory_gb",
    "coverage", "precision", "recall",
)  # fmt: skip


def render_tables(shown: Selection) -> str:
    """Render a table for every stop of the slider, one of them visible: the browser shows another without asking."""
    symbols = {curve.id: f"accuracy-mark-{number}" for number, curve in enumerate(shown.curves)}
    tables = [_build_table(shown.with_looks(looks)) for looks in shown.data.slider_stops]
    return render_macro("accuracy/accuracy.html", "tables", shown, assign_styles(shown.data), symbols, tables)


def _build_table(shown: Selection) -> dict[str, Any]:
    """Return the rows of one table; columns that no row fills are left out, and named in its note."""
    rows = [(curve, point) for curve in shown.curves for point in _find_points(curve, shown)]
    filled = {name: cell for name, cell in _COLUMNS.items() if any(cell(*row)[0] for row in rows)}
    names = {name: _format_column(name, shown) for name in filled}
    cells = [
        (
            curve,
            {"Looks": ("", ()) if curve.kind == "peer" else _format_looks(point, shown)}
            | {names[name]: cell(curve, point) for name, cell in filled.items()},
        )
        for curve, point in rows
    ]
    return {"looks": shown.looks, "columns": list(names.values()), "rows": cells, "note": _format_note(shown, filled)}


def _find_points(curve: Curve, shown: Selection) -> tuple[CurvePoint, ...]:
    """Return the point at the slider's number of looks; of others, who count none, every point."""
    if curve.kind == "peer":
        return curve.points
    point = curve.find_nearest(shown.looks)
    return () if point is None else (point,)


def _format_looks(point: CurvePoint, shown: Selection) -> Cell:
    """Say which number of looks the row is about, and that it is not the wanted one."""
    is_other = point.locations is not None and point.budget and point.locations != shown.looks
    nearest = f"nearest to {shown.looks}" if is_other else ""
    mean = "" if point.threshold is None else f"mean, threshold {point.threshold:g}"
    return format_point_looks(point), (nearest, mean)


def _format_column(column: str, shown: Selection) -> str:
    return f"{column} agreement" if shown.data.agreement and column.startswith("Top") else column


def _format_note(shown: Selection, filled: dict[str, FormatCell]) -> str:
    """Say what the small numbers are, and what is missing."""
    sentences = []
    levels = {curve.confidence for curve in shown.curves if curve.confidence is not None}
    if levels:
        sentences.append(f"Small numbers: {format_percent(min(levels))} interval over the measured images.")
    if "Time" in filled:
        sentences.append("Times are those of the machine named below them, and comparable on one machine only.")
    missing = [name.lower() for name in _COLUMNS if name not in filled]
    if missing:
        listed = missing[0] if len(missing) == 1 else f"{', '.join(missing[:-1])} and {missing[-1]}"
        sentences.append(f"No ticked curve states {listed} here.")
    return " ".join(sentences)


def format_csv(shown: Selection) -> str:
    """Write one line per point of every selected curve; shares are fractions, what a source does not state is empty."""
    output = io.StringIO()
    writer = csv.writer(output, lineterminator="\n")
    writer.writerow(CSV_COLUMNS)
    for curve in shown.curves:
        writer.writerows(_format_csv_row(curve, point) for point in curve.points)
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
    return link + render_macro("accuracy/accuracy.html", "chart_buttons", name, count)


def _format_csv_row(curve: Curve, point: CurvePoint) -> list[str]:
    return [
        _format_csv_text(curve.label),
        curve.kind,
        _format_csv_text(curve.data_set),
        _format_csv_text(curve.source),
        "agreement" if curve.agreement else "accuracy",
        _format_csv_number(point.locations),
        "x".join(str(k) for k in point.budget),
        _format_csv_number(point.threshold),
        _format_csv_number(point.top1),
        *_format_csv_ends(point.top1_interval),
        _format_csv_number(point.top5),
        *_format_csv_ends(point.top5_interval),
        _format_csv_number(curve.confidence if point.top1_interval or point.top5_interval else None),
        _format_csv_number(point.flops),
        _format_csv_number(point.ms_per_image),
        _format_csv_text(curve.timed_on if point.ms_per_image is not None else ""),
        _format_csv_number(point.memory_gb),
        _format_csv_number(point.coverage),
        _format_csv_number(point.precision),
        _format_csv_number(point.recall),
    ]


def _format_csv_text(text: str) -> str:
    """Mark a name that a spreadsheet would take for a formula."""
    return f"'{text}" if text[:1] in ("=", "+", "-", "@", "\t", "\r") else text


def _format_csv_number(value: float | None) -> str:
    """Write every digit; whole numbers without a point."""
    if value is None:
        return ""
    return str(int(value)) if value == int(value) else repr(value)


def _format_csv_ends(interval: Interval | None) -> tuple[str, str]:
    return ("", "") if interval is None else (_format_csv_number(interval[0]), _format_csv_number(interval[1]))
