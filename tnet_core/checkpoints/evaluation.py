"""`evaluation.json`: accuracy and cost per budget, and on which data they were measured.

    {
      "schema": 1,
      "dataset": {"name": "CUB-200-2011", "split": "test", "size": 5794},
      "budgets": [{"budget": [3], "top1": 0.81, "top5": 0.95, "flops": 1.2e9}, …]
    }

Accuracies are fractions; `top5` and `flops` (per image) are optional. The budget of a baseline is
empty. Further fields are kept in `raw` and otherwise ignored.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tnet_core.checkpoints.files import EVALUATION_FILE, MAX_BYTES
from tnet_core.checkpoints.strict_json import read_json
from tnet_core.errors import TNetError

SCHEMA = 1


@dataclass(frozen=True)
class BudgetResult:
    budget: tuple[int, ...]  # looks per grid, one entry per level below the first
    top1: float  # fraction of images
    top5: float | None = None
    flops: float | None = None  # per image

    @property
    def looks(self) -> int:
        """Attended locations per image, over all levels; the thumbnail is not among them."""
        total, width = 0, 1
        for k in self.budget:
            width *= k
            total += width
        return total


@dataclass(frozen=True)
class Evaluation:
    dataset: str
    split: str
    size: int  # images
    results: tuple[BudgetResult, ...]  # in the order of the file
    raw: dict[str, Any] = field(default_factory=dict, repr=False)

    @property
    def where(self) -> str:
        """'CUB-200-2011 test, 5794 images'."""
        return f"{self.dataset} {self.split}, {self.size} images"


def read_evaluation(folder: Path) -> Evaluation:
    path = folder / EVALUATION_FILE
    value = read_json(path, MAX_BYTES[EVALUATION_FILE])
    try:
        return parse_evaluation(value)
    except TNetError as error:
        raise TNetError(f"'{path}' cannot be used: {error}") from None


def parse_evaluation(value: Any) -> Evaluation:
    """From the content of the file; what is wrong with it is said as a sentence that begins with 'its'."""
    if not isinstance(value, dict):
        raise TNetError("it must be a mapping.")
    if type(value.get("schema")) is not int or value["schema"] != SCHEMA:
        raise TNetError(f"its schema is {value.get('schema')!r:.40}, but this version reads schema {SCHEMA}.")
    dataset, budgets = value.get("dataset"), value.get("budgets")
    if not isinstance(dataset, dict):
        raise TNetError("its field 'dataset' must hold 'name', 'split' and 'size'.")
    if not isinstance(budgets, list) or not 1 <= len(budgets) <= 10_000:
        raise TNetError("its field 'budgets' must be a list with one result per budget.")
    size = dataset.get("size")
    if type(size) is not int or size < 1:
        raise TNetError("its field 'dataset.size' must be the number of images.")
    results = tuple(_result(item, f"budgets[{i}]") for i, item in enumerate(budgets))
    if len({result.budget for result in results}) != len(results):
        raise TNetError("its field 'budgets' lists a budget more than once.")
    return Evaluation(_line(dataset, "name"), _line(dataset, "split"), size, results, value)


def _line(dataset: dict[str, Any], name: str) -> str:
    text = dataset.get(name)
    if not isinstance(text, str) or not text.strip() or len(text) > 200 or not text.isprintable():
        raise TNetError(f"its field 'dataset.{name}' must be one printable line.")
    return text


def _result(item: Any, where: str) -> BudgetResult:
    if not isinstance(item, dict):
        raise TNetError(f"its field '{where}' must be a mapping.")
    budget = item.get("budget")
    if not isinstance(budget, list) or len(budget) > 11 or not all(type(k) is int and 0 <= k <= 1024 for k in budget):
        raise TNetError(f"its field '{where}.budget' must list the looks per grid, one whole number per level.")
    top1 = _number(item, "top1", where, 1.0)
    if top1 is None:
        raise TNetError(f"its field '{where}.top1' is missing.")
    return BudgetResult(tuple(budget), top1, _number(item, "top5", where, 1.0), _number(item, "flops", where, 1e18))


def _number(item: dict[str, Any], name: str, where: str, high: float) -> float | None:
    value = item.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= high:
        raise TNetError(f"its field '{where}.{name}' must be a number in 0…{high:g}.")
    return float(value)
