"""What each look was worth, three ways: its weight, its contribution, and its fair share."""

from __future__ import annotations

from tnet_core import Trace
from tnet_core.explain import Faithfulness
from viz.audit.panel import panel
from viz.common.numbers import fixed, short, signed
from viz.common.selection import labels


def shares_panel(found: Faithfulness, trace: Trace) -> str:
    caption = (
        "Contribution: exact share in the class's logit as it was added up. Shapley value: what a look adds to the "
        "logit on average over all orders of the looks, the thumbnail being there. A heavy look can argue against the "
        "class. Logits have no common zero: a sign is about this class alone."
    )
    return panel(
        "shares", "Contributions, Shapley values, weights", caption, _table(found, trace) + _violations(found, trace)
    )


def _table(found: Faithfulness, trace: Trace) -> str:
    names = ["context", *(f"look {name}" for name in labels(trace))]
    values, shapley = found.contributions.values, [None, *found.shapley]
    reach = max(float(abs(values).max()), float(abs(found.shapley).max()), 1e-9)
    heavy = {violation.look for violation in found.violations}
    rows = "".join(
        _row(name, float(value), share, float(weight), reach, look in heavy)
        for name, value, share, weight, look in zip(
            names, values, shapley, found.weights, found.contributions.looks, strict=True
        )
    )
    total, gained = found.contributions.total, float(found.shapley.sum())
    head = "".join(f'<th scope="col">{name}</th>' for name in ("look", "contribution", "Shapley value", "weight"))
    foot = (
        f'<tr><th scope="row">together</th><td data-label="contribution" data-total="{total:.6f}"><div>'
        f"<b>{fixed(total)}</b> <small>logit, bias {fixed(found.contributions.bias)}</small></div></td>"
        f'<td data-label="Shapley value" data-gained="{gained:.6f}"><div><b>{signed(gained)}</b> '
        '<small>over the thumbnail alone</small></div></td><td data-label="weight">1</td></tr>'
    )
    return (
        f'<table class="tna-table tna-forest tna-worth"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody>'
        f"<tfoot>{foot}</tfoot></table>"
    )


def _row(name: str, value: float, share: float | None, weight: float, reach: float, against: bool) -> str:
    mark = " <em>heavy, but against</em>" if against else ""
    fair = (
        '<td data-label="Shapley value" class="tna-none">always there</td>'
        if share is None
        else f'<td data-label="Shapley value" data-shapley="{share:.6f}">{_bar(float(share), reach)}</td>'
    )
    return (
        f'<tr><th scope="row">{name}{mark}</th>'
        f'<td data-label="contribution" data-share="{value:.6f}">{_bar(value, reach)}</td>'
        f'{fair}<td data-label="weight" data-weight="{weight:.6f}">{short(weight)}</td></tr>'
    )


def _bar(value: float, reach: float) -> str:
    side = "for" if value >= 0 else "against"
    width = 50 * abs(value) / reach
    return (
        f'<div class="tna-signed tna-{side}"><b>{signed(value)}</b>'
        f'<div class="tna-bar" aria-hidden="true"><i style="width:{width:.1f}%"></i></div></div>'
    )


def _violations(found: Faithfulness, trace: Trace) -> str:
    """One sentence."""
    count, called = len(found.violations), labels(trace)
    listed = ", ".join(
        f"{'the context' if one.look is None else f'look {called[one.look]}'} "
        f"(weight {short(one.weight)}, {signed(one.contribution)})"
        for one in found.violations
    )
    told = (
        f"{'1 sign violation' if count == 1 else f'{count} sign violations'}: more than an even share of the weight, "
        f"but against the class: {listed}."
        if count
        else "No sign violation: no look with more than an even share of the weight argues against the class."
    )
    return f'<p class="tna-said" data-violations="{count}">{told}</p>'
