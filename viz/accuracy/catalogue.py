"""`Catalogue`: all curves, by data set, and what of them is shown before anything is chosen.

A visitor's own evaluations are data sets beside the others; nobody else sees them. Images of one name are one data set,
so that checkpoints can be compared on them. Beside a checkpoint's curve stands the one it was delivered with, measured
on its own images, for as long as both count accuracy.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from math import ceil

from tnet_core.checkpoints import CheckpointCard
from viz.accuracy.published import DATA_SETS, read_peer_curves, read_published_curves
from viz.common.curves import ROLES, Curve
from viz.common.measured import VISITOR_PREFIX, VisitorEvaluation, read_measured_curves, read_visitor_curves
from viz.common.text import format_data_set

_MAX_SLIDER_LOOKS = 1000
_MAX_SLIDER_STOPS = 60  # what each shows is sent along


@dataclass(frozen=True)
class DataSet:
    """The curves that may share one pair of axes. Agreement and accuracy never do."""

    key: str
    name: str  # to be escaped
    curves: tuple[Curve, ...]
    agreement: bool = False
    first_roles: tuple[str, ...] = ()  # shown before anything is chosen; none: the best way to stop that was measured

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
    def peers(self) -> tuple[Curve, ...]:
        return tuple(curve for curve in self.curves if curve.kind == "peer")

    @cached_property
    def roles(self) -> tuple[str, ...]:
        """Variants that at least one checkpoint has, in the order of the page."""
        present = {curve.role for curve in self.curves}
        return tuple(role for role in ROLES if role in present)

    @cached_property
    def max_looks(self) -> int:
        """The largest number of looks, at which the slider ends."""
        counts = [point.locations or 0 for curve in self.curves for point in curve.points]
        return min(_MAX_SLIDER_LOOKS, max(1, ceil(max(counts, default=1))))

    @cached_property
    def slider_step(self) -> int:
        """Looks from one stop of the slider to the next."""
        return next(step for step in (1, 2, 5, 10, 20) if self.max_looks / step <= _MAX_SLIDER_STOPS)

    @property
    def slider_stops(self) -> range:
        """Every number of looks that the slider can ask for."""
        return range(0, self.max_looks + 1, self.slider_step)

    def default_choice(self) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
        """Return ids of measured curves, roles, ids of published curves: the first model that looks, and its rivals."""
        looking = next((curve.family for curve in self.measured if not curve.is_plain), None)
        shown = [curve for curve in self.measured if curve.is_plain or curve.is_default or curve.family == looking]
        stopping = tuple(role for role in ("stop-rule", "stop-probability") if role in self.roles)[:1]
        roles = tuple(role for role in self.roles if role in (self.first_roles or stopping))
        return tuple(c.id for c in shown), roles, tuple(c.id for c in self.published if c.is_default)

    @property
    def start_looks(self) -> int:
        """Looks that the slider begins with: few enough to be on every curve, and more than none."""
        return min(3, self.max_looks)


class Catalogue:
    """Data sets with both kinds of curves first, then the paper's, then those of checkpoints alone."""

    def __init__(self, cards: Sequence[CheckpointCard]) -> None:
        curves: dict[str, Curve] = {}
        for about in cards:
            for curve in read_measured_curves(about):
                curves.setdefault(curve.id, curve)
        for curve in (*read_published_curves(), *read_peer_curves()):
            curves[curve.id] = curve
        groups: dict[tuple[str, bool], list[Curve]] = {}
        for curve in curves.values():
            groups.setdefault((curve.data_set.casefold(), curve.agreement), []).append(curve)
        printed = {name.casefold(): name for name in DATA_SETS.values()}
        found = [
            DataSet(
                key=f"{name}{'/agreement' if agreement else ''}",
                name=printed.get(name, format_data_set(members[0].data_set)),
                curves=tuple(members),
                agreement=agreement,
            )
            for (name, agreement), members in groups.items()
            if any(
                curve.kind != "peer" for curve in members
            )  # others are something to compare with, alone they are not
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

    def with_data_sets(self, others: Sequence[DataSet]) -> Catalogue:
        """Return the same catalogue with further data sets in front."""
        wider = copy(self)
        wider.data_sets = (*others, *self.data_sets)
        return wider

    def find_measured(self, source: str) -> DataSet | None:
        """Return the data set that a checkpoint was measured on, where it was."""
        family = f"measured/{source}"
        return next((data for data in self.data_sets if any(c.family == family for c in data.measured)), None)

    def get(self, key: object) -> DataSet:
        """Return the data set with this key; for anything else the first."""
        return next((data for data in self.data_sets if data.key == key), self.data_sets[0])


def add_visitor_data(catalogue: Catalogue, evaluations: Sequence[VisitorEvaluation]) -> Catalogue:
    """Return the catalogue of one visitor, whose own data sets come first."""
    if not evaluations:
        return catalogue
    groups: dict[str, list[VisitorEvaluation]] = {}
    for one in evaluations:
        groups.setdefault(one.key, []).append(one)
    found = [_build_visitor_data_set(key, members, catalogue) for key, members in reversed(groups.items())]
    return catalogue.with_data_sets(found)


def _build_visitor_data_set(key: str, members: Sequence[VisitorEvaluation], catalogue: Catalogue) -> DataSet:
    curves: dict[str, Curve] = {}
    for one in members:
        for curve in [*read_visitor_curves(one), *_find_delivered_curves(one, catalogue)]:
            curves.setdefault(curve.id, curve)
    return DataSet(
        key, f"{VISITOR_PREFIX}: {members[-1].name}", tuple(curves.values()), first_roles=("centre", "random", "oracle")
    )


def _find_delivered_curves(one: VisitorEvaluation, catalogue: Catalogue) -> list[Curve]:
    """Return the checkpoint's curves as its author measured them, said to be of other images."""
    family = f"measured/{one.spec}"
    curves = [c for data in catalogue.data_sets for c in data.curves if c.family == family and not c.role]
    return [
        replace(curve, label=f"{curve.label}, {curve.source}", is_default=True)
        for curve in curves
        if not curve.agreement
    ]
