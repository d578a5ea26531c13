"""The difference of two decisions, look by look: exact, because each decision is a sum over its looks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tnet_core.compare.similarity import same_grid
from tnet_core.trace import Trace

Path = tuple[int, ...]


@dataclass(frozen=True)
class LedgerRow:
    """The share of one place in both; None where it was not looked at, which counts as zero."""

    path: Path | None  # cells from the thumbnail down; None for the context
    a: int | None  # position in a's looks
    b: int | None
    left: float | None  # share in a's logit
    right: float | None

    @property
    def difference(self) -> float:
        return (self.right or 0.0) - (self.left or 0.0)


@dataclass(frozen=True)
class LedgerDifference:
    """Rows, the context first, and the biases: their differences add up to that of the logits."""

    rows: tuple[LedgerRow, ...]
    bias: tuple[float, float]
    logits: tuple[float, float]

    @property
    def total(self) -> float:
        """Logit in b minus logit in a."""
        return sum(row.difference for row in self.rows) + self.bias[1] - self.bias[0]


def ledger_difference(
    a: Trace, b: Trace, classes: tuple[int | str, int | str], in_a: Sequence[int], in_b: Sequence[int]
) -> LedgerDifference:
    """Compare contributions to a class of a and to its counterpart of b, matched by cell.

    Cells match where the grids are of the same size; otherwise every look has a row of its own. a's looks come first,
    in their order, then those that only b has.
    """
    ours, theirs = a.contributions(classes[0], subset=in_a), b.contributions(classes[1], subset=in_b)
    left = {_path(a, look): (look, float(value)) for look, value in zip(ours.looks, ours.values, strict=True)}
    right = {_path(b, look): (look, float(value)) for look, value in zip(theirs.looks, theirs.values, strict=True)}
    rows = []
    for path, (look, value) in left.items():
        match = right.pop(path, None) if path is None or same_grid(a, b) else None
        rows.append(LedgerRow(path, look, match and match[0], value, match and match[1]))
    rows += [LedgerRow(path, None, look, None, value) for path, (look, value) in right.items()]
    return LedgerDifference(tuple(rows), (ours.bias, theirs.bias), (ours.total, theirs.total))


def _path(trace: Trace, look: int | None) -> Path | None:
    return None if look is None else trace.locations[look].path


def common_classes(a: Trace, b: Trace) -> tuple[tuple[int, int], ...]:
    """Return pairs (class of a, class of b) with the same name, in the order of a.

    A name that a list has twice means its first class in both, its second in both, and so on. Where neither checkpoint
    names its classes they are matched by number; where one does, they have none in common.
    """
    if not a.class_names and not b.class_names:
        return tuple((cls, cls) for cls in range(min(len(a.bias), len(b.bias))))
    theirs = {key: cls for cls, key in enumerate(_number_names(b.class_names))}
    return tuple((cls, theirs[key]) for cls, key in enumerate(_number_names(a.class_names)) if key in theirs)


def _number_names(names: tuple[str, ...]) -> list[tuple[str, int]]:
    """Return each name and how often it was met before."""
    met: dict[str, int] = {}
    keys = []
    for name in names:
        keys.append((name, met.get(name, 0)))
        met[name] = met.get(name, 0) + 1
    return keys
