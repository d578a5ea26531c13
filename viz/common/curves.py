"""`Curve`: accuracy and cost of one model, one point per number of looks, whatever the source."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Interval = tuple[float, float]
Kind = Literal["measured", "published"]


@dataclass(frozen=True)
class Point:
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
    kind: Kind
    points: tuple[Point, ...]  # by rising number of looks
    source: str  # on what it was measured, or where it was printed
    agreement: bool = False  # counted is agreement with another prediction, not accuracy
    role: str = ""  # empty: the model as it is; else a key of `roles.ROLES`
    of: str = ""  # id of the curve that this one is a variant of
    family: str = ""  # the checkpoint, or the family of published models, that it belongs to
    confidence: float | None = None  # of its intervals
    main: bool = False  # shown before anything is chosen
    timed_on: str = ""  # machine of its times, as its author wrote it; empty where it has none, or does not tell

    @property
    def plain(self) -> bool:
        """A classifier that sees the whole image at once: it has no looks to count."""
        return all(point.locations is None for point in self.points)

    def nearest(self, looks: float) -> Point | None:
        """The point with this number of looks or the closest one, the smaller of two; a plain classifier has one."""
        counted = [point for point in self.points if point.locations is not None]
        if not counted:
            return self.points[0] if self.points else None
        return min(counted, key=lambda point: (abs((point.locations or 0) - looks), point.locations))
