"""The panels below the pictures: what became of each look, what the grid did, both decisions."""

from __future__ import annotations

import html
from collections.abc import Callable

import numpy as np

from tnet_core import Trace
from tnet_core.counterfactual import Fate
from viz.common.text import format_class_name, format_percent, format_signed
from viz.what_if.experiment import Experiment

_MAX_CLASSES = 3  # listed per side
FATE_TEXTS = {
    "followed": "followed its content",
    "stayed": "stayed where it was",
    "both": "both places are looked at",
    "neither": "neither place is looked at",
    "gone": "content left the picture",
    "unmoved": "content did not move",
}


def render_per_look_count(shown: Experiment, draw: Callable[[Experiment, int], str]) -> str:
    """Render one block for every number of looks; the page shows one of them."""
    return "".join(
        f'<div data-k="{k}"{"" if k == shown.start_looks else " hidden"}>{draw(shown, k)}</div>'
        for k in range(1, shown.max_looks + 1)
    )


def render_panel(name: str, title: str, caption: str, body: str) -> str:
    """Render a panel; title and caption are plain text, the body is HTML."""
    head = f'<div class="tn-head"><h2 id="what-if-{name}">{html.escape(title)}</h2><p>{html.escape(caption)}</p></div>'
    return f'<section class="tn-panel" data-panel="{name}" aria-labelledby="what-if-{name}">{head}{body}</section>'


# What became of each look -----------------------------------------------------------------------------


def render_looks_panel(shown: Experiment) -> str:
    if shown.copied is not None:
        return render_panel(
            "looks", "What became of each look", _KEPT_CAPTION, render_per_look_count(shown, _render_kept)
        )
    return render_panel(
        "looks", "What became of each look", _FATES_CAPTION, render_per_look_count(shown, _render_fates)
    )


_FATES_CAPTION = (
    "Each look of the unchanged picture: the cell nearest to its content now, which look is there, and which is at its "
    "old cell, among as many looks. Choose a row to see its content on the right. Looks inside looks are not followed."
)
_KEPT_CAPTION = "Each look of the unchanged picture, and which look is at the same cell now, among as many looks."


def _render_fates(shown: Experiment, k: int) -> str:
    rows = "".join(_render_fate(rank, fate, shown) for rank, fate in enumerate(shown.find_fates(k)))
    return _render_table(("look", "content is at", "there now", "old cell now", ""), rows)


def _render_fate(rank: int, fate: Fate, shown: Experiment) -> str:
    at = "outside" if fate.kind == "gone" else format_cell(round(fate.row), round(fate.col))
    told = FATE_TEXTS[fate.kind] if shown.has_changed else ""
    return (
        f'<tr data-fate="{fate.kind}">{_render_look_button(rank)}<td>{at}</td><td>{_format_look(fate.again)}</td>'
        f"<td>{_format_look(fate.there)}</td><td>{told}</td></tr>"
    )


def _render_kept(shown: Experiment, k: int) -> str:
    before, after = (cells[:k] for cells in shown.cells)
    n, rows = shown.before.config.grid, ""
    for rank, cell in enumerate(before):
        there = after.index(cell) if cell in after else None
        told = "kept" if there is not None else "dropped"
        rows += (
            f'<tr data-fate="{told}">{_render_look_button(rank)}<td>{format_cell(*divmod(cell, n))}</td>'
            f"<td>{_format_look(there)}</td><td>{told}</td></tr>"
        )
    return _render_table(("look", "cell", "there now", ""), rows)


def _render_look_button(rank: int) -> str:
    return f'<th scope="row"><button type="button" data-look="{rank}">{rank + 1}</button></th>'


def _format_look(position: int | None) -> str:
    return "–" if position is None else f"look {position + 1}"


def format_cell(row: int, col: int) -> str:
    return f"row {row + 1}, column {col + 1}"


def _render_table(head: tuple[str, ...], rows: str) -> str:
    cells = "".join(f'<th scope="col">{name}</th>' for name in head)
    return f'<table class="what-if-table"><thead><tr>{cells}</tr></thead><tbody>{rows}</tbody></table>'


# What the grid did --------------------------------------------------------------------------------------


