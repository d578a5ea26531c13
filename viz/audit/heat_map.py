"""Maps of where the policy looks over a data set, and its classes. The browser draws the maps and sorts the classes."""

from __future__ import annotations

import base64
import html
import io
import json
from typing import Any

import numpy as np
from PIL import Image

from viz.audit.data import Audit, Cells, ClassLooks, HeatMap, LookMap
from viz.audit.panels import render_missing, render_panel
from viz.common import style
from viz.common.text import compute_lift_bounds, format_accuracy, format_budget, format_number, format_percent

HEAT_TITLE = "Where it looks"
_BIAS_SCALE = "1: always the middle cell. 0: as far from the middle as uniform looks. Below 0: towards the border."
CLASSES_TITLE = "Class by class"
FIRST_CLASSES = 12  # rows before all are asked for


def render_heat_panel(audit: Audit) -> str:
    heat = audit.heat
    if heat is None:
        sentence = "This evaluation has no heat map of the policy."
        return render_panel("where", HEAT_TITLE, "How often each cell is looked at.", render_missing(sentence))
    caption = (
        "Left: in how many images a cell is among the first looks at the second level, tinted most where most often. "
        f"Right: mean location probability over uniform, on a fixed scale ({_format_bounds(heat)}) and nearly flat by "
        "construction. Both say where, not whether it was right to look there."
    )
    given = html.escape(json.dumps(_build_payload(heat, audit), separators=(",", ":"), allow_nan=False))
    parts = _render_tools(heat) + _render_maps(heat) + _render_facts(heat)
    body = f'<div class="audit-where-board" data-map="{given}">{parts}</div>'
    return render_panel("where", HEAT_TITLE, caption, body)


def _format_bounds(heat: HeatMap) -> str:
    low, high = compute_lift_bounds(heat.grid**2)
    return f"{format_number(low)} to {format_number(high)}"


def _build_payload(heat: HeatMap, audit: Audit) -> dict[str, Any]:
    trained = audit.trained[0] if audit.trained else 1
    return {
        "all": _build_look_map_payload(heat.where),
        "classes": {entry.name: _build_look_map_payload(entry.where) for entry in heat.classes},
        "bias": heat.centre_bias,
        "bounds": compute_lift_bounds(heat.grid**2),
        "start": max(1, min(trained, len(heat.where.taken))),
    }


def _build_look_map_payload(where: LookMap) -> dict[str, Any]:
    taken = {k: [int(count) for count in row] for k, row in where.taken.items()}
    lift = None if where.lift is None else [round(value, 4) for value in where.lift]
    return {"images": where.images, "taken": taken, "lift": lift}


def _render_tools(heat: HeatMap) -> str:
    most = len(heat.where.taken)
    slider = (
        f'<label class="audit-slider"><span>Looks</span><input type="range" min="1" max="{most}" step="1" '
        "data-map-looks><output></output></label>"
        if most
        else ""
    )
    names = "".join(f'<option value="{html.escape(entry.name)}"></option>' for entry in heat.classes)
    chooser = (
        '<label class="audit-search"><span>Class</span>'
        '<input type="search" list="audit-class-names" autocomplete="off" '
        f'placeholder="all classes" data-map-class></label><datalist id="audit-class-names">{names}</datalist>'
        if heat.classes
        else ""
    )
    return f'<div class="audit-tools">{slider}{chooser}</div><p class="audit-said" role="status"></p>'


def _render_maps(heat: HeatMap) -> str:
    cells = "<div><b></b></div>" * heat.grid**2
    dense = " audit-dense" if heat.grid > 8 else ""
    figures = "".join(
        f'<figure data-shows="{shows}"><figcaption>{told}</figcaption>'
        f'<div class="audit-cells{dense}" style="--n:{heat.grid}" role="img" aria-label="{told}">{cells}</div>'
        '<p class="audit-missing" hidden></p></figure>'
        for shows, told in (("taken", "Among the first looks"), ("lift", "Mean probability over uniform"))
    )
    return f'<div class="audit-maps">{figures}</div>'


def _render_facts(heat: HeatMap) -> str:
    uniform = format_percent(1 / heat.grid**2)
    known = "The cell that is most probable on average: a policy that sees nothing would always go there."
    facts = [
        ("Centre bias of these looks", "" if heat.centre_bias else None, _BIAS_SCALE),  # follows the slider
        (
            "First look at the middle cell",
            _format_percent(heat.at_centre),
            f"Uniform looks would go there in {uniform}.",
        ),
        ("First look at the favourite", _format_percent(heat.at_favourite), known),
        (
            "Entropy of the first look",
            None if heat.entropy is None else format_number(heat.entropy),
            "0: always the same cell. 1: all cells equally often.",
        ),
    ]
    rows = [
        f"<div><dt>{name}</dt><dd><b{'' if value else ' data-map-bias'}>{value}</b> <span>{told}</span></dd></div>"
        for name, value, told in facts
        if value is not None
    ]
    if not rows:
        return render_missing("This evaluation has no score of centre bias.")
    return f'<dl class="audit-facts">{"".join(rows)}</dl>'


