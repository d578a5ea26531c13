"""The tab's content as one piece of HTML: both pictures with their looks, and what became of each look."""

from __future__ import annotations

from typing import Any

import numpy as np

from tnet_core import Trace
from tnet_core.records import Box
from viz.common.payload import format_json
from viz.common.templates import render_macro
from viz.common.text import format_class_name
from viz.what_if.experiment import Experiment, format_chance, format_kept, format_verdict

NO_LOOKS = "This checkpoint sees the whole image at once: there are no looks that could follow anything."
Rows = list[tuple[str, tuple[str, ...]]]  # what became of each look, and the cells of the row that says so
_MAX_CLASSES = 3  # listed per side
FATE_TEXTS = {
    "followed": "followed its content",
    "stayed": "stayed where it was",
    "both": "both places are looked at",
    "neither": "neither place is looked at",
    "gone": "content left the picture",
    "unmoved": "old place still shows it",
}


def render_experiment(shown: Experiment) -> str:
    """Render verdict, both pictures with their looks, and the panels below, for every number of looks."""
    steps = [_build_step(shown, k) for k in range(1, shown.max_looks + 1)]
    return render_macro("what_if/what_if.html", "experiment", shown, steps, _find_marks(shown), _list_scores(shown))


def render_nothing(sentence: str) -> str:
    """Render why there is nothing to try."""
    return render_macro("what_if/what_if.html", "nothing", sentence)


def render_intro() -> str:
    return render_macro("what_if/what_if.html", "intro")


def _find_marks(shown: Experiment) -> dict[str, Any]:
    """Return boxes of the unchanged looks where the move took them, or the one place that shows a copy."""
    boxes, copy = shown.before.cell_boxes(), shown.copy_box
    moved: list[tuple[int, Box]] = []
    if copy is None and shown.placement is not None and shown.has_changed:
        places = [clip_box(shown.placement.box(boxes[cell])) for cell in shown.cells[0]]
        moved = [(rank, box) for rank, box in enumerate(places) if box is not None]
    return {"copied": copy, "content": moved, "cells": format_json({"boxes": boxes})}


def clip_box(box: Box) -> Box | None:
    """Return the part inside the picture, None if there is none."""
    x0, y0, x1, y1 = (min(max(at, 0.0), 1.0) for at in box)
    return (x0, y0, x1, y1) if x1 > x0 and y1 > y0 else None


def _build_step(shown: Experiment, k: int) -> dict[str, Any]:
    """Return what there is to say about the first k looks."""
    more = ""
    if shown.has_changed:
        more = format_chance(shown, k) if shown.copied is None else format_kept(shown, k)
    return {
        "k": k,
        "verdict": format_verdict(shown, k),
        "chance": more,
        "looks": _list_fates(shown, k) if shown.copied is None else _list_kept(shown, k),
        "decisions": {
            "Unchanged": _list_classes(shown.before, shown, k),
            "Changed": _list_classes(shown.after, shown, k),
        },
    }


def _list_fates(shown: Experiment, k: int) -> Rows:
    """Return what became of each look, and the row that says so."""
    rows: Rows = []
    for fate in shown.find_fates(k):
        at = "outside" if fate.kind == "gone" else format_cell(round(fate.row), round(fate.col))
        said = FATE_TEXTS[fate.kind] if shown.has_changed else ""
        rows.append((fate.kind, (at, _format_look(fate.again), _format_look(fate.there), said)))
    return rows


def _list_kept(shown: Experiment, k: int) -> Rows:
    before, after = (cells[:k] for cells in shown.cells)
    rows: Rows = []
    for cell in before:
        there = after.index(cell) if cell in after else None
        kind = "dropped" if there is None else "kept"
        rows.append((kind, (format_cell(*divmod(cell, shown.before.config.grid)), _format_look(there), kind)))
    return rows


def _format_look(position: int | None) -> str:
    return "–" if position is None else f"look {position + 1}"


def format_cell(row: int, col: int) -> str:
    return f"row {row + 1}, column {col + 1}"


def _list_scores(shown: Experiment) -> list[tuple[str, float | str, str]]:
    """Return names, values and meanings of what the grid did; a value that is not a number is not defined."""
    cells = shown.before.config.cells
    if (pull := shown.pull) is not None:
        return [
            ("the copy's own cell", _format_ranks(pull.target, cells), "rank before and now"),
            ("the original's cell", _format_ranks(pull.source, cells), "rank before and now"),
            ("all others", pull.others, f"rank correlation, before and now, of {pull.untouched} cells"),
        ]
    if (found := shown.followed) is None:
        return [("score", "not defined", "Nothing moved.")]
    content, position, score = (float(v[0]) for v in (found.content, found.position, found.score))
    compared = f"over {found.cells} of {cells} cells: those whose content had a cell before"
    return [
        ("score", score, f"{shown.change}, this picture"),
        ("content", content, compared),
        ("position", position, "over the same cells"),
    ]


def _format_ranks(pair: tuple[int, int], cells: int) -> str:
    return f"{pair[0] + 1} → {pair[1] + 1} of {cells}"


def _list_classes(trace: Trace, shown: Experiment, k: int) -> list[tuple[str, bool, float]]:
    """Return the most probable classes: name, whether it is the picture's label, probability."""
    probabilities = trace.probabilities(budget=shown.build_budget(k))
    best = np.argsort(-probabilities, kind="stable")[:_MAX_CLASSES]
    return [(format_class_name(trace, int(cls)), cls == shown.label, float(probabilities[cls])) for cls in best]
