"""The faithfulness report of one picture: does the decision rest on the looks, in the order they were taken?"""

from __future__ import annotations

import html
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from tnet_core import Trace
from tnet_core.explain import Course, Faithfulness, area
from viz.audit.panels import render_missing, render_panel
from viz.audit.shares import render_shares_panel
from viz.common.text import format_class_name, format_number, format_percent

_WIDTH, _HEIGHT = 380, 210
_LEFT, _RIGHT, _TOP, _BOTTOM = 42, 10, 8, 36


@dataclass(frozen=True)
class ReportSubject:
    """What a report is about."""

    title: str  # of the picture, to be escaped
    checkpoint: str  # likewise
    picture: str  # a data URI
    label: int | None = None  # class it is known to show


def render_report(found: Faithfulness, trace: Trace, subject: ReportSubject) -> str:
    """Render the report; `trace` has its looks and no others."""
    panels = [_render_courses(found), _render_sufficiency(found), render_shares_panel(found, trace)]
    head = _render_head(found, trace, subject)
    return f'<div class="audit-board" data-class="{found.cls}">{head}{"".join(panels)}</div>'


def render_no_report(sentence: str) -> str:
    """Render why there is none."""
    return render_missing(sentence)


def _render_head(found: Faithfulness, trace: Trace, subject: ReportSubject) -> str:
    count, full = len(trace.locations), float(found.sufficiency[-1])
    predicted = trace.prediction
    what = html.escape(format_class_name(trace, found.cls))
    if found.cls == predicted:
        role = "which it predicts from them"
    else:
        role = f"while it predicts {html.escape(format_class_name(trace, predicted))} from them"
    known = "; this is the picture's label" if found.cls == subject.label else ""
    return (
        f'<div class="audit-subject"><img src="{html.escape(subject.picture)}" alt=""><p>'
        f"<b>{html.escape(subject.title)}</b>, {html.escape(subject.checkpoint)}. "
        f"The first {count} looks and the thumbnail give <b>{what}</b> "
        f'<b data-full="{full:.6f}">{format_percent(full)}</b>, {role}{known}.{_format_sampling_note(trace)}</p></div>'
    )


def _format_sampling_note(trace: Trace) -> str:
    """Say where looks were not cut as in training: the measurements on the same page are not about such looks."""
    config = trace.config
    if (trace.sampling, trace.levels) == (config.sampling, config.levels):
        return ""
    return (
        f" Its looks are cut from the picture's own pixels ({trace.sampling} sampling, {trace.levels} levels), as in "
        f"Explore; the audit of the checkpoint above was measured with {config.sampling} sampling and {config.levels} "
        "levels."
    )


def _render_courses(found: Faithfulness) -> str:
    runs = len(found.insertion.random)
    caption = (
        "The class's probability while these looks are added to the thumbnail, or taken away again, one by one: in the "
        f"network's order, in {runs} random orders of the same looks (mean and 5 to 95 % band) and with hindsight "
        "(greedy, for this class). Says how good the order is, not whether other cells would have been better."
    )
    figures = [
        _render_course("insertion", "Adding looks", found.insertion, found.beaten_by_insertion, "looks added",
                "more is better"),
        _render_course("deletion", "Taking looks away", found.deletion, found.beaten_by_deletion, "looks taken away",
                "less is better"),
    ]  # fmt: skip
    return render_panel(
        "courses", "Insertion and deletion", caption, f'<div class="audit-courses">{"".join(figures)}</div>'
    )


def _render_course(name: str, title: str, course: Course, beaten: float, below: str, better: str) -> str:
    runs = len(course.random)
    areas = course.random_areas
    rows = (
        ("network", "network's order", float(area(course.network))),
        ("chance", "random orders, mean", float(areas.mean())),
        ("hindsight", "with hindsight", float(area(course.oracle))),
    )
    key = "".join(
        f"<li>{render_line_swatch(kind)}{told} "
        f'<b data-area="{kind}" data-exact="{value:.6f}">{format_number(value)}</b></li>'
        for kind, told, value in rows
    )
    count = round(beaten * runs)
    drawn = render_course_chart(course, f"{title}: probability of the class", below)
    return (
        f'<figure data-course="{name}"><h3>{title}</h3>{drawn}'
        f'<figcaption><ul class="audit-key">{key}</ul><p>Areas under the curves, 0 to 1; {better}. '
        f"The network's order beats <b data-beaten>{count} of {runs}</b> random ones.</p></figcaption></figure>"
    )