def _format_percent(share: float | None) -> str | None:
    return None if share is None else format_percent(share)


def render_classes_panel(audit: Audit) -> str:
    heat, trained = audit.heat, format_budget(audit.trained) if audit.trained else "the trained budget"
    caption = (
        f"Top-1 {audit.measure} with {trained} and from the thumbnail alone, entropy and centre bias of the first "
        "look, and where looks fall. Classes with few images have coarse numbers, and an entropy that is small by "
        "necessity. Choose a class to see its heat map above."
    )
    if heat is None or not heat.classes:
        return render_panel(
            "classes", CLASSES_TITLE, caption, render_missing("This evaluation has no numbers of single classes.")
        )
    columns = (
        ("class", "name"), ("images", "images"), (f"top-1 {audit.measure}", "top1"), ("thumbnail", "thumbnail"),
        ("entropy", "entropy"), ("centre bias", "bias"),
    )  # fmt: skip
    head = "".join(
        f'<th scope="col"><button type="button" data-sort="{key}">{name}</button></th>' for name, key in columns
    )
    rows = "".join(_render_class_row(entry, heat, audit, at >= FIRST_CLASSES) for at, entry in enumerate(heat.classes))
    more = (
        f'<button type="button" class="audit-more" data-more>Show all {len(heat.classes)} classes</button>'
        if len(heat.classes) > FIRST_CLASSES
        else ""
    )
    left = heat.more_classes
    beyond = render_missing(f"{left} more {'class is' if left == 1 else 'classes are'} not shown.") if left else ""
    return render_panel(
        "classes",
        CLASSES_TITLE,
        caption,
        '<div class="audit-tools"><label class="audit-search"><span>Find</span><input type="search" autocomplete="off" '
        'placeholder="part of a name" data-find></label></div>'
        f'<table class="audit-table audit-byclass" data-few="{FIRST_CLASSES}"><thead><tr>{head}'
        '<th scope="col">looks</th>'
        f"</tr></thead><tbody>{rows}</tbody></table>"
        f'<p class="audit-missing" data-nothing hidden>No class has such a name.</p>{more}{beyond}',
    )


def _render_class_row(entry: ClassLooks, heat: HeatMap, audit: Audit, hidden: bool) -> str:
    taken = entry.where.taken
    name = html.escape(entry.name)
    most = max(taken, default=0)
    drawn = (
        f'<img src="{encode_mini_map(taken[most], heat.grid)}" alt="" title="{format_budget((most,))}" width="34" '
        'height="34">'
        if taken
        else ""
    )
    values = {"images": entry.where.images, "top1": entry.top1, "thumbnail": entry.thumbnail}
    values |= {"entropy": entry.where.entropy, "bias": entry.centre_bias}
    data = "".join(f' data-{key}="{value:.6g}"' for key, value in values.items() if value is not None)
    cells = (
        ("images", str(entry.where.images)),
        (f"top-1 {audit.measure}", _format_class_share(entry.top1)),
        ("thumbnail", _format_class_share(entry.thumbnail)),
        ("entropy", _format_class_score(entry.where.entropy)),
        ("centre bias", _format_class_score(entry.centre_bias)),
        ("looks", drawn),
    )
    listed = "".join(
        f'<td data-label="{label}"{"" if text else " class=audit-none"}>{text}</td>' for label, text in cells
    )
    return (
        f'<tr data-name="{name}"{data}{" hidden" if hidden else ""}>'
        f'<th scope="row"><button type="button" data-choose>{name}</button></th>{listed}</tr>'
    )


def _format_class_share(value: float | None) -> str:
    return "" if value is None else format_accuracy(value)


def _format_class_score(value: float | None) -> str:
    return "" if value is None else format_number(value)


def encode_mini_map(counts: Cells, grid: int) -> str:
    """Return a PNG data URI of one pixel per cell: the more it was taken, the more opaque."""
    shares = np.array(counts).reshape(grid, grid) / max(1.0, *counts)
    pixels = np.empty((grid, grid, 4), dtype=np.uint8)
    pixels[..., :3] = [int(style.STRONG[at : at + 2], 16) for at in (1, 3, 5)]
    pixels[..., 3] = np.round(255 * shares)
    written = io.BytesIO()
    Image.fromarray(pixels).save(written, "PNG")
    return "data:image/png;base64," + base64.b64encode(written.getvalue()).decode("ascii")
