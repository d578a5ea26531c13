"""`evaluation.json`: accuracy and cost per budget, and on which data they were measured.

    {
      "schema": 1,
      "dataset": {"name": "CUB-200-2011", "split": "test", "size": 5794},
      "budgets": [{"budget": [3], "top1": 0.81, "top5": 0.95, "flops": 1.2e9}, …]
    }

Accuracies are fractions; `top5` and `flops` (per image) are optional. The budget of a baseline is empty.
Whoever evaluates may add fields anywhere (`training.evaluation.report` lists ours). They are kept, and readers of one
leave out what is odd.
"""

from __future__ import annotations

import json
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, ConfigDict, Field, WrapValidator

from tnet_core.errors import TNetError
from tnet_core.schemas.base import Many, Schema, SchemaNumber, check_line
from tnet_core.schemas.files import EVALUATION_FILE, MAX_BYTES, write_atomically

SCHEMA = 1
_Line = Annotated[str, check_line(200)]
_AsWritten = WrapValidator(lambda value, check: (check(value), value)[1])  # a whole number stays one
_Share = Annotated[float, Field(ge=0, le=1), _AsWritten]
_Looks = Annotated[int, Field(ge=0, le=1024)]


class _Open(Schema):
    model_config = ConfigDict(extra="allow")


class Dataset(_Open):
    name: _Line
    split: _Line
    size: Annotated[int, Field(ge=1)]  # images


class BudgetResult(_Open):
    budget: Annotated[tuple[_Looks, ...], Field(max_length=11)]  # looks per grid, one per level below the first
    top1: _Share  # of the images
    top5: _Share | None = None
    flops: Annotated[float, Field(ge=0, le=1e18), _AsWritten] | None = None  # per image

    @property
    def looks(self) -> int:
        """Attended locations per image, over all levels; the thumbnail is not among them."""
        total, width = 0, 1
        for k in self.budget:
            width *= k
            total += width
        return total


def _check_distinct(results: tuple[BudgetResult, ...]) -> tuple[BudgetResult, ...]:
    if len({result.budget for result in results}) != len(results):
        raise ValueError("lists a budget more than once")
    return results


class Evaluation(_Open):
    """The content of a valid `evaluation.json`."""

    schema_number: SchemaNumber = Field(alias="schema")
    measured_on: Dataset = Field(alias="dataset")
    results: Annotated[
        Many[BudgetResult], Field(alias="budgets", min_length=1, max_length=10_000), AfterValidator(_check_distinct)
    ]  # in the order of the file

    @property
    def dataset(self) -> str:
        return self.measured_on.name

    @property
    def split(self) -> str:
        return self.measured_on.split

    @property
    def size(self) -> int:
        """The number of images."""
        return self.measured_on.size

    @property
    def where(self) -> str:
        """'CUB-200-2011 test, 5794 images'."""
        return f"{self.dataset} {self.split}, {self.size} images"

    @cached_property
    def raw(self) -> dict[str, Any]:
        """Everything the file holds, as plain JSON values."""
        return self.model_dump(mode="json", by_alias=True, exclude_unset=True)

    def to_text(self) -> str:
        """Return JSON with one line per field: small, and still legible in a diff."""
        fields = (f"{json.dumps(key)}: {to_compact_text(value)}" for key, value in self.raw.items())
        return "{\n" + ",\n".join(fields) + "\n}\n"

    def write(self, path: Path) -> None:
        """Write the file in one step: it is the old one or the new one, never half of it."""
        data = self.to_text().encode("utf-8")
        if len(data) > MAX_BYTES[EVALUATION_FILE]:
            raise TNetError(
                f"The result has {len(data)} bytes, more than an evaluation may have; use a smaller budget."
            )
        write_atomically(path, lambda temporary: temporary.write_bytes(data))


def to_compact_text(value: Any) -> str:
    """Return JSON in one line, without spaces."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def read_evaluation(folder: Path) -> Evaluation:
    """Read the evaluation of a checkpoint's folder; every problem is one sentence that names the file."""
    return Evaluation.read_file(folder / EVALUATION_FILE, MAX_BYTES[EVALUATION_FILE])


def parse_evaluation(content: dict[str, Any]) -> Evaluation:
    """Return the evaluation of plain JSON values; what is wrong with them is a sentence that begins with 'it'."""
    return Evaluation.read(to_compact_text(content).encode("utf-8"))
