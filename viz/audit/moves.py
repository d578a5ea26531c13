"""Do first looks follow content that is moved? From the evaluation's equivariance scores."""

from __future__ import annotations

import html

from viz.audit.model import Audit, Moved
from viz.audit.panel import between, confidence, missing, panel, percent_between, whisker
from viz.common.evaluation import Estimate
from viz.common.numbers import percent, signed

TITLE = "Do looks follow content that is moved?"


def moves_panel(audit: Audit) -> str:
    caption = (
        "Every image is shown again after a move. Score 1: the new location scores follow the content; −1: they stay "
        f"in position, whatever is there; with {confidence(audit)}. First looks are counted where their content lies "
        "in another cell afterwards. Thumbnails only: what a look then recognises is not measured."
    )
    if not audit.moves:
        return panel("moves", TITLE, caption, missing("This evaluation has no equivariance scores."))
    lines = "".join(map(_line, audit.moves))
    head = "".join(f'<th scope="col">{name}</th>' for name in ("move", "score", "first look followed", "stayed"))
    return panel(
        "moves",
        TITLE,
        caption,
        f'<table class="tna-table tna-forest"><thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table>',
    )


def _line(move: Moved) -> str:
    told = f"<div><b>{signed(move.score.value)}</b> <small>{between(move.score)}</small></div>"
    score = f'<div class="tna-pair">{told}{whisker(move.score, 1.0)}</div>'
    return (
        f'<tr><th scope="row">{html.escape(move.about)}</th>'
        f'<td data-label="score" data-score>{score}</td>'
        f"{_share('first look followed', move.followed)}{_share('stayed', move.stayed)}</tr>"
    )


def _share(label: str, share: Estimate | None) -> str:
    if share is None:
        return f'<td data-label="{label}" class="tna-none"></td>'
    told = f"<b>{percent(share.value)}</b> <small>{percent_between(share)}</small>"
    return f'<td data-label="{label}"><div>{told}</div></td>'
