"""What the page says about a checkpoint: its short card, its notices, and what suits it.

The card tells what it was trained on, how good it is, and what may be done with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tnet_core import Trace
from tnet_core.checkpoints import BudgetResult, CheckpointCard, Evaluation
from viz.common.evaluation import is_agreement, read_list, read_mapping, read_number, read_share
from viz.common.page import render_notices, render_untrained
from viz.common.templates import render_macro
from viz.common.text import format_budget, format_class_name, format_data_set, format_percent
from viz.explore.gallery import find_picture_kind, render_invitation

_MAX_ROWS = 8  # of the table of budgets
Properties = dict[str, Any]


def render_card(about: CheckpointCard) -> str:
    """Render one line that is always there, and the rest behind it."""
    rows = [
        ("Name", about.title or about.source),
        ("About", about.description),
        ("Trained on", format_data_set(_read_text(about, "dataset"))),
        ("Measured on", _format_measured(about.evaluation)),
        ("Numbers", format_data_set(about.numbers)),
        ("Licence", format_licence(about)),
        ("Files", about.origin),
    ]
    agreement = about.evaluation is not None and is_agreement(about.evaluation)
    trained, results = find_trained_result(about), select_results(about)
    return render_macro("explore/explore.html", "card", about, rows, trained, results, agreement)


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


def _format_measured(evaluation: Evaluation | None) -> str:
    if evaluation is None:
        return "nothing yet: the checkpoint has no evaluation.json"
    where = f"{format_data_set(evaluation.dataset)}, split {evaluation.split}, {evaluation.size} images"
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
        {"value": ("" if trained else render_untrained()) + render_notices(sentences)},
        {"value": render_invitation(find_picture_kind(about), config.num_classes) if trained else ""},
        {"visible": has_more},
    )


def explain_unlike(trace: Trace, about: CheckpointCard) -> str:
    """Return a sentence where the network is less sure than of nearly all of its own pictures; empty elsewhere.

    The threshold is measured (`python -m training.familiar`), at the budget of training and with looks as in training:
    it says nothing about others.
    """
    found = {} if about.evaluation is None else read_mapping(about.evaluation.raw, "familiar")
    threshold, quantile = read_share(found.get("threshold")), read_share(found.get("quantile"))
    budget = tuple(read_list(found, "budget"))
    is_as_trained = trace.sampling == trace.config.sampling and trace.levels == trace.config.levels
    if threshold is None or quantile is None or not is_as_trained or budget != trace.config.budget:
        return ""
    if any(k > most for k, most in zip(budget, trace.budget, strict=True)):
        return ""
    if read_number(found.get("temperature")) != (trace.temperature or 1.0):
        return ""  # measured with other probabilities than are shown
    probabilities = trace.probabilities(budget=budget)
    first = int(probabilities.argmax())
    if probabilities[first] >= threshold:
        return ""
    return (
        f"This picture may be unlike what the checkpoint knows: with {format_budget(budget)} it is "
        f"{format_percent(float(probabilities[first]))} sure of {format_class_name(trace, first)}, and at least "
        f"{format_percent(threshold)} sure of {format_percent(1 - quantile)} of the pictures it was measured on."
    )
