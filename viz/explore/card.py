"""The short card of a checkpoint: what it was trained on, how good it is, what may be done with it."""

from __future__ import annotations

import html
from collections.abc import Sequence

from tnet_core.checkpoints import BudgetResult, CheckpointCard, Evaluation
from viz.common.evaluation import is_agreement
from viz.common.numbers import gigaflops

_MOST_ROWS = 8


def card(about: CheckpointCard) -> str:
    """HTML: one line that is always there, the rest behind it."""
    head = f"<summary><b>About this checkpoint</b>{_headline(about)}</summary>"
    rows = [
        ("Name", about.title or about.source),
        ("About", about.description),
        ("Trained on", _text(about, "dataset")),
        ("Measured on", _measured(about.evaluation)),
        ("Numbers", about.numbers),
        ("Licence", licence(about)),
        ("Files", about.origin),
    ]
    listed = "".join(f"<dt>{name}</dt><dd>{html.escape(text)}</dd>" for name, text in rows if text)
    table = "" if about.evaluation is None else _table(shown_results(about), is_agreement(about.evaluation))
    return f'<details class="tn-card">{head}<div><dl>{listed}</dl>{table}</div></details>'


def shown_results(about: CheckpointCard) -> list[BudgetResult]:
    """At most a handful of budgets, from none to the trained one and, for two levels, beyond it."""
    if about.evaluation is None:
        return []
    trained = about.config.budget if about.config is not None else ()
    results = sorted(about.evaluation.results, key=lambda result: (result.looks, result.budget))
    if len(trained) > 1:  # combinations beyond the trained budget are many and say little
        within = [r for r in results if all(k <= most for k, most in zip(r.budget, trained, strict=False))]
        results = within or results
    keep = {0, len(results) - 1} | {at for at, result in enumerate(results) if result.budget == trained}
    spare = [at for at in range(len(results)) if at not in keep]
    keep |= set(spare[: max(0, _MOST_ROWS - len(keep))])
    return [result for at, result in enumerate(results) if at in keep]


def trained_result(about: CheckpointCard) -> BudgetResult | None:
    """The measurement at the budget the checkpoint was trained with."""
    if about.evaluation is None or about.config is None:
        return None
    return next((result for result in about.evaluation.results if result.budget == about.config.budget), None)


def _headline(about: CheckpointCard) -> str:
    result = trained_result(about)
    if result is None or about.evaluation is None:
        return "<span>accuracy not measured</span>"
    split = about.evaluation.split.partition(",")[0]  # what follows is told below
    split = html.escape(f"{about.evaluation.dataset}, {split}")
    what = "agrees with the whole image in" if is_agreement(about.evaluation) else "top-1"
    return f"<span>{what} {accuracy(result.top1)} with {looks(result.budget)} ({split})</span>"


def _measured(evaluation: Evaluation | None) -> str:
    if evaluation is None:
        return "nothing yet: the checkpoint has no evaluation.json"
    where = f"{evaluation.dataset}, split {evaluation.split}, {evaluation.size} images"
    return (
        f"{where}; counted is agreement with the backbone's answer for the whole image, not accuracy"
        if is_agreement(evaluation)
        else where
    )


def _text(about: CheckpointCard, key: str) -> str:
    value = about.provenance.get(key)
    return value if isinstance(value, str) else ""


def licence(about: CheckpointCard) -> str:
    weights = about.licence_weights or _text(about, "licence")
    data = about.licence_data or _text(about, "data_licence")
    parts = [f"weights {weights}" if weights else "", f"data {data}" if data else ""]
    return "; ".join(part for part in parts if part)


def _table(results: Sequence[BudgetResult], agreement: bool) -> str:
    rows = "".join(
        f"<tr><td>{looks(result.budget)}</td><td>{accuracy(result.top1)}</td>"
        f"<td>{'' if result.flops is None else gigaflops(int(result.flops))}</td></tr>"
        for result in results
    )
    what = "agreement" if agreement else "top-1"
    head = f'<tr><th scope="col">looks</th><th scope="col">{what}</th><th scope="col">cost</th></tr>'
    return f"<table><thead>{head}</thead><tbody>{rows}</tbody></table>"


def accuracy(share: float) -> str:
    """One decimal: differences between budgets are often smaller than a per cent."""
    return f"{100 * share:.1f} %"


def looks(budget: Sequence[int]) -> str:
    """'3 looks', or '2 × 1 looks' where looks are taken inside looks."""
    if not any(budget):
        return "thumbnail alone"
    written = " × ".join(str(k) for k in budget)
    return f"{written} look" if written == "1" else f"{written} looks"