def _render_sufficiency(found: Faithfulness) -> str:
    caption = (
        "Sufficiency: the class's probability from the first k looks. Necessity: what is lost of it without them, the "
        "others being kept; below zero they stood in the way. The thumbnail has seen the whole image, so both are told "
        "with it and without it. Exact: looks do not depend on one another."
    )
    columns: dict[str, tuple[str, np.ndarray, Callable[[float], str]]] = {
        "first k, with thumbnail": ("sufficiency", found.sufficiency, format_percent),
        "first k alone": ("sufficiency-alone", found.sufficiency_alone, format_percent),
        "lost without, with thumbnail": ("necessity", found.necessity, _format_points),
        "lost without, looks alone": ("necessity-alone", found.necessity_alone, _format_points),
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
        f'<table class="audit-table audit-enough"><thead><tr><th scope="col">k</th>{head}</tr></thead>'
        f"<tbody>{''.join(lines)}</tbody></table>"
    )
    return render_panel("enough", "Sufficiency and necessity", caption, table)


def _format_points(share: float) -> str:
    return f"{format_number(100 * share)} points"


def render_course_chart(course: Course, name: str, below: str) -> str:
    """Draw one course as an SVG: the network's order, the oracle's, and the band of random ones.

    `name` says what it shows to those who cannot see it, `below` what is counted from left to right.
    """
    count = len(course.network) - 1
    low, high = course.random_band
    there = _format_line(range(count + 1), low, count)
    band = f"{there} {_format_line(range(count, -1, -1), high, count)}"
    marks = "".join(
        f'<circle cx="{_place_x(k, count):.1f}" cy="{_place_y(p):.1f}" r="3.2" data-probability="{p:.6f}">'
        f"<title>{k}: {format_percent(p)}</title></circle>"
        for k, p in enumerate(course.network)
    )
    return (
        f'<svg class="audit-chart" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{name}">'
        f"{_render_rules()}{_render_ticks(count)}"
        f'<text x="{(_LEFT + _WIDTH - _RIGHT) / 2}" y="{_HEIGHT - 4}" text-anchor="middle">{below}</text>'
        f'<polygon class="audit-band" points="{band}"/>'
        f'<polyline class="audit-chance" points="{_format_line(range(count + 1), course.random_mean, count)}"/>'
        f'<polyline class="audit-hindsight" points="{_format_line(range(count + 1), course.oracle, count)}"/>'
        f'<polyline class="audit-network" points="{_format_line(range(count + 1), course.network, count)}"/>'
        f"{marks}</svg>"
    )


def render_line_swatch(name: str) -> str:
    """Draw a piece of a line, for the legend."""
    box = '<rect class="audit-band" x="0" y="1" width="26" height="10"/>' if name == "chance" else ""
    return (
        f'<svg class="audit-chart audit-swatch" width="26" height="12" aria-hidden="true">{box}'
        f'<line class="audit-{name}" x1="0" x2="26" y1="6" y2="6"/></svg>'
    )


def _place_x(k: int, count: int) -> float:
    return _LEFT + k / count * (_WIDTH - _LEFT - _RIGHT)


def _place_y(share: float) -> float:
    return _HEIGHT - _BOTTOM - share * (_HEIGHT - _TOP - _BOTTOM)


def _format_line(steps: Iterable[int], values: np.ndarray, count: int) -> str:
    return " ".join(f"{_place_x(k, count):.1f},{_place_y(float(values[k])):.1f}" for k in steps)


def _render_rules() -> str:
    return "".join(
        f'<line class="audit-rule" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{_place_y(v):.1f}" y2="{_place_y(v):.1f}"/>'
        f'<text x="{_LEFT - 6}" y="{_place_y(v) + 4:.1f}" text-anchor="end">{100 * v:.0f} %</text>'
        for v in (0.0, 0.5, 1.0)
    )


def _render_ticks(count: int) -> str:
    return "".join(
        f'<text x="{_place_x(k, count):.1f}" y="{_HEIGHT - 19}" text-anchor="middle">{k}</text>'
        for k in range(count + 1)
    )
