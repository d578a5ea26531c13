"""The audit of one checkpoint as one piece of HTML."""

from __future__ import annotations

import html
from collections.abc import Callable
from functools import cache
from pathlib import Path

from viz.audit.data import Audit
from viz.audit.heat_map import render_classes_panel, render_heat_panel
from viz.audit.panels import (
    render_gap_panel,
    render_missing,
    render_moves_panel,
    render_replaced_panel,
    render_typical_panel,
)
from viz.common.page import read_shared_scripts

PANELS: tuple[Callable[[Audit], str], ...] = (
    render_heat_panel,
    render_replaced_panel,
    render_gap_panel,
    render_moves_panel,
    render_classes_panel,
    render_typical_panel,
)


def render_audit(audit: Audit | None, title: str = "") -> str:
    """Render all panels; `title` is what a checkpoint without an evaluation is called."""
    if audit is None:
        named = f"{title} was" if title else "This checkpoint was"
        return render_missing(
            f"{named} never evaluated, so there is nothing to audit: python -m training.evaluate CHECKPOINT DATA "
            "writes the evaluation.json that is read here."
        )
    where = f'<p class="audit-measured">{html.escape(_format_measured(audit))}</p>'
    if audit.plain:
        return where + render_missing("It sees the whole image at once: there are no looks, and no policy to audit.")
    return f'<div class="audit-board">{where}{"".join(draw(audit) for draw in PANELS)}</div>'


def _format_measured(audit: Audit) -> str:
    sentence = f"{audit.title}, measured on {audit.where}."
    if audit.agreement:
        sentence += " Counted is agreement with the backbone's answer for the whole image: this is no accuracy."
    return sentence


@cache
def build_load_script() -> str:
    """Return what the component runs once: the maps and the table of classes live in the browser."""
    own = (Path(__file__).parent / "audit.js").read_text(encoding="utf-8")
    return f"{read_shared_scripts('text')}\n{own}\naudit(element, watch);"


def render_intro() -> str:
    return (
        '<div class="audit-title"><h2>Audit of a checkpoint</h2><p>Do looks follow content or the centre? What would '
        "simpler looks cost? Read from the checkpoint's evaluation; nothing is run. "
        '<button type="button" class="tn-jump" data-scroll-to="audit-picture">Faithfulness of the current picture'
        "</button> is below.</p></div>"
    )


def render_faithfulness_intro() -> str:
    return (
        '<div class="audit-title"><h2>Faithfulness of the current picture</h2>'
        "<p>The picture and the checkpoint that are "
        "open in Explore. Everything is recomputed from the features of the looks: the backbone does not run, and only "
        "the random orders are a (seeded) sample.</p></div>"
    )
