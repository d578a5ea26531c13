"""What an audit shows: well-formed numbers, None or nothing where a file has none."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from viz.common.curves import CurvePoint
from viz.common.evaluation import Estimate

Budget = tuple[int, ...]
Cells = tuple[float, ...]  # one number per cell, row by row


@dataclass(frozen=True)
class LookMap:
    """How often the policy looks at each cell in some images."""

    images: int
    taken: Mapping[int, Cells]  # number of looks -> images in which each cell is among these
    lift: Cells | None  # mean location probability over uniform

    @property
    def entropy(self) -> float | None:
        """Entropy of the first look, as a share of the largest possible: 0 always one cell, 1 all cells alike."""
        return None if 1 not in self.taken else compute_entropy(self.taken[1])


@dataclass(frozen=True)
class ClassLooks:
    """One class."""

    name: str  # to be escaped
    where: LookMap
    top1: float | None  # with the trained budget
    thumbnail: float | None  # top-1 without a look
    centre_bias: float | None  # of the first look


@dataclass(frozen=True)
class HeatMap:
    grid: int  # cells in a row
    where: LookMap  # all images
    classes: tuple[ClassLooks, ...]
    more_classes: int  # that are not shown
    centre_bias: Mapping[int, float]  # number of looks -> score
    at_centre: float | None  # share of first looks
    at_favourite: float | None  # … at the cell that is most probable on average
    entropy: float | None


@dataclass(frozen=True)
class PolicyResults:
    """How the policies do with one budget."""

    budget: Budget
    top1: Mapping[str, float]  # by policy
    lost: Mapping[str, Estimate]  # top-1 of the learned policy minus that of the named one
    gap: Estimate | None  # top-1 of the oracle minus that of the learned policy
    closed: Estimate | None  # share of the way from the centre to the reference
    reference: str = "oracle"  # or surest


@dataclass(frozen=True)
class TypicalImages:
    """Images by how much their location probabilities are those of the mean."""

    most: tuple[tuple[str, float], ...]  # name, to be escaped, and correlation
    least: tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class MoveScores:
    """Whether first looks follow content that was moved in one way, or in all."""

    about: str  # to be escaped
    images: int | None
    score: Estimate  # 1 follows content, -1 stays in position
    followed: Estimate | None = None  # share of first looks that went along …
    stayed: Estimate | None = None  # … and that are where they were


@dataclass(frozen=True)
class StopResult:
    """The checkpoint's recommended stopping rule, measured on images that it was not chosen on."""

    least: int
    most: int
    threshold: float
    top1: Estimate
    looks: float  # mean
    flops: float | None


@dataclass(frozen=True)
class Audit:
    """What is known about one checkpoint; nothing of it needs the model."""

    title: str
    where: str  # data set, split and size
    plain: bool = False  # takes no looks
    agreement: bool = False  # labels are the backbone's own answers
    confidence: float | None = None  # of all intervals
    trained: Budget = ()
    heat: HeatMap | None = None
    budgets: tuple[PolicyResults, ...] = ()  # with at least one look
    left_out: Mapping[str, str] = field(default_factory=dict)  # policy -> why it was not tried
    typical: TypicalImages | None = None
    moves: tuple[MoveScores, ...] = ()  # all together first
    curves: Mapping[str, tuple[CurvePoint, ...]] = field(default_factory=dict)  # by policy, as many inside as trained
    stopping: StopResult | None = None

    @property
    def measure(self) -> str:
        """What top-1 counts here."""
        return "agreement" if self.agreement else "accuracy"


def compute_entropy(counts: Cells) -> float | None:
    """Return the entropy of how counts fall, as a share of the largest possible."""
    total = sum(counts)
    if total <= 0 or len(counts) < 2:
        return None
    shares = [count / total for count in counts if count > 0]
    return max(0.0, -sum(share * math.log(share) for share in shares) / math.log(len(counts)))
