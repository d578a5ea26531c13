"""`Catalogue`: all curves, by data set, and what of them is shown before anything is chosen."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from math import ceil

from tnet_core.checkpoints import CheckpointCard
from viz.accuracy.published import DATA_SETS, published_curves
from viz.common.curves import Curve
from viz.common.measured import curves_of
from viz.common.roles import ROLES

_MOST_LOOKS = 1000  # of the slider
_MOST_STOPS = 60  # of the slider: what each shows is sent along


@dataclass(frozen=True)
class DataSet:
    """The curves that may share one pair of axes. Agreement and accuracy never do."""

    key: str
    name: str  # to be escaped
    curves: tuple[Curve, ...]
    agreement: bool = False
    first_roles: tuple[str, ...] = ("stop-probability",)  # shown before anything is chosen

    @property
    def choice(self) -> str:
        return f"Agreement only: {self.name}" if self.agreement else self.name

    @cached_property
    def measured(self) -> tuple[Curve, ...]:
        return tuple(curve for curve in self.curves if curve.kind == "measured" and not curve.role)

    @cached_property
    def published(self) -> tuple[Curve, ...]:
        return tuple(curve for curve in self.curves if curve.kind == "published")

    @cached_property
    def roles(self) -> tuple[str, ...]:
        """Variants that at least one checkpoint has, in the order of the page."""
        present = {curve.role for curve in self.curves}
        return tuple(role for role in ROLES if role in present)

    @cached_property
    def most_looks(self) -> int:
        """Where the slider ends."""
        counts = [point.locations or 0 for curve in self.curves for point in curve.points]
        return min(_MOST_LOOKS, max(1, ceil(max(counts, default=1))))

    @cached_property
    def step(self) -> int:
        """From one stop of the slider to the next."""
        return next(step for step in (1, 2, 5, 10, 20) if self.most_looks / step <= _MOST_STOPS)

    @property
    def stops(self) -> range:
        """Every number of looks that the slider can ask for."""
        return range(0, self.most_looks + 1, self.step)

    def defaults(self) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
        """Ids of measured curves, roles, ids of published curves: the first model that looks, and what it faces."""
        looking = next((curve.family for curve in self.measured if not curve.plain), None)
        shown = [curve for curve in self.measured if curve.plain or curve.main or curve.family == looking]
        roles = tuple(role for role in self.roles if role in self.first_roles)
        return tuple(c.id for c in shown), roles, tuple(c.id for c in self.published if c.main)

    def start(self) -> int:
        """Looks that the slider begins with: few enough to be on every curve, and more than none."""
        return min(3, self.most_looks)


class Catalogue:
    """Data sets with both kinds of curves first, then the paper's, then those of checkpoints alone."""

    def __init__(self, cards: Sequence[CheckpointCard]) -> None:
        curves: dict[str, Curve] = {}
        for about in cards:
            for curve in curves_of(about):
                curves.setdefault(curve.id, curve)
        for curve in published_curves():
            curves[curve.id] = curve
        groups: dict[tuple[str, bool], list[Curve]] = {}
        for curve in curves.values():
            groups.setdefault((curve.data_set.casefold(), curve.agreement), []).append(curve)
        printed = {name.casefold(): name for name in DATA_SETS.values()}
        found = [
            DataSet(
                key=f"{name}{'/agreement' if agreement else ''}",
                name=printed.get(name, members[0].data_set),
                curves=tuple(members),
                agreement=agreement,
            )
            for (name, agreement), members in groups.items()
        ]
        order = list(printed)
        found.sort(
            key=lambda data: (
                not (data.measured and data.published),
                not data.published,
                data.agreement,
                order.index(data.name.casefold()) if data.published else 0,
            )
        )
        self.data_sets = tuple(found)

    def extended(self, others: Sequence[DataSet]) -> Catalogue:
        """The same with further data sets in front."""
        wider = copy(self)
        wider.data_sets = (*others, *self.data_sets)
        return wider

    def get(self, key: object) -> DataSet:
        """The data set with this key; for anything else the first."""
        return next((data for data in self.data_sets if data.key == key), self.data_sets[0])