def render_scores_panel(shown: Experiment) -> str:
    if shown.pull is not None:
        return render_panel(
            "scores", "What the copy did to all cells", _PULL_CAPTION, _render_facts(_list_pull_facts(shown))
        )
    return render_panel(
        "scores",
        "Content or position?",
        _SCORES_CAPTION,
        _render_facts(_list_scores(shown)) + _render_data_set_scores(shown),
    )


_SCORES_CAPTION = (
    "All cells of the first grid, whatever the number of looks: rank correlation of the new location scores with what "
    "the old ones say about the same content and about the same position. Score 1: content alone predicts them; "
    "−1: position alone; 0: both alike."
)
_PULL_CAPTION = (
    "Ranks among all cells of the first grid, whatever the number of looks. Cells that overlap the copy show part of "
    "it and are not counted among the others."
)


def _list_scores(shown: Experiment) -> list[tuple[str, str, str]]:
    found = shown.followed
    if found is None:
        return [("score", "not defined", "Nothing moved.")]
    content, position, score = (float(v[0]) for v in (found.content, found.position, found.score))
    compared = f"over {found.cells} of {shown.before.config.cells} cells: those whose content had a cell before"
    return [
        ("score", _format_score(score), f"{shown.change}, this picture"),
        ("content", _format_score(content), compared),
        ("position", _format_score(position), "over the same cells"),
    ]


def _list_pull_facts(shown: Experiment) -> list[tuple[str, str, str]]:
    found, cells = shown.pull, shown.before.config.cells
    assert found is not None
    return [
        ("the copy's cell", _format_ranks(found.target, cells), "rank before and now"),
        ("the original's cell", _format_ranks(found.source, cells), "rank before and now"),
        ("all others", _format_score(found.others), f"rank correlation, before and now, of {found.untouched} cells"),
    ]


def _format_ranks(pair: tuple[int, int], cells: int) -> str:
    return f"{pair[0] + 1} → {pair[1] + 1} of {cells}"


def _format_score(value: float) -> str:
    return "not defined" if np.isnan(value) else f'<span data-exact="{value:.6f}">{format_signed(value)}</span>'


def _render_facts(facts: list[tuple[str, str, str]]) -> str:
    rows = "".join(f"<dt>{name}</dt><dd><b>{value}</b> <small>{told}</small></dd>" for name, value, told in facts)
    return f'<dl class="what-if-facts">{rows}</dl>'


def _render_data_set_scores(shown: Experiment) -> str:
    if not shown.measured:
        return '<p class="tn-caption">No evaluation of this checkpoint tells this score for a whole data set.</p>'
    facts = []
    for one in shown.measured:
        ends = "" if one.score.interval is None else ", interval " + " to ".join(map(format_signed, one.score.interval))
        facts.append(("", format_signed(one.score.value), html.escape(f"{one.about}{ends}")))
    rows = "".join(f"<li><b>{value}</b> <small>{told}</small></li>" for _, value, told in facts)
    caption = f'<p class="tn-caption">Measured on {html.escape(shown.evaluated_on)}:</p>'
    return f'{caption}<ul class="what-if-measured">{rows}</ul>'


# Both decisions -------------------------------------------------------------------------------------------


def render_decisions_panel(shown: Experiment) -> str:
    caption = (
        "The most probable classes with as many looks at either picture. Another answer may come from the changed "
        "pixels alone."
    )
    return render_panel("decisions", "What it decides", caption, render_per_look_count(shown, _render_decisions))


def _render_decisions(shown: Experiment, k: int) -> str:
    sides = ((shown.before, "Unchanged"), (shown.after, "Changed"))
    lists = "".join(f"<div><h3>{title}</h3>{_render_classes(trace, shown, k)}</div>" for trace, title in sides)
    return f'<div class="what-if-answers">{lists}</div>'


def _render_classes(trace: Trace, shown: Experiment, k: int) -> str:
    probabilities = trace.probabilities(budget=shown.build_budget(k))
    rows = ""
    for cls in np.argsort(-probabilities, kind="stable")[:_MAX_CLASSES]:
        true = "<em>true label</em>" if cls == shown.label else ""
        name, share = html.escape(format_class_name(trace, int(cls))), format_percent(float(probabilities[cls]))
        rows += f"<li><span>{name}{true}</span><b>{share}</b></li>"
    return f"<ol>{rows}</ol>"
