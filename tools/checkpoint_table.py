"""Accuracy per budget of every bundled checkpoint: rewrites the tables of README.md and docs/checkpoints.md.

The numbers are those of the evaluation files; the page in docs/ also says by which command each row was measured.

Usage: python -m tools.checkpoint_table
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tnet_core.schemas.evaluation import Evaluation, read_evaluation

ROOT = Path(__file__).parents[1]
BEGIN, END = "<!-- checkpoint table: made by tools/checkpoint_table.py -->", "<!-- end of the checkpoint table -->"
README, PAGE = ROOT / "README.md", ROOT / "docs" / "checkpoints.md"
LOOKS = (0, 1, 2, 3, 5, 10)  # per grid


def render_table(root: Path = ROOT, *, with_commands: bool = True) -> str:
    """Render the table and, below it, where each row comes from."""
    found = {folder.parent.name: read_evaluation(folder.parent) for folder in _find_evaluations(root)}
    head = ["checkpoint", "measured on", *(f"{k} looks" if k != 1 else "1 look" for k in LOOKS)]
    head += ["trained with", "there: learned / random / centre"]
    lines = [_format_row(head), _format_row(["---"] * len(head))]
    lines += [
        _format_row([f"`{name}`", _describe_data(e), *_format_accuracies(e), *_format_training_budget(e)])
        for name, e in found.items()
    ]
    if not with_commands:
        return "\n".join(lines)
    notes = [f"- `{name}`: `{_format_command(e)}`, {e.raw['run']['date'][:10]}" for name, e in found.items()]
    return "\n".join([*lines, "", *notes])


def insert_table(text: str, table: str) -> str:
    """Return a text with its table replaced."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{table}\n{END}{after}"


def _find_evaluations(root: Path) -> list[Path]:
    return sorted((root / "checkpoints").glob("*/evaluation.json"))


def _format_row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _describe_data(evaluation: Evaluation) -> str:
    return f"{evaluation.dataset}, {evaluation.split}, {evaluation.size} images"


def _format_accuracies(evaluation: Evaluation) -> list[str]:
    """Return a cell for each entry of LOOKS; a classifier without looks has its number in the first."""
    by_budget = {result.budget: result.top1 for result in evaluation.results}
    if () in by_budget:
        return [_format_percent(by_budget[()]), *[""] * (len(LOOKS) - 1)]
    levels = len(next(iter(by_budget)))
    return [_format_percent(by_budget.get((k,) * levels)) for k in LOOKS]


def _format_training_budget(evaluation: Evaluation) -> list[str]:
    """Return the budget of training, and what learned, random and central looks give there."""
    budgets = [result.budget for result in evaluation.results]
    trained = tuple(evaluation.raw.get("trained_budget", ()))
    if not trained or trained not in budgets:
        return ["", ""]
    policies: dict[str, Any] = evaluation.raw.get("policies", {})
    measured = [policies.get(name, {}).get("top1") for name in ("learned", "random", "centre")]
    at = budgets.index(trained)
    return [" x ".join(map(str, trained)), " / ".join("–" if m is None else _format_percent(m[at]) for m in measured)]


def _format_command(evaluation: Evaluation) -> str:
    """Format the command without what only names things; the evaluation file has it whole."""
    return str(evaluation.raw["run"]["command"]).partition(" --title ")[0]


def _format_percent(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.1f}"


def update_table(text: str, file: Path) -> str:
    """Return the text of one of the two files with today's table."""
    return insert_table(text, render_table(with_commands=file == PAGE))


if __name__ == "__main__":
    for file in (README, PAGE):
        file.write_text(update_table(file.read_text(encoding="utf-8"), file), encoding="utf-8")
