"""What the page says about a checkpoint: its short card, its notices, and what suits it.

The card tells what it was trained on, how good it is, and what may be done with it.
"""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tnet_core.checkpoints import BudgetResult, CheckpointCard, Evaluation
from viz.common.evaluation import is_agreement
from viz.common.page import UNTRAINED, render_notices
from viz.common.text import format_accuracy, format_budget, format_flops
from viz.explore.gallery import find_picture_kind, render_invitation

_MAX_ROWS = 8  # of the table of budgets
Properties = dict[str, Any]


def render_card(about: CheckpointCard) -> str:
    """Render one line that is always there, and the rest behind it."""
    head = f"<summary><b>About this checkpoint</b>{_render_headline(about)}</summary>"
    rows = [
        ("Name", about.title or about.source),
        ("About", about.description),
        ("Trained on", _read_text(about, "dataset")),
        ("Measured on", _format_measured(about.evaluation)),
        ("Numbers", about.numbers),
        ("Licence", format_licence(about)),
        ("Files", about.origin),
    ]
    listed = "".join(f"<dt>{name}</dt><dd>{html.escape(text)}</dd>" for name, text in rows if text)
    table = "" if about.evaluation is None else _render_table(select_results(about), is_agreement(about.evaluation))
    return f'<details class="tn-card">{head}<div><dl>{listed}</dl>{table}</div></details>'


def select_results(about: CheckpointCard) -> list[BudgetResult]:
    """Return at most a handful of budgets, from none to the trained one and, for two levels, beyond it."""
    if about.evaluation is None:
        return []
    trained = about.config.budget if about.config is not None else ()
    results = sorted(about.evaluation.results, key=lambda result: (result.looks, result.budget))
    if len(trained) > 1:  # combinations beyond the trained budget are many and say little
        within = [r for r in results if all(k <= most for k, most in zip(r.budget, trained, strict=False))]
        results = within or results
    keep = {0, len(results) - 1} | {at for at, result in enumerate(results) if result.budget == trained}
    spare = [at for at in range(len(results)) if at not in keep]
    keep |= set(spare[: max(0, _MAX_ROWS - len(keep))])
    return [result for at, result in enumerate(results) if at in keep]


def find_trained_result(about: CheckpointCard) -> BudgetResult | None:
    """Return the measurement at the budget the checkpoint was trained with."""
    if about.evaluation is None or about.config is None:
        return None
    return next((result for result in about.evaluation.results if result.budget == about.config.budget), None)


def _render_headline(about: CheckpointCard) -> str:
    result = find_trained_result(about)
    if result is None or about.evaluation is None:
        return "<span>accuracy not measured</span>"
    split = about.evaluation.split.partition(",")[0]  # what follows is told below
    split = html.escape(f"{about.evaluation.dataset}, {split}")
    what = "agrees with the whole image in" if is_agreement(about.evaluation) else "top-1"
    return f"<span>{what} {format_accuracy(result.top1)} with {format_budget(result.budget)} ({split})</span>"


def _format_measured(evaluation: Evaluation | None) -> str:
    if evaluation is None:
        return "nothing yet: the checkpoint has no evaluation.json"
    where = f"{evaluation.dataset}, split {evaluation.split}, {evaluation.size} images"
    return (
        f"{where}; counted is agreement with the backbone's answer for the whole image, not accuracy"
        if is_agreement(evaluation)
        else where
    )


def _read_text(about: CheckpointCard, key: str) -> str:
    value = about.provenance.get(key)
    return value if isinstance(value, str) else ""


def format_licence(about: CheckpointCard) -> str:
    weights = about.licence_weights or _read_text(about, "licence")
    data = about.licence_data or _read_text(about, "data_licence")
    parts = [f"weights {weights}" if weights else "", f"data {data}" if data else ""]
    return "; ".join(part for part in parts if part)


def _render_table(results: Sequence[BudgetResult], agreement: bool) -> str:
    rows = "".join(
        f"<tr><td>{format_budget(result.budget)}</td><td>{format_accuracy(result.top1)}</td>"
        f"<td>{'' if result.flops is None else format_flops(int(result.flops))}</td></tr>"
        for result in results
    )
    what = "agreement" if agreement else "top-1"
    head = f'<tr><th scope="col">looks</th><th scope="col">{what}</th><th scope="col">cost</th></tr>'
    return f"<table><thead>{head}</thead><tbody>{rows}</tbody></table>"


@dataclass(frozen=True)
class CheckpointPanel:
    """Properties of the components that belong to a checkpoint, in the order of the page."""

    chooser: Properties
    card: Properties
    notice: Properties
    invitation: Properties
    more: Properties


def build_checkpoint_panel(
    about: CheckpointCard,
    spec: str,
    choices: Sequence[tuple[str, str]],
    *,
    trained: bool,
    has_more: bool,
    sentences: Sequence[str] = (),
) -> CheckpointPanel:
    """Build the panel; `choices` are titles and specs, `sentences` what could not be used."""
    config = about.config
    assert config is not None, "a checkpoint that was opened has a configuration"
    return CheckpointPanel(
        {"choices": list(choices), "value": spec, "visible": trained or len(choices) > 1},
        {"value": render_card(about) if trained else ""},
        {"value": ("" if trained else UNTRAINED) + render_notices(sentences)},
        {"value": render_invitation(find_picture_kind(about), config.num_classes) if trained else ""},
        {"visible": has_more},
    )
