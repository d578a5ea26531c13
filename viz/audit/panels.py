"""The frame of every panel, and those about policies: replaced, gap to the oracle, moved content, typical images."""

from __future__ import annotations

import html

from viz.audit.data import Audit, MoveScores, PolicyResults
from viz.audit.reading import REPLACED_BY
from viz.common.evaluation import Estimate
from viz.common.text import format_accuracy, format_budget, format_number, format_percent, format_signed

REPLACED_TITLE = "If the policy were replaced"
_REPLACED_COLUMNS = {"mean": "by the data set's mean", "centre": "by the centre", "random": "by chance"}
_MAX_REPLACED_ROWS = 60
GAP_TITLE = "Did it fail to look, or to recognise?"
_GAP_LOOKS = (1, 2)
MOVES_TITLE = "Do looks follow content that is moved?"
TYPICAL_TITLE = "Most and least typical images"


def render_panel(name: str, title: str, caption: str, body: str) -> str:
    """Render a panel; title and caption are plain text, the body is HTML."""
    head = f'<div class="audit-head"><h2 id="audit-{name}">{html.escape(title)}</h2><p>{html.escape(caption)}</p></div>'
    return f'<section class="audit-panel" data-panel="{name}" aria-labelledby="audit-{name}">{head}{body}</section>'


def render_missing(sentence: str) -> str:
    """Render a sentence about what a file does not have."""
    return f'<p class="audit-missing">{html.escape(sentence)}</p>'


def format_points(share: float) -> str:
    """Return '+4.0': a difference of shares in points, one decimal as accuracies have."""
    text = f"{100 * abs(share):.1f}"
    return text if not float(text) else ("+" if share > 0 else "\N{MINUS SIGN}") + text


def format_points_interval(estimate: Estimate) -> str:
    """Return '−0.5 to +4.0', or nothing."""
    return "" if estimate.interval is None else " to ".join(map(format_points, estimate.interval))


def format_percent_interval(estimate: Estimate) -> str:
    """Return '17 to 54 %', or nothing."""
    return (
        "" if estimate.interval is None else " to ".join(format_number(100 * end) for end in estimate.interval) + " %"
    )


def format_signed_interval(estimate: Estimate) -> str:
    return "" if estimate.interval is None else " to ".join(map(format_signed, estimate.interval))


def format_confidence(audit: Audit) -> str:
    """Return '95 % interval'."""
    return "interval" if audit.confidence is None else f"{format_number(100 * audit.confidence)} % interval"


def render_whisker(estimate: Estimate, reach: float) -> str:
    """Draw value and interval on a scale of ±reach, zero in the middle; grey where the sign is in doubt."""
    low, high = estimate.interval or (estimate.value, estimate.value)
    sign = "" if not estimate.is_clear else " audit-for" if estimate.value > 0 else " audit-against"
    left, right, middle = (50 + 50 * max(-1.0, min(1.0, at / reach)) for at in (low, high, estimate.value))
    return (
        f'<div class="audit-whisker{sign}" aria-hidden="true">'
        f'<i style="left:{left:.1f}%;width:{right - left:.1f}%"></i>'
        f'<u style="left:{middle:.1f}%"></u></div>'
    )


def find_reach(estimates: list[Estimate]) -> float:
    """Return the end of a common scale."""
    ends = [abs(end) for e in estimates for end in (e.value, *(e.interval or ()))]
    return max([*ends, 1e-9])


