"""Did it fail to look, or to recognise? The learned policy against one that knows the answer."""

from __future__ import annotations

import html

from viz.audit.model import AtBudget, Audit
from viz.audit.panel import confidence, missing, panel, percent_between, points_between
from viz.common.numbers import format_accuracy, format_budget, percent

TITLE = "Did it fail to look, or to recognise?"
_LOOKS = (1, 2)


def gap_panel(audit: Audit) -> str:
    caption = (
        "The oracle knows the label and looks, one after the other, where the prediction turns out right. What it gets "
        "right and the network does not, failed to look; what even it gets wrong, failed to recognise. Hindsight also "
        "makes lucky guesses right, so the first is at most this much."
    )
    rows = [row for row in audit.budgets if row.gap is not None and _asked(row, audit)]
    if not rows:
        reason = audit.left_out.get("oracle")
        sentence = f"The oracle was left out: {reason}" if reason else "This evaluation has no oracle."
        return panel("gap", TITLE, caption, missing(sentence))
    return panel("gap", TITLE, caption, f'<div class="tna-gaps">{"".join(_row(row, audit) for row in rows)}</div>')


def _asked(row: AtBudget, audit: Audit) -> bool:
    """One and two looks, with as many inside each as in training."""
    return row.budget[0] in _LOOKS and (not audit.trained or row.budget[1:] == audit.trained[1:])


def _row(row: AtBudget, audit: Audit) -> str:
    assert row.gap is not None
    right, gap = row.top1["learned"], max(0.0, row.gap.value)
    rest = max(0.0, 1 - right - gap)
    most = sum(k > 1 for k in row.budget) == 0
    parts = (("right", right), ("look", gap), ("recognise", rest))
    bar = "".join(f'<i class="tna-{name}" style="width:{100 * share:.2f}%"></i>' for name, share in parts)
    interval = points_between(row.gap)
    between = f" ({confidence(audit)} {interval})" if interval else ""
    bound = "" if most else ", at most: the oracle is greedy"
    verdict = (
        "More is lost by not recognising than by not looking." if rest > gap else
        "More is lost by not looking than by not recognising." if gap > rest else "Both cost the same."
    )  # fmt: skip
    told = [
        f"<li><i class='tna-right'></i><b>{format_accuracy(right)}</b> right where it looks</li>",
        f"<li><i class='tna-look'></i><b>{_points(gap)}</b> failed to look{between}</li>",
        f"<li><i class='tna-recognise'></i><b>{_points(rest)}</b> failed to recognise{bound}</li>",
    ]
    return (
        f'<div data-gap="{",".join(map(str, row.budget))}"><h3>{format_budget(row.budget)}</h3>'
        f'<div class="tna-stack" aria-hidden="true">{bar}</div><ul>{"".join(told)}</ul>'
        f"<p>{html.escape(verdict)} {_closed(row, audit)}</p></div>"
    )


def _closed(row: AtBudget, audit: Audit) -> str:
    if row.closed is None:
        return ""
    between = percent_between(row.closed)
    ends = f" ({confidence(audit)} {between})" if between else ""
    return f"Of the way from the centre to the oracle it goes <b>{percent(row.closed.value)}</b>{ends}."


def _points(share: float) -> str:
    return f"{100 * share:.1f} points"
