"""The selected curves as tables: at the slider's number of looks under the chart, and complete as CSV to be saved."""

from __future__ import annotations

import csv
import html
import io
from collections.abc import Callable

from viz.accuracy.curve_styles import assign_styles, render_symbol, render_symbol_use
from viz.accuracy.selection import Selection
from viz.common.curves import Curve, CurvePoint, Interval, format_point_looks
from viz.common.page import format_file_name, render_download
from viz.common.text import (
    format_accuracy,
    format_flops,
    format_gigabytes,
    format_interval,
    format_look_count,
    format_milliseconds,
    format_percent,
)

FormatCell = Callable[[Curve, CurvePoint], str]
_COLUMNS: dict[str, FormatCell] = {
    "Top-1": lambda _, point: _add_small(format_accuracy(point.top1), format_interval(point.top1_interval)),
    "Top-5": lambda _, point: _add_small(format_accuracy(point.top5), format_interval(point.top5_interval)),
    "Cost": lambda _, point: format_flops(point.flops),
    "Time": lambda curve, point: _add_small(format_milliseconds(point.ms_per_image), html.escape(curve.timed_on)),
    "Memory": lambda _, point: format_gigabytes(point.memory_gb),
    "Coverage": lambda _, point: format_percent(point.coverage),
    "Precision": lambda _, point: format_percent(point.precision),
    "Recall": lambda _, point: format_percent(point.recall),
}
_SOURCES = {"measured": "measured here", "published": "published (paper)"}
CSV_COLUMNS = (
    "curve", "kind", "data_set", "source", "counted", "looks", "budget", "threshold", "top1", "top1_low", "top1_high",
    "top5", "top5_low", "top5_high", "interval_confidence", "flops", "ms_per_image", "timed_on", "memory_gb",
    "coverage", "precision", "recall",
)  # fmt: skip


def render_tables(shown: Selection) -> str:
    """Render a table for every stop of the slider, one of them visible: the browser shows another without asking."""
    found = assign_styles(shown.data)
    symbols = {curve.id: f"accuracy-mark-{number}" for number, curve in enumerate(shown.curves)}
    drawn = "".join(render_symbol(name, found[curve]) for curve, name in symbols.items())
    parts = "".join(
        _render_table(shown.with_looks(looks), symbols, hidden=looks != shown.looks)
        for looks in shown.data.slider_stops
    )
    return f'<svg class="accuracy-symbols" aria-hidden="true">{drawn}</svg>{parts}'


def _render_table(shown: Selection, symbols: dict[str, str], hidden: bool) -> str:
    """Render one table; columns that no row fills are left out, and named below."""
    title = f"With {format_look_count(shown.looks)}" if shown.looks else "With no look, the thumbnail alone"
    opening = f'<section class="accuracy-table" data-looks="{shown.looks}"{" hidden" if hidden else ""}>'
    head = f'{opening}<h2 class="accuracy-title">{title}</h2>'
    if not shown.curves:
        return f'{head}<p class="accuracy-note">No curve is ticked.</p></section>'
    rows = [(curve, point) for curve in shown.curves if (point := curve.find_nearest(shown.looks)) is not None]
    filled = {name: cell for name, cell in _COLUMNS.items() if any(cell(*row) for row in rows)}
    names = {name: _format_column(name, shown) for name in filled}
    columns = "".join(f'<th scope="col">{name}</th>' for name in ("Curve", "Looks", *names.values(), "Source"))
    body = "".join(
        _render_row(
            curve, point, shown, symbols[curve.id], {names[name]: cell(curve, point) for name, cell in filled.items()}
        )
        for curve, point in rows
    )
    table = f"<table><thead><tr>{columns}</tr></thead><tbody>{body}</tbody></table>"
    return f"{head}{table}{_render_note(shown, filled)}</section>"


def _render_row(curve: Curve, point: CurvePoint, shown: Selection, mark: str, cells: dict[str, str]) -> str:
    name = f'<th scope="row"><div>{render_symbol_use(mark)}<span>{html.escape(curve.label)}</span></div></th>'
    values = "".join(
        f'<td data-label="{column}"{"" if text else " class=accuracy-none"}>{text or "–"}</td>'
        for column, text in {"Looks": _format_looks(point, shown), **cells}.items()
    )
    badge = f'<td data-label="Source"><span class="accuracy-badge">{_SOURCES[curve.kind]}</span></td>'
    return f'<tr class="accuracy-{curve.kind}" data-curve="{html.escape(curve.id)}">{name}{values}{badge}</tr>'


def _format_looks(point: CurvePoint, shown: Selection) -> str:
    """Say which number of looks the row is about, and that it is not the wanted one."""
    text = format_point_looks(point)
    notes = []
    if point.locations is not None and point.budget and point.locations != shown.looks:
        notes.append(f"nearest to {shown.looks}")
    if point.threshold is not None:
        notes.append(f"mean, threshold {point.threshold:g}")
    return text + "".join(f" <small>{note}</small>" for note in notes)


def _add_small(value: str, small: str) -> str:
    return f"{value} <small>{small}</small>" if value and small else value


def _format_column(column: str, shown: Selection) -> str:
    return f"{column} agreement" if shown.data.agreement and column.startswith("Top") else column


def _render_note(shown: Selection, filled: dict[str, FormatCell]) -> str:
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
    return f'<p class="accuracy-note">{" ".join(sentences)}</p>' if sentences else ""


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
