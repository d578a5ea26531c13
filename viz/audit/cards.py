"""What the graphics of the four cards draw, and their tables as CSV in full precision."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import Any

from markupsafe import Markup

from viz.audit.answers import (
    MIN_CLASS_IMAGES,
    answer_choosing,
    answer_classes,
    answer_content,
    answer_enough,
    find_choosing,
    list_counted,
)
from viz.audit.data import Audit
from viz.common.curves import CurvePoint
from viz.common.page import format_file_name, render_download
from viz.common.payload import format_json

# By policy: the word beside its line. What comes later is drawn above.
POLICIES = {
    "random": "random", "centre": "centre", "mean": "same for all", "surest": "surest of all",
    "oracle": "hindsight", "learned": "learned",
}  # fmt: skip
_WORST = 5  # classes that are listed


def build_cards(audit: Audit) -> dict[str, Any]:
    """Return answers, graphics and files of the cards."""
    answers = {
        "content": answer_content(audit),
        "choosing": answer_choosing(audit),
        "enough": answer_enough(audit),
        "classes": answer_classes(audit),
    }
    return {
        "answers": answers,
        "choosing": format_json(_build_choosing(audit)),
        "enough": format_json(_build_enough(audit)),
        "classes": format_json(_build_classes(audit)),
        "worst": list_counted(audit)[:_WORST],
        "least": MIN_CLASS_IMAGES,
        "moves": format_json(_build_moves(audit)),
        "files": {name: _render_file(audit, name, rows) for name, rows in list_tables(audit).items()},
    }


def _build_moves(audit: Audit) -> dict[str, Any]:
    rows = [
        {
            "label": move.about.replace(" by one cell", "").replace(" about the centre", ""),
            "about": move.about,
            "value": move.score.value,
            "interval": move.score.interval,
        }
        for move in audit.moves
    ]
    return {"rows": rows, "label": "How far location scores follow each move: −1 position, 1 content"}


def _build_choosing(audit: Audit) -> dict[str, Any]:
    lines = []
    for name, label in POLICIES.items():
        points = [(_count_looks(point), point.top1) for point in audit.curves.get(name, ()) if point.top1 is not None]
        if points:
            lines.append({"name": name, "label": label, "points": points})
    row = find_choosing(audit)
    inner = () if row is None else row.budget[1:]
    gains = [
        {"x": entry.budget[0], "value": entry.lost["mean"].value, "interval": entry.lost["mean"].interval}
        for entry in audit.budgets
        if "mean" in entry.lost and entry.budget[1:] == inner
    ]
    return {
        "lines": lines,
        "gains": gains,
        "below": "looks",
        "at": row.budget[0] if row else None,
        "label": f"Top-1 {audit.measure} by looks, for each way to choose them, and learned minus the same for all",
    }


def _build_enough(audit: Audit) -> dict[str, Any]:
    names = {"mean": POLICIES["mean"], "stopping": "stops when sure", "learned": "learned"}
    lines = []
    for name, label in names.items():
        known = [p for p in audit.curves.get(name, ()) if p.flops is not None and p.top1 is not None]
        if known:
            ends = [point.top1_interval for point in known]
            band = ends if name == "learned" and all(ends) else None
            points = [((point.flops or 0.0) / 1e9, point.top1) for point in known]
            looks = [_count_looks(point) for point in known] if name == "learned" else None
            lines.append({"name": name, "label": label, "points": points, "band": band, "looks": looks})
    stop = audit.stopping
    rule = None
    if stop is not None and stop.flops is not None:
        rule = {"x": stop.flops / 1e9, "y": stop.top1.value, "label": "recommended rule"}
    return {
        "lines": lines,
        "gains": [],
        "below": "GFLOPs per picture",
        "at": None,
        "rule": rule,
        "label": f"Top-1 {audit.measure} by FLOPs",
    }


def _build_classes(audit: Audit) -> dict[str, Any]:
    classes = () if audit.heat is None else audit.heat.classes
    return {
        "points": [
            {"name": e.name, "x": e.thumbnail, "y": e.top1, "images": e.where.images}
            for e in classes
            if e.top1 is not None and e.thumbnail is not None and e.where.images >= MIN_CLASS_IMAGES
        ],
        "label": f"Top-1 {audit.measure} of each class: from the thumbnail, and with the trained budget",
    }


def _count_looks(point: CurvePoint) -> float:
    return float(point.budget[0]) if point.budget else point.locations or 0.0


def list_tables(audit: Audit) -> dict[str, list[Sequence[Any]]]:
    """Return the tables of an audit by name, each with its head."""
    tables: dict[str, list[Sequence[Any]]] = {
        "moves": [("move", "images", "score", "low", "high", "first_look_followed", "first_look_stayed")],
        "policies": [("budget", "policy", "top1", "learned_minus_it", "low", "high")],
        "costs": [("policy", "looks", "flops", "top1", "low", "high")],
        "classes": [("class", "images", "top1", "top1_thumbnail", "entropy", "centre_bias")],
    }
    for move in audit.moves:
        followed, stayed = (None if e is None else e.value for e in (move.followed, move.stayed))
        tables["moves"].append(
            (move.about, move.images, move.score.value, *(move.score.interval or ("", "")), followed, stayed)
        )
    for row in audit.budgets:
        for name, top1 in row.top1.items():
            lost = row.lost.get(name)
            ends = (lost.interval if lost else None) or ("", "")
            budget = " x ".join(map(str, row.budget))
            tables["policies"].append((budget, name, top1, lost.value if lost else None, *ends))
    for name, points in audit.curves.items():
        for point in points:
            ends = point.top1_interval or ("", "")
            tables["costs"].append((name, point.locations, point.flops, point.top1, *ends))
    for entry in () if audit.heat is None else audit.heat.classes:
        values = (entry.top1, entry.thumbnail, entry.where.entropy, entry.centre_bias)
        tables["classes"].append((entry.name, entry.where.images, *values))
    return tables


def _render_file(audit: Audit, name: str, rows: Sequence[Sequence[Any]]) -> Markup:
    """Render a link that holds one table, nothing where it has only its head.

    A text that a spreadsheet would take for a formula gets a quote.
    """
    if len(rows) < 2:
        return Markup()
    written = io.StringIO()
    table = csv.writer(written, lineterminator="\n")
    table.writerows([[f"'{v}" if isinstance(v, str) and v[:1] in "=+-@" and v else v for v in row] for row in rows])
    file = f"{format_file_name(audit.title)}-{name}.csv"
    return Markup(render_download(written.getvalue(), file, "text/csv", f"CSV of {name}", "audit-csv"))
