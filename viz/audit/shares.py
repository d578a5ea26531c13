"""How the score adds up, and what each look changed: weight, contribution, effect and fair share."""

from __future__ import annotations

from tnet_core import Trace
from tnet_core.explain import Faithfulness
from tnet_core.explain.signs import differ_in_sign
from viz.audit.panels import render_panel
from viz.common.text import format_fixed, format_number, format_percent, format_signed, list_look_names


def render_shares_panel(found: Faithfulness, trace: Trace) -> str:
    inner = ", looks inside it included" if trace.levels > 2 else ""
    caption = (
        "Contribution: exact share in the class's logit as it was added up. Without it: the class from all the others"
        f"{inner}, which are weighed anew; what is lost then is the look's effect, and that is not its contribution. "
        "Shapley value: what a look adds to the logit on average over all orders of the looks, the thumbnail being "
        "there. Logits have no common zero: a sign is about this class alone."
    )
    signs = _render_violations(found, trace) + _render_disagreements(found, trace)
    return render_panel(
        "shares", "Contributions, effects, Shapley values, weights", caption, _render_shares_table(found, trace) + signs
    )


def _render_shares_table(found: Faithfulness, trace: Trace) -> str:
    values, shapley = found.contributions.values, [None, *found.shapley]
    effects = [found.left_out.context, *found.left_out.looks]
    left = zip(found.left_out_probability.without, found.left_out.without, strict=True)
    reach = max(float(abs(values).max()), float(abs(found.shapley).max()), 1e-9)
    heavy = {violation.look for violation in found.violations}
    rows = []
    for at, (look, (probability, logit)) in enumerate(zip(found.contributions.looks, left, strict=True)):
        value, effect, weight = float(values[at]), effects[at], float(found.weights[at])
        mark = " <em>heavy, but against</em>" if look in heavy else ""
        rows.append(
            f'<tr><th scope="row">{_format_name(look, trace)}{mark}</th>'
            f'<td data-label="contribution" data-share="{value:.6f}">{_render_bar(value, reach)}</td>'
            f"{_render_shapley(shapley[at], reach)}"
            f"{_render_without(probability, logit, effect is not None and differ_in_sign(value, effect))}"
            f'<td data-label="weight" data-weight="{weight:.6f}">{format_number(weight)}</td></tr>'
        )
    columns = ("look", "contribution", "Shapley value", "without it", "weight")
    head = "".join(f'<th scope="col">{name}</th>' for name in columns)
    return (
        f'<table class="audit-table audit-forest audit-worth"><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody>"
        f"<tfoot>{_render_total_row(found)}</tfoot></table>"
    )


def _render_total_row(found: Faithfulness) -> str:
    """Render the last row of the table: what the columns add up to, and what is not lost."""
    total, gained = found.contributions.total, float(found.shapley.sum())
    return (
        f'<tr><th scope="row">together</th><td data-label="contribution" data-total="{total:.6f}"><div>'
        f"<b>{format_fixed(total)}</b> <small>logit, bias {format_fixed(found.contributions.bias)}</small></div></td>"
        f'<td data-label="Shapley value" data-gained="{gained:.6f}"><div><b>{format_signed(gained)}</b> '
        "<small>over the thumbnail alone</small></div></td>"
        f'<td data-label="with everything"><b>{format_percent(found.left_out_probability.full)}</b> '
        f'<small>logit {format_fixed(found.left_out.full)}</small></td><td data-label="weight">1</td></tr>'
    )


def _format_name(look: int | None, trace: Trace) -> str:
    return "context" if look is None else f"look {list_look_names(trace)[look]}"


def _render_shapley(share: float | None, reach: float) -> str:
    if share is None:
        return '<td data-label="Shapley value" class="audit-none">always there</td>'
    return f'<td data-label="Shapley value" data-shapley="{share:.6f}">{_render_bar(float(share), reach)}</td>'


def _render_without(probability: float | None, logit: float | None, contrary: bool) -> str:
    """Render a cell, marked where leaving the look out moves the class to the other side than its contribution says."""
    if probability is None or logit is None:
        return '<td data-label="without it" class="audit-none">nothing would remain</td>'
    mark = "≠ " if contrary else ""
    return (
        f'<td data-label="without it" data-without="{probability:.6f}" data-without-logit="{logit:.6f}">'
        f"<b>{mark}{format_percent(probability)}</b> <small>logit {format_fixed(logit)}</small></td>"
    )


def _render_bar(value: float, reach: float) -> str:
    side = "for" if value >= 0 else "against"
    width = 50 * abs(value) / reach
    return (
        f'<div class="audit-signed audit-{side}"><b>{format_signed(value)}</b>'
        f'<div class="audit-bar" aria-hidden="true"><i style="width:{width:.1f}%"></i></div></div>'
    )


def _render_violations(found: Faithfulness, trace: Trace) -> str:
    """Render one sentence on weights and contributions."""
    count = len(found.violations)
    listed = ", ".join(
        f"{_format_subject(one.look, trace)} (weight {format_number(one.weight)}, {format_signed(one.contribution)})"
        for one in found.violations
    )
    sentence = (
        f"{'1 sign violation' if count == 1 else f'{count} sign violations'} of weight and contribution: more than an "
        f"even share of the weight, but against the class: {listed}."
        if count
        else "No sign violation of weight and contribution: no look with more than an even share of the weight argues "
        "against the class."
    )
    return f'<p class="audit-said" data-violations="{count}">{sentence}</p>'


def _render_disagreements(found: Faithfulness, trace: Trace) -> str:
    """Render one sentence on contributions and effects."""
    looks = found.disagreements
    rows = {look: at for at, look in enumerate(found.contributions.looks)}
    listed = "; ".join(_format_disagreement(found, trace, look, rows[look]) for look in looks)
    sentence = (
        f"Contribution and effect (or Shapley value) disagree in sign for {len(looks)} of {len(rows)}: {listed}."
        if looks
        else "Contributions, effects and Shapley values agree in sign: what adds to the class also raised it, and what "
        "argues against it lowered it."
    )
    return f'<p class="audit-said" data-disagreements="{len(looks)}">{sentence}</p>'


def _format_disagreement(found: Faithfulness, trace: Trace, look: int | None, row: int) -> str:
    share, effect = float(found.contributions.values[row]), found.left_out.context
    fair = ""
    if look is not None:
        effect = float(found.left_out.looks[look])
        fair = f", its Shapley value is {format_signed(float(found.shapley[look]))}"
    changed = "" if effect is None else f"its effect on the logit is {format_signed(effect)}"
    return f"{_format_subject(look, trace)} contributes {format_signed(share)}, {changed}{fair}"


def _format_subject(look: int | None, trace: Trace) -> str:
    return "the context" if look is None else f"look {list_look_names(trace)[look]}"
