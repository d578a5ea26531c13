"""`evaluation.json`: accuracy and cost per budget, and on which data they were measured.

    {
      "schema": 1,
      "dataset": {"name": "CUB-200-2011", "split": "test", "size": 5794},
      "budgets": [{"budget": [3], "top1": 0.81, "top5": 0.95, "flops": 1.2e9}, …]
    }

Accuracies are fractions; `top5` and `flops` (per image) are optional. The budget of a baseline is empty. What the other
fields hold is told where they are written (`training.evaluation.report`).
"""

from __future__ import annotations

import json
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_args

from pydantic import AfterValidator, Field, PlainSerializer, WrapValidator

from tnet_core.errors import TNetError
from tnet_core.modeling.config import Precision
from tnet_core.schemas.base import Many, Schema, SchemaNumber, check_line
from tnet_core.schemas.files import EVALUATION_FILE, MAX_BYTES, write_atomically

SCHEMA = 1
_Line = Annotated[str, check_line(200)]
_T = TypeVar("_T")
_AsWritten = Annotated[  # a whole number stays one
    _T, WrapValidator(lambda value, check: (check(value), value)[1]), PlainSerializer(lambda value: value)
]
_Share = _AsWritten[Annotated[float, Field(ge=0, le=1)]]
_Looks = Annotated[int, Field(ge=0, le=1024)]
_Section = Any  # of its own form; readers leave out one that is odd, and the rest of the file stays good


class Dataset(Schema):
    name: _Line
    split: _Line
    size: Annotated[int, Field(ge=1)]  # images
    classes: _Section = None
    unreadable: _Section = None  # images that could not be opened
    fingerprint: _Section = None  # of the names of its images, for comparisons with other files


class BudgetResult(Schema):
    budget: Annotated[tuple[_Looks, ...], Field(max_length=11)]  # looks per grid, one per level below the first
    top1: _Share  # of the images
    top5: _Share | None = None
    flops: _AsWritten[Annotated[float, Field(ge=0, le=1e18)]] | None = None  # per image
    top1_interval: _Section = None
    calibration_error: _Section = None
    ms_per_image: _Section = None
    memory_gb: _Section = None

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


class Evaluation(Schema):
    """The content of a valid `evaluation.json`."""

    schema_number: SchemaNumber = Field(alias="schema")
    measured_on: Dataset = Field(alias="dataset")
    results: Annotated[
        Many[BudgetResult], Field(alias="budgets", min_length=1, max_length=10_000), AfterValidator(_check_distinct)
    ]  # in the order of the file
    policies: _Section = None
    comparisons: _Section = None
    gap_to_surest: _Section = None
    gap_closed: _Section = None
    attention: _Section = None
    intervals: _Section = None
    trained_budget: _Section = None
    calibration: _Section = None
    stopping: _Section = None
    heat_map: _Section = None
    typical: _Section = None
    equivariance: _Section = None
    timing: _Section = None
    per_image: _Section = None
    run: _Section = None
    agreement: _Section = None  # with the whole image, in place of a label
    displaced: _Section = None  # the same on views in which what matters is not in the middle
    familiar: _Section = None
    paper: _Section = None
    paper_same_model: _Section = None

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
    def precision(self) -> Precision:
        """What the backbone computed in; float32 where the file does not say."""
        run = self.raw.get("run")
        found = run.get("precision") if isinstance(run, dict) else None
        return next((name for name in get_args(Precision) if name == found), "float32")

    @property
    def where(self) -> str:
        """'CUB-200-2011 test, 5794 images', and the precision where it is not float32."""
        computed = "" if self.precision == "float32" else f", computed in {self.precision}"
        return f"{self.dataset} {self.split}, {self.size} images{computed}"

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
