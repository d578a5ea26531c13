"""What is lost when the policy is replaced by one that does not see the image."""

from __future__ import annotations

from viz.audit.model import AtBudget, Audit
from viz.audit.panel import confidence, missing, panel, points, points_between, reach_of, whisker
from viz.audit.reading import REPLACED_BY
from viz.common.numbers import format_accuracy, format_budget

TITLE = "If the policy were replaced"
_COLUMNS = {"mean": "by the data set's mean", "centre": "by the centre", "random": "by chance"}
_MOST_ROWS = 60


def replaced_panel(audit: Audit) -> str:
    rows = [row for row in audit.budgets if row.lost][:_MOST_ROWS]
    caption = (
        f"Points of top-1 {audit.measure} that are lost when as many other looks are taken instead: always at the "
        f"cells most probable on average, from the centre outwards, or at random; with {confidence(audit)}. Grey: the "
        "interval holds zero. Where nothing is lost against the mean, choosing looks by the image did not pay."
    )
    notes = "".join(
        missing(f"Looks {_COLUMNS[name].removeprefix('by ')}: {reason}")
        for name, reason in audit.left_out.items()
        if name in _COLUMNS
    )
    if not rows:
        return panel("replaced", TITLE, caption, missing("This evaluation compares no policies.") + notes)
    reach = reach_of([estimate for row in rows for estimate in row.lost.values()])
    shown = [name for name in REPLACED_BY if any(name in row.lost for row in rows)]
    head = "".join(f'<th scope="col">{_COLUMNS[name]}</th>' for name in shown)
    lines = "".join(_line(row, shown, reach, row.budget == audit.trained) for row in rows)
    return panel(
        "replaced",
        TITLE,
        caption,
        f'<table class="tna-table tna-forest"><thead><tr><th scope="col">looks</th><th scope="col">as learned</th>'
        f"{head}</tr></thead><tbody>{lines}</tbody></table>{notes}",
    )


def _line(row: AtBudget, shown: list[str], reach: float, trained: bool) -> str:
    name = f"{format_budget(row.budget)}{' <em>as trained</em>' if trained else ''}"
    learned = f'<td data-label="as learned">{format_accuracy(row.top1["learned"])}</td>'
    cells = "".join(_cell(row, name, reach) for name in shown)
    return f'<tr data-budget="{",".join(map(str, row.budget))}"><th scope="row">{name}</th>{learned}{cells}</tr>'


def _cell(row: AtBudget, name: str, reach: float) -> str:
    lost = row.lost.get(name)
    if lost is None:
        return f'<td data-label="{_COLUMNS[name]}" class="tna-none"></td>'
    told = f"<div><b>{points(lost.value)}</b> <small>{points_between(lost)}</small></div>"
    pair = f'<div class="tna-pair">{told}{whisker(lost, reach)}</div>'
    return f'<td data-label="{_COLUMNS[name]}" data-lost="{name}">{pair}</td>'
