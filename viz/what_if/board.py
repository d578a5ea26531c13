"""The tab's content as one piece of HTML, and what it does in the browser."""

from __future__ import annotations

import html
from functools import cache
from pathlib import Path

from viz.what_if.model import Experiment
from viz.what_if.panels import decisions_panel, looks_panel, per_look_count, scores_panel
from viz.what_if.pictures import pictures
from viz.what_if.verdict import by_chance, verdict


def board(shown: Experiment) -> str:
    return (
        f'<div class="tn-stage tnl" data-looks="{shown.start}">'
        f'<div class="tnl-verdict" role="status">{per_look_count(shown, _said)}</div>'
        f"{_otherwise(shown)}{pictures(shown)}{_slider(shown)}"
        f'<div class="tnl-lower">{looks_panel(shown)}'
        f'<div class="tnl-side">{scores_panel(shown)}{decisions_panel(shown)}</div></div></div>'
    )


def _said(shown: Experiment, k: int) -> str:
    chance = f"<small>{html.escape(by_chance(shown, k))}</small>" if shown.changed and shown.copied is None else ""
    return f"<p>{html.escape(verdict(shown, k))}</p>{chance}"


def _otherwise(shown: Experiment) -> str:
    return f'<p class="tn-caption tnl-otherwise">{html.escape(shown.otherwise)}</p>' if shown.otherwise else ""


def _slider(shown: Experiment) -> str:
    inside = " (with all looks inside them)" if len(shown.before.budget) > 1 else ""
    return (
        f'<label class="tn-scrub tnl-k"><span>Looks that count{inside}</span>'
        f'<input type="range" min="1" max="{shown.most}" step="1" value="{shown.start}"><output></output></label>'
    )


def nothing(sentence: str) -> str:
    """Why there is nothing to try."""
    return f'<div class="tn-stage tnl"><p class="tnl-nothing">{html.escape(sentence)}</p></div>'


@cache
def on_load() -> str:
    """What the component runs once: the number of looks and the chosen look are the browser's own."""
    own = (Path(__file__).parent / "what_if.js").read_text(encoding="utf-8")
    return f"{own}\nwhatIf(element, watch);"
