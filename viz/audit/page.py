"""The audit of one checkpoint as one piece of HTML."""

from __future__ import annotations

from functools import partial

from viz.audit.cards import build_cards
from viz.audit.data import Audit, PolicyResults
from viz.audit.heat_map import build_heat
from viz.common.templates import render_macro

_render = partial(render_macro, "audit/audit.html")
_REPLACED = {
    "mean": "The same looks for every picture", "centre": "Looks from the centre outwards", "random": "Random looks",
    "surest": "The surest of all looks",
}  # fmt: skip
_GAP_LOOKS = (1, 2)


def render_name(name: str) -> str:
    """Render the name by which the page's address means an audit; it is not seen."""
    return _render("audited", name)


def render_audit(audit: Audit | None, title: str = "") -> str:
    """Render the four cards; `title` is what a checkpoint without an evaluation is called."""
    if audit is None:
        return _render("no_audit", title)
    if audit.plain:
        return _render("no_looks", audit)
    return _render("board", audit, build_cards(audit), build_heat(audit), _find_gaps(audit), _list_left_out(audit))


def render_faithfulness_intro() -> str:
    return render_macro("audit/parts.html", "faithfulness_intro")


def _list_left_out(audit: Audit) -> list[str]:
    """Return sentences on policies that were not tried."""
    return [f"{_REPLACED[name]}: {reason}" for name, reason in audit.left_out.items() if name in _REPLACED]


def _find_gaps(audit: Audit) -> list[PolicyResults]:
    """Return the rows with an oracle and one or two looks, with as many inside each as in training."""
    return [
        row
        for row in audit.budgets
        if row.gap is not None
        and row.budget[0] in _GAP_LOOKS
        and (not audit.trained or row.budget[1:] == audit.trained[1:])
    ]