def render_replaced_panel(audit: Audit) -> str:
    rows = [row for row in audit.budgets if row.lost][:_MAX_REPLACED_ROWS]
    caption = (
        f"Points of top-1 {audit.measure} that are lost when as many other looks are taken instead: always at the "
        "cells most probable on average, from the centre outwards, or at random; with "
        f"{format_confidence(audit)}. Grey: the interval holds zero. Where nothing is lost against the mean, choosing "
        "looks by the image did not pay."
    )
    notes = "".join(
        render_missing(f"Looks {_REPLACED_COLUMNS[name].removeprefix('by ')}: {reason}")
        for name, reason in audit.left_out.items()
        if name in _REPLACED_COLUMNS
    )
    if not rows:
        return render_panel(
            "replaced", REPLACED_TITLE, caption, render_missing("This evaluation compares no policies.") + notes
        )
    reach = find_reach([estimate for row in rows for estimate in row.lost.values()])
    shown = [name for name in REPLACED_BY if any(name in row.lost for row in rows)]
    head = "".join(f'<th scope="col">{_REPLACED_COLUMNS[name]}</th>' for name in shown)
    lines = "".join(_render_replaced_row(row, shown, reach, row.budget == audit.trained) for row in rows)
    return render_panel(
        "replaced",
        REPLACED_TITLE,
        caption,
        f'<table class="audit-table audit-forest"><thead><tr><th scope="col">looks</th><th scope="col">as learned</th>'
        f"{head}</tr></thead><tbody>{lines}</tbody></table>{notes}",
    )


def _render_replaced_row(row: PolicyResults, shown: list[str], reach: float, trained: bool) -> str:
    name = f"{format_budget(row.budget)}{' <em>as trained</em>' if trained else ''}"
    learned = f'<td data-label="as learned">{format_accuracy(row.top1["learned"])}</td>'
    cells = "".join(_render_replaced_cell(row, name, reach) for name in shown)
    return f'<tr data-budget="{",".join(map(str, row.budget))}"><th scope="row">{name}</th>{learned}{cells}</tr>'


def _render_replaced_cell(row: PolicyResults, name: str, reach: float) -> str:
    lost = row.lost.get(name)
    if lost is None:
        return f'<td data-label="{_REPLACED_COLUMNS[name]}" class="audit-none"></td>'
    told = f"<div><b>{format_points(lost.value)}</b> <small>{format_points_interval(lost)}</small></div>"
    pair = f'<div class="audit-pair">{told}{render_whisker(lost, reach)}</div>'
    return f'<td data-label="{_REPLACED_COLUMNS[name]}" data-lost="{name}">{pair}</td>'


def render_gap_panel(audit: Audit) -> str:
    caption = (
        "The oracle knows the label and looks, one after the other, where the prediction turns out right. What it gets "
        "right and the network does not, failed to look; what even it gets wrong, failed to recognise. Hindsight also "
        "makes lucky guesses right, so the first is at most this much."
    )
    rows = [row for row in audit.budgets if row.gap is not None and _is_gap_row(row, audit)]
    if not rows:
        reason = audit.left_out.get("oracle")
        sentence = f"The oracle was left out: {reason}" if reason else "This evaluation has no oracle."
        return render_panel("gap", GAP_TITLE, caption, render_missing(sentence))
    return render_panel(
        "gap",
        GAP_TITLE,
        caption,
        f'<div class="audit-gaps">{"".join(_render_gap_row(row, audit) for row in rows)}</div>',
    )


def _is_gap_row(row: PolicyResults, audit: Audit) -> bool:
    """Whether the row has one or two looks, with as many inside each as in training."""
    return row.budget[0] in _GAP_LOOKS and (not audit.trained or row.budget[1:] == audit.trained[1:])


