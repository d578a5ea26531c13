"""`Curve`: accuracy and cost of one model, one point per number of looks, whatever the source.

`ROLES` names what else an evaluation measured of a checkpoint: other ways to choose looks, and to stop.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from viz.common.text import format_number

Interval = tuple[float, float]
CurveKind = Literal["measured", "published", "peer"]  # "published" in the paper, "peer" by others


@dataclass(frozen=True)
class CurvePoint:
    """What is known about a model at one budget; what the source does not state is None. Shares are fractions."""

    locations: float | None = None  # looks per image, a mean under adaptive stopping; None: a plain classifier
    budget: tuple[int, ...] = ()  # looks per grid; empty where that is not fixed
    top1: float | None = None
    top5: float | None = None
    flops: float | None = None  # per image
    ms_per_image: float | None = None
    memory_gb: float | None = None
    coverage: float | None = None  # at the second level, like precision and recall
    precision: float | None = None
    recall: float | None = None
    top1_interval: Interval | None = None
    top5_interval: Interval | None = None
    threshold: float | None = None  # of adaptive stopping


@dataclass(frozen=True)
class Curve:
    id: str
    label: str  # as its author wrote it: to be escaped
    data_set: str
    kind: CurveKind
    points: tuple[CurvePoint, ...]  # by rising number of looks
    source: str  # on what it was measured, or where it was printed
    agreement: bool = False  # counted is agreement with another prediction, not accuracy
    role: str = ""  # empty: the model as it is; else a key of `ROLES`
    variant_of: str = ""  # id of the curve that this one is a variant of
    family: str = ""  # the checkpoint, or the family of published models, that it belongs to
    confidence: float | None = None  # of its intervals
    is_default: bool = False  # shown before anything is chosen
    is_second_hand: bool = False  # quoted by somebody else than who measured it
    timed_on: str = ""  # machine of its times, as its author wrote it; empty where it has none, or does not tell

    @property
    def is_plain(self) -> bool:
        """Whether it is a classifier that sees the whole image at once: it has no looks to count."""
        return self.kind != "peer" and all(point.locations is None for point in self.points)

    def find_nearest(self, looks: float) -> CurvePoint | None:
        """Return the point with this number of looks or the closest, the smaller of two; a plain classifier has one."""
        counted = [point for point in self.points if point.locations is not None]
        if not counted:
            return self.points[0] if self.points else None
        return min(counted, key=lambda point: (abs((point.locations or 0) - looks), point.locations))


DOTS = "1.5,3"  # a dotted line as SVG takes it


@dataclass(frozen=True)
class Role:
    """How a variant of a curve is called and drawn."""

    label: str  # to tick
    suffix: str  # behind the name of the checkpoint
    symbol: str = ""  # small, on a thin solid line; none: the line has dashes
    dashes: str = ""  # as SVG takes them


# In the order of the page. The first three are adaptive stopping, the others policies of `evaluation.json`.
ROLES = {
    "stop-rule": Role("Adaptive stopping, after one to three looks", "adaptive (1 to 3 looks)", dashes="8,4"),
    "stop-probability": Role("Adaptive stopping, by probability", "adaptive (probability)", dashes=DOTS),
    "stop-margin": Role("Adaptive stopping, by margin", "adaptive (margin)", dashes="8,3,1.5,3"),
    "surest": Role("The surest of all looks, label unseen", "surest", "star"),
    "oracle": Role("Looks chosen with hindsight (oracle)", "oracle", "triangle-up"),
    "centre": Role("Looks from the centre outwards", "centre", "cross"),
    "mean": Role("The same looks for every image", "same looks", "square"),
    "random": Role("Looks at random", "random", "x"),
    "without_context": Role("Learned looks, thumbnail left out", "no thumbnail", "diamond"),
}
# role -> field of `stopping`
STOPPING = {"stop-rule": "front", "stop-probability": "probability", "stop-margin": "margin"}
POLICIES = tuple(role for role in ROLES if role not in STOPPING)


def format_point_looks(point: CurvePoint) -> str:
    """Return '3', '3 × 1 = 6', '2.3' of adaptive stopping, 'whole image'."""
    if point.locations is None:
        return "whole image"
    if not point.budget:
        return format_number(point.locations)
    if len(point.budget) > 1 and any(point.budget):
        return f"{' × '.join(str(k) for k in point.budget)} = {point.locations:.0f}"
    return f"{point.locations:.0f}"
