"""Every class: accuracy, where its images are looked at, and how much first looks differ among them."""

from __future__ import annotations

import html

from viz.audit.mini import mini_map
from viz.audit.model import Audit, HeatMap, OfClass
from viz.audit.panel import missing, panel
from viz.common.numbers import format_accuracy, format_budget, short

TITLE = "Class by class"
FEW = 12  # rows before all are asked for


def classes_panel(audit: Audit) -> str:
    heat, trained = audit.heat, format_budget(audit.trained) if audit.trained else "the trained budget"
    caption = (
        f"Top-1 {audit.measure} with {trained} and from the thumbnail alone, entropy and centre bias of the first "
        "look, and where looks fall. Classes with few images have coarse numbers, and an entropy that is small by "
        "necessity. Choose a class to see its heat map above."
    )
    if heat is None or not heat.classes:
        return panel("classes", TITLE, caption, missing("This evaluation has no numbers of single classes."))
    columns = (
        ("class", "name"), ("images", "images"), (f"top-1 {audit.measure}", "top1"), ("thumbnail", "thumbnail"),
        ("entropy", "entropy"), ("centre bias", "bias"),
    )  # fmt: skip
    head = "".join(
        f'<th scope="col"><button type="button" data-sort="{key}">{name}</button></th>' for name, key in columns
    )
    rows = "".join(_row(entry, heat, audit, at >= FEW) for at, entry in enumerate(heat.classes))
    more = (
        f'<button type="button" class="tna-more" data-more>Show all {len(heat.classes)} classes</button>'
        if len(heat.classes) > FEW
        else ""
    )
    left = heat.more_classes
    beyond = missing(f"{left} more {'class is' if left == 1 else 'classes are'} not shown.") if left else ""
    return panel(
        "classes",
        TITLE,
        caption,
        '<div class="tna-tools"><label class="tna-search"><span>Find</span><input type="search" autocomplete="off" '
        'placeholder="part of a name" data-find></label></div>'
        f'<table class="tna-table tna-byclass" data-few="{FEW}"><thead><tr>{head}<th scope="col">looks</th></tr>'
        f"</thead><tbody>{rows}</tbody></table>"
        f'<p class="tna-missing" data-nothing hidden>No class has such a name.</p>{more}{beyond}',
    )


def _row(entry: OfClass, heat: HeatMap, audit: Audit, hidden: bool) -> str:
    taken = entry.where.taken
    name = html.escape(entry.name)
    most = max(taken, default=0)
    drawn = (
        f'<img src="{mini_map(taken[most], heat.grid)}" alt="" title="{format_budget((most,))}" width="34" height="34">'
        if taken
        else ""
    )
    values = {"images": entry.where.images, "top1": entry.top1, "thumbnail": entry.thumbnail}
    values |= {"entropy": entry.where.entropy, "bias": entry.centre_bias}
    data = "".join(f' data-{key}="{value:.6g}"' for key, value in values.items() if value is not None)
    cells = (
        ("images", str(entry.where.images)),
        (f"top-1 {audit.measure}", _share(entry.top1)),
        ("thumbnail", _share(entry.thumbnail)),
        ("entropy", _score(entry.where.entropy)),
        ("centre bias", _score(entry.centre_bias)),
        ("looks", drawn),
    )
    listed = "".join(
        f'<td data-label="{label}"{"" if text else " class=tna-none"}>{text}</td>' for label, text in cells
    )
    return (
        f'<tr data-name="{name}"{data}{" hidden" if hidden else ""}>'
        f'<th scope="row"><button type="button" data-choose>{name}</button></th>{listed}</tr>'
    )


def _share(value: float | None) -> str:
    return "" if value is None else format_accuracy(value)


def _score(value: float | None) -> str:
    return "" if value is None else short(value)
