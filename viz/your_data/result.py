"""An evaluation as a table: one row per budget, one column per way to look."""

from __future__ import annotations

import base64
import html
import re
from collections.abc import Sequence

from tnet_core.checkpoints.evaluation import parse_evaluation
from viz.common.curves import Curve, CurvePoint, format_point_looks
from viz.common.measured import VisitorEvaluation, read_visitor_curves
from viz.common.numbers import format_accuracy, format_cost, format_interval

_COLUMNS = {"": "Learned", "centre": "Centre", "random": "Random", "mean": "Same looks", "oracle": "Hindsight"}


def result(own: VisitorEvaluation, notices: Sequence[str], seconds: float) -> str:
    """HTML: what was measured on what, what was left out, and the accuracies."""
    measured = parse_evaluation(own.content)
    classes = own.content["dataset"]["classes"]
    told = (
        f"Top-1 accuracy of {html.escape(own.title)} on {measured.size} image{'s' * (measured.size != 1)} of "
        f"{classes} class{'es' * (classes != 1)}, in {seconds:.0f} s; small numbers: 95 % interval over the images."
    )
    left_out = "".join(f'<p class="tn-notice" role="note">{html.escape(sentence)}</p>' for sentence in notices)
    tables = "".join(_table(group) for group in _groups(read_visitor_curves(own)))
    head = f'<h2>{html.escape(own.name)}</h2><p class="tno-note">{told}</p>'
    return f'<div class="tno-result">{head}{left_out}{tables}</div>'


def _groups(curves: Sequence[Curve]) -> list[dict[str, Curve]]:
    """A model of three levels has a curve for each number of looks inside a look: each gets its table."""
    groups: dict[str, dict[str, Curve]] = {}
    for curve in curves:
        if curve.role in _COLUMNS:
            groups.setdefault(curve.variant_of or curve.id, {})[curve.role] = curve
    return list(groups.values())


def _table(group: dict[str, Curve]) -> str:
    """Without looks at the second level every table of three levels would begin alike."""
    shown = {role: title for role, title in _COLUMNS.items() if role in group}
    head = "".join(f'<th scope="col">{title}</th>' for title in ("Looks", *shown.values(), "Cost"))
    rows = ""
    for point in group[""].points:
        cells = "".join(_cell(title, _same(group[role], point)) for role, title in shown.items())
        rows += (
            f'<tr data-budget="{"x".join(map(str, point.budget))}"><th scope="row">{format_point_looks(point)}</th>'
            f'{cells}<td data-label="Cost">{format_cost(point.flops)}</td></tr>'
        )
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
    return f'<div class="tno-scroll" tabindex="0" role="region" aria-label="Accuracy by looks">{table}</div>'


def _same(curve: Curve, point: CurvePoint) -> CurvePoint | None:
    return next((other for other in curve.points if other.budget == point.budget), None)


def _cell(title: str, point: CurvePoint | None) -> str:
    if point is None or point.top1 is None:
        return f'<td data-label="{title}">–</td>'
    return (
        f'<td data-label="{title}" data-value="{point.top1}">{format_accuracy(point.top1)} '
        f"<small>{format_interval(point.top1_interval)}</small></td>"
    )


def download(name: str, text: str) -> str:
    """HTML: a link that holds the file, so that no file is kept anywhere."""
    data = base64.b64encode(text.encode("utf-8")).decode("ascii")
    file = re.sub(r"[^a-z0-9]+", "-", name.casefold()).strip("-")[:60] or "data"
    return (
        f'<a class="tno-download" download="{file}.evaluation.json" href="data:application/json;base64,{data}">'
        'Download evaluation.json</a><span class="tno-note">as <code>training.evaluate</code> writes it</span>'
    )
