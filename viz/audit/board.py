"""The audit of one checkpoint as one piece of HTML."""

from __future__ import annotations

import html
from collections.abc import Callable
from functools import cache
from pathlib import Path

from viz.audit.classes import classes_panel
from viz.audit.gap import gap_panel
from viz.audit.heat import heat_panel
from viz.audit.model import Audit
from viz.audit.moves import moves_panel
from viz.audit.panel import missing
from viz.audit.replaced import replaced_panel
from viz.audit.typical import typical_panel
from viz.stage.page import code

PANELS: tuple[Callable[[Audit], str], ...] = (
    heat_panel,
    replaced_panel,
    gap_panel,
    moves_panel,
    classes_panel,
    typical_panel,
)


def board(audit: Audit | None, title: str = "") -> str:
    """`title` is what a checkpoint without an evaluation is called."""
    if audit is None:
        named = f"{title} was" if title else "This checkpoint was"
        return missing(
            f"{named} never evaluated, so there is nothing to audit: python -m training.evaluate CHECKPOINT DATA "
            "writes the evaluation.json that is read here."
        )
    where = f'<p class="tna-measured">{html.escape(_measured(audit))}</p>'
    if audit.plain:
        return where + missing("It sees the whole image at once: there are no looks, and no policy to audit.")
    return f'<div class="tna-board">{where}{"".join(draw(audit) for draw in PANELS)}</div>'


def _measured(audit: Audit) -> str:
    sentence = f"{audit.title}, measured on {audit.where}."
    if audit.agreement:
        sentence += " Counted is agreement with the backbone's answer for the whole image: this is no accuracy."
    return sentence


@cache
def on_load() -> str:
    """What the component runs once: the maps and the table of classes live in the browser."""
    own = (Path(__file__).parent / "audit.js").read_text(encoding="utf-8")
    return f"{code('text')}\n{own}\naudit(element, watch);"