def _render_gap_row(row: PolicyResults, audit: Audit) -> str:
    assert row.gap is not None
    right, gap = row.top1["learned"], max(0.0, row.gap.value)
    rest = max(0.0, 1 - right - gap)
    most = sum(k > 1 for k in row.budget) == 0
    parts = (("right", right), ("look", gap), ("recognise", rest))
    bar = "".join(f'<i class="audit-{name}" style="width:{100 * share:.2f}%"></i>' for name, share in parts)
    interval = format_points_interval(row.gap)
    between = f" ({format_confidence(audit)} {interval})" if interval else ""
    bound = "" if most else ", at most: the oracle is greedy"
    verdict = (
        "More is lost by not recognising than by not looking." if rest > gap else
        "More is lost by not looking than by not recognising." if gap > rest else "Both cost the same."
    )  # fmt: skip
    told = [
        f"<li><i class='audit-right'></i><b>{format_accuracy(right)}</b> right where it looks</li>",
        f"<li><i class='audit-look'></i><b>{_format_gap_points(gap)}</b> failed to look{between}</li>",
        f"<li><i class='audit-recognise'></i><b>{_format_gap_points(rest)}</b> failed to recognise{bound}</li>",
    ]
    return (
        f'<div data-gap="{",".join(map(str, row.budget))}"><h3>{format_budget(row.budget)}</h3>'
        f'<div class="audit-stack" aria-hidden="true">{bar}</div><ul>{"".join(told)}</ul>'
        f"<p>{html.escape(verdict)} {_format_gap_closed(row, audit)}</p></div>"
    )


def _format_gap_closed(row: PolicyResults, audit: Audit) -> str:
    if row.closed is None:
        return ""
    between = format_percent_interval(row.closed)
    ends = f" ({format_confidence(audit)} {between})" if between else ""
    return f"Of the way from the centre to the oracle it goes <b>{format_percent(row.closed.value)}</b>{ends}."


def _format_gap_points(share: float) -> str:
    return f"{100 * share:.1f} points"


def render_moves_panel(audit: Audit) -> str:
    caption = (
        "Every image is shown again after a move. Score 1: the new location scores follow the content; −1: they stay "
        f"in position, whatever is there; with {format_confidence(audit)}. First looks are counted where their content "
        "lies in another cell afterwards. Thumbnails only: what a look then recognises is not measured."
    )
    if not audit.moves:
        return render_panel(
            "moves", MOVES_TITLE, caption, render_missing("This evaluation has no equivariance scores.")
        )
    lines = "".join(map(_render_move_row, audit.moves))
    head = "".join(f'<th scope="col">{name}</th>' for name in ("move", "score", "first look followed", "stayed"))
    return render_panel(
        "moves",
        MOVES_TITLE,
        caption,
        f'<table class="audit-table audit-forest"><thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table>',
    )


def _render_move_row(move: MoveScores) -> str:
    told = f"<div><b>{format_signed(move.score.value)}</b> <small>{format_signed_interval(move.score)}</small></div>"
    score = f'<div class="audit-pair">{told}{render_whisker(move.score, 1.0)}</div>'
    return (
        f'<tr><th scope="row">{html.escape(move.about)}</th>'
        f'<td data-label="score" data-score>{score}</td>'
        f"{_render_move_share('first look followed', move.followed)}{_render_move_share('stayed', move.stayed)}</tr>"
    )


def _render_move_share(label: str, share: Estimate | None) -> str:
    if share is None:
        return f'<td data-label="{label}" class="audit-none"></td>'
    told = f"<b>{format_percent(share.value)}</b> <small>{format_percent_interval(share)}</small>"
    return f'<td data-label="{label}"><div>{told}</div></td>'


def render_typical_panel(audit: Audit) -> str:
    caption = (
        "Correlation of an image's location probabilities with the mean of all: 1 is looked at like the average image. "
        "The file has names only, no pictures."
    )
    if audit.typical is None:
        return render_panel(
            "typical", TYPICAL_TITLE, caption, render_missing("This evaluation names no typical images.")
        )
    lists = "".join(
        f'<div><h3>{title}</h3><ol data-end="{end}">{"".join(_render_typical_item(*item) for item in items)}</ol></div>'
        for title, end, items in (
            ("Most typical", "most", audit.typical.most),
            ("Least typical", "least", audit.typical.least),
        )
        if items
    )
    return render_panel("typical", TYPICAL_TITLE, caption, f'<div class="audit-lists">{lists}</div>')


def _render_typical_item(name: str, score: float) -> str:
    return f"<li><span>{html.escape(name)}</span> <b>{format_signed(score)}</b></li>"
