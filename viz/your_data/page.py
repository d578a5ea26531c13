"""What the tab says, and an evaluation as a table: one row per budget, one column per way to look."""

from __future__ import annotations

import html
from collections.abc import Sequence

from tnet_core.checkpoints.evaluation import parse_evaluation
from viz.common.curves import Curve, CurvePoint, format_point_looks
from viz.common.measured import VisitorEvaluation, read_visitor_curves
from viz.common.page import format_file_name, render_download
from viz.common.text import format_accuracy, format_flops, format_interval

INTRO = (
    '<div class="your-data-head"><h2>Evaluate your own data</h2><p>Accuracy of a checkpoint on labelled images of '
    "yours, for every number of looks, beside looks at the centre and at random. It measures; nothing is learned, "
    "kept or published.</p></div>"
)

ZIP_LAYOUT = (
    '<details class="your-data-why"><summary>How to pack the zip</summary><p>One folder per class, named as the '
    "checkpoint names it; <code>Black-footed Albatross</code>, <code>001.Black_footed_Albatross</code> and "
    "<code>black_footed_albatross</code> are the same. The folder right above an image is its class, whatever lies "
    "around it. Classes that the checkpoint does not know are left out, and so is everything that is no image; the "
    "result says what. At most 50 MB, 5,000 images, 50 million pixels each. The images are removed when the evaluation "
    "ends.</p></details>"
)

WAITING = '<p class="your-data-note">Choose a zip and press Evaluate; the table comes here.</p>'

_COLUMNS = {"": "Learned", "centre": "Centre", "random": "Random", "mean": "Same looks", "oracle": "Hindsight"}


def render_result(own: VisitorEvaluation, notices: Sequence[str], seconds: float) -> str:
    """Render what was measured on what, what was left out, and the accuracies."""
    measured = parse_evaluation(own.content)
    classes = own.content["dataset"]["classes"]
    told = (
        f"Top-1 accuracy of {html.escape(own.title)} on {measured.size} image{'s' * (measured.size != 1)} of "
        f"{classes} class{'es' * (classes != 1)}, in {seconds:.0f} s; small numbers: 95 % interval over the images."
    )
    left_out = "".join(f'<p class="tn-notice" role="note">{html.escape(sentence)}</p>' for sentence in notices)
    tables = "".join(_render_table(group) for group in _group_curves(read_visitor_curves(own)))
    head = f'<h2>{html.escape(own.name)}</h2><p class="your-data-note">{told}</p>'
    return f'<div class="your-data-result">{head}{left_out}{tables}</div>'


def _group_curves(curves: Sequence[Curve]) -> list[dict[str, Curve]]:
    """Group curves by table: a model of three levels has one for each number of looks inside a look."""
    groups: dict[str, dict[str, Curve]] = {}
    for curve in curves:
        if curve.role in _COLUMNS:
            groups.setdefault(curve.variant_of or curve.id, {})[curve.role] = curve
    return list(groups.values())


def _render_table(group: dict[str, Curve]) -> str:
    """Render the accuracies of one group, one row per budget of its learned looks."""
    shown = {role: title for role, title in _COLUMNS.items() if role in group}
    head = "".join(f'<th scope="col">{title}</th>' for title in ("Looks", *shown.values(), "Cost"))
    rows = ""
    for point in group[""].points:
        cells = "".join(_render_cell(title, _find_same_budget(group[role], point)) for role, title in shown.items())
        rows += (
            f'<tr data-budget="{"x".join(map(str, point.budget))}"><th scope="row">{format_point_looks(point)}</th>'
            f'{cells}<td data-label="Cost">{format_flops(point.flops)}</td></tr>'
        )
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
    return f'<div class="your-data-scroll" tabindex="0" role="region" aria-label="Accuracy by looks">{table}</div>'


def _find_same_budget(curve: Curve, point: CurvePoint) -> CurvePoint | None:
    return next((other for other in curve.points if other.budget == point.budget), None)


def _render_cell(title: str, point: CurvePoint | None) -> str:
    if point is None or point.top1 is None:
        return f'<td data-label="{title}">–</td>'
    return (
        f'<td data-label="{title}" data-value="{point.top1}">{format_accuracy(point.top1)} '
        f"<small>{format_interval(point.top1_interval)}</small></td>"
    )


def render_file_link(name: str, text: str) -> str:
    """Render the link to the evaluation as a file."""
    link = render_download(
        text,
        f"{format_file_name(name)}.evaluation.json",
        "application/json",
        "Download evaluation.json",
        "your-data-download",
    )
    return f'{link}<span class="your-data-note">as <code>training.evaluate</code> writes it</span>'


def render_chart_notice(name: str) -> str:
    return (
        f'<p class="your-data-note" role="status">The curve is in the tab <b>Accuracy vs locations</b> as '
        f"<b>Your data: {html.escape(name)}</b>, for you alone and while this page is open.</p>"
    )
