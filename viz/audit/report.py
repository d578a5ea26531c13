"""The faithfulness report of one picture: does the decision rest on the looks, in the order they were taken?"""

from __future__ import annotations

import html
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tnet_core import Trace
from tnet_core.explain import Course, Faithfulness, area
from viz.audit.chart import chart, swatch
from viz.audit.panel import missing, panel
from viz.audit.shares import shares_panel
from viz.common.names import class_name
from viz.common.numbers import percent, short


@dataclass(frozen=True)
class Subject:
    """What a report is about."""

    title: str  # of the picture, to be escaped
    checkpoint: str  # likewise
    picture: str  # a data URI
    label: int | None = None  # class it is known to show


def report(found: Faithfulness, trace: Trace, subject: Subject) -> str:
    """`trace` has the looks of the report and no others."""
    panels = [_courses(found), _enough(found), shares_panel(found, trace)]
    return f'<div class="tna-board" data-class="{found.cls}">{_head(found, trace, subject)}{"".join(panels)}</div>'


def no_report(sentence: str) -> str:
    """Why there is none."""
    return missing(sentence)


def _head(found: Faithfulness, trace: Trace, subject: Subject) -> str:
    count, full = len(trace.locations), float(found.sufficiency[-1])
    predicted = trace.prediction
    what = html.escape(class_name(trace, found.cls))
    if found.cls == predicted:
        role = "which it predicts from them"
    else:
        role = f"while it predicts {html.escape(class_name(trace, predicted))} from them"
    known = "; this is the picture's label" if found.cls == subject.label else ""
    return (
        f'<div class="tna-subject"><img src="{html.escape(subject.picture)}" alt=""><p>'
        f"<b>{html.escape(subject.title)}</b>, {html.escape(subject.checkpoint)}. "
        f"The first {count} looks and the thumbnail give <b>{what}</b> "
        f'<b data-full="{full:.6f}">{percent(full)}</b>, {role}{known}.{_otherwise(trace)}</p></div>'
    )


def _otherwise(trace: Trace) -> str:
    """Where looks were not cut as in training, the measurements on the same page are not about such looks."""
    config = trace.config
    if (trace.sampling, trace.levels) == (config.sampling, config.levels):
        return ""
    return (
        f" Its looks are cut from the picture's own pixels ({trace.sampling} sampling, {trace.levels} levels), as in "
        f"Explore; the audit of the checkpoint above was measured with {config.sampling} sampling and {config.levels} "
        "levels."
    )


def _courses(found: Faithfulness) -> str:
    runs = len(found.insertion.random)
    caption = (
        "The class's probability while these looks are added to the thumbnail, or taken away again, one by one: in the "
        f"network's order, in {runs} random orders of the same looks (mean and 5 to 95 % band) and with hindsight "
        "(greedy, for this class). Says how good the order is, not whether other cells would have been better."
    )
    figures = [
        _figure("insertion", "Adding looks", found.insertion, found.beaten_by_insertion, "looks added",
                "more is better"),
        _figure("deletion", "Taking looks away", found.deletion, found.beaten_by_deletion, "looks taken away",
                "less is better"),
    ]  # fmt: skip
    return panel("courses", "Insertion and deletion", caption, f'<div class="tna-courses">{"".join(figures)}</div>')


def _figure(name: str, title: str, course: Course, beaten: float, below: str, better: str) -> str:
    runs = len(course.random)
    areas = course.random_areas
    rows = (
        ("network", "network's order", float(area(course.network))),
        ("chance", "random orders, mean", float(areas.mean())),
        ("hindsight", "with hindsight", float(area(course.oracle))),
    )
    key = "".join(
        f'<li>{swatch(kind)}{told} <b data-area="{kind}" data-exact="{value:.6f}">{short(value)}</b></li>'
        for kind, told, value in rows
    )
    count = round(beaten * runs)
    return (
        f'<figure data-course="{name}"><h3>{title}</h3>{chart(course, f"{title}: probability of the class", below)}'
        f'<figcaption><ul class="tna-key">{key}</ul><p>Areas under the curves, 0 to 1; {better}. '
        f"The network's order beats <b data-beaten>{count} of {runs}</b> random ones.</p></figcaption></figure>"
    )


def _enough(found: Faithfulness) -> str:
    caption = (
        "Sufficiency: the class's probability from the first k looks. Necessity: what is lost of it without them, the "
        "others being kept; below zero they stood in the way. The thumbnail has seen the whole image, so both are told "
        "with it and without it. Exact: looks do not depend on one another."
    )
    columns: dict[str, tuple[str, np.ndarray, Callable[[float], str]]] = {
        "first k, with thumbnail": ("sufficiency", found.sufficiency, percent),
        "first k alone": ("sufficiency-alone", found.sufficiency_alone, percent),
        "lost without, with thumbnail": ("necessity", found.necessity, _points),
        "lost without, looks alone": ("necessity-alone", found.necessity_alone, _points),
    }
    head = "".join(f'<th scope="col">{name}</th>' for name in columns)
    lines = []
    for k in range(1, len(found.sufficiency)):
        cells = "".join(
            f'<td data-label="{label}" data-{name}="{values[k]:.6f}">{write(float(values[k]))}</td>'
            for label, (name, values, write) in columns.items()
        )
        lines.append(f'<tr><th scope="row">{k}</th>{cells}</tr>')
    table = (
        f'<table class="tna-table tna-enough"><thead><tr><th scope="col">k</th>{head}</tr></thead>'
        f"<tbody>{''.join(lines)}</tbody></table>"
    )
    return panel("enough", "Sufficiency and necessity", caption, table)


def _points(share: float) -> str:
    return f"{short(100 * share)} points"
