"""The table under the chart: every selected curve at the number of looks that the slider asks for."""

from __future__ import annotations

import html
from collections.abc import Callable

from viz.accuracy import metrics
from viz.accuracy.axes import counted
from viz.accuracy.marks import marks, reference, symbol
from viz.accuracy.selection import Selection
from viz.common.curves import Curve, Point

Cell = Callable[[Curve, Point], str]
_COLUMNS: dict[str, Cell] = {
    "Top-1": lambda _, point: _with(metrics.accuracy(point.top1), metrics.between(point.top1_interval)),
    "Top-5": lambda _, point: _with(metrics.accuracy(point.top5), metrics.between(point.top5_interval)),
    "Cost": lambda _, point: metrics.cost(point.flops),
    "Time": lambda curve, point: _with(metrics.time(point.ms_per_image), html.escape(curve.timed_on)),
    "Memory": lambda _, point: metrics.memory(point.memory_gb),
    "Coverage": lambda _, point: metrics.area(point.coverage),
    "Precision": lambda _, point: metrics.area(point.precision),
    "Recall": lambda _, point: metrics.area(point.recall),
}
_SOURCES = {"measured": "measured here", "published": "published (paper)"}


def tables(shown: Selection) -> str:
    """A table for every stop of the slider, one of them visible: the browser shows another without asking."""
    found = marks(shown.data)
    symbols = {curve.id: f"tnc-mark-{number}" for number, curve in enumerate(shown.curves)}
    drawn = "".join(symbol(name, found[curve]) for curve, name in symbols.items())
    parts = "".join(_table(shown.at(looks), symbols, hidden=looks != shown.looks) for looks in shown.data.stops)
    return f'<svg class="tnc-symbols" aria-hidden="true">{drawn}</svg>{parts}'


def _table(shown: Selection, symbols: dict[str, str], hidden: bool) -> str:
    """Columns that no row fills are left out, and named below."""
    title = f"With {counted(shown.looks)}" if shown.looks else "With no look, the thumbnail alone"
    opening = f'<section class="tnc-table" data-looks="{shown.looks}"{" hidden" if hidden else ""}>'
    head = f'{opening}<h2 class="tnc-title">{title}</h2>'
    if not shown.curves:
        return f'{head}<p class="tnc-note">No curve is ticked.</p></section>'
    rows = [(curve, point) for curve in shown.curves if (point := curve.nearest(shown.looks)) is not None]
    filled = {name: cell for name, cell in _COLUMNS.items() if any(cell(*row) for row in rows)}
    names = {name: _name(name, shown) for name in filled}
    columns = "".join(f'<th scope="col">{name}</th>' for name in ("Curve", "Looks", *names.values(), "Source"))
    body = "".join(
        _row(curve, point, shown, symbols[curve.id], {names[name]: cell(curve, point) for name, cell in filled.items()})
        for curve, point in rows
    )
    return (
        f"{head}<table><thead><tr>{columns}</tr></thead><tbody>{body}</tbody></table>{_note(shown, filled)}</section>"
    )


def _row(curve: Curve, point: Point, shown: Selection, mark: str, cells: dict[str, str]) -> str:
    name = f'<th scope="row"><div>{reference(mark)}<span>{html.escape(curve.label)}</span></div></th>'
    values = "".join(
        f'<td data-label="{column}"{"" if text else " class=tnc-none"}>{text or "–"}</td>'
        for column, text in {"Looks": _looks(point, shown), **cells}.items()
    )
    badge = f'<td data-label="Source"><span class="tnc-badge">{_SOURCES[curve.kind]}</span></td>'
    return f'<tr class="tnc-{curve.kind}" data-curve="{html.escape(curve.id)}">{name}{values}{badge}</tr>'


def _looks(point: Point, shown: Selection) -> str:
    """Which number of looks the row is about, and that it is not the wanted one."""
    text = metrics.looks(point)
    notes = []
    if point.locations is not None and point.budget and point.locations != shown.looks:
        notes.append(f"nearest to {shown.looks}")
    if point.threshold is not None:
        notes.append(f"mean, threshold {point.threshold:g}")
    return text + "".join(f" <small>{note}</small>" for note in notes)


def _with(value: str, small: str) -> str:
    return f"{value} <small>{small}</small>" if value and small else value


def _name(column: str, shown: Selection) -> str:
    return f"{column} agreement" if shown.data.agreement and column.startswith("Top") else column


def _note(shown: Selection, filled: dict[str, Cell]) -> str:
    """What the small numbers are, and what is missing."""
    sentences = []
    levels = {curve.confidence for curve in shown.curves if curve.confidence is not None}
    if levels:
        sentences.append(f"Small numbers: {metrics.area(min(levels))} interval over the measured images.")
    if "Time" in filled:
        sentences.append("Times are those of the machine named below them, and comparable on one machine only.")
    missing = [name.lower() for name in _COLUMNS if name not in filled]
    if missing:
        listed = missing[0] if len(missing) == 1 else f"{', '.join(missing[:-1])} and {missing[-1]}"
        sentences.append(f"No ticked curve states {listed} here.")
    return f'<p class="tnc-note">{" ".join(sentences)}</p>' if sentences else ""
