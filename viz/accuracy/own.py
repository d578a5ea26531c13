"""A visitor's own evaluations, as data sets beside those of the catalogue; nobody else sees them.

Images of one name are one data set, so that checkpoints can be compared on them. Beside a checkpoint's curve stands the
one it was delivered with, measured on its own images, for as long as both count accuracy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from tnet_core.checkpoints import CheckpointCard
from tnet_core.checkpoints.evaluation import parse_evaluation
from viz.accuracy.catalogue import Catalogue, DataSet
from viz.common.curves import Curve
from viz.common.measured import curves_of

KEPT = 5  # evaluations of one visitor
PREFIX = "Your data"
_NEEDED = ("schema", "dataset", "budgets", "policies", "attention", "intervals", "stopping")  # for curves


@dataclass(frozen=True)
class Own:
    """One evaluation: no more of it than its curves need."""

    number: int  # counts a visitor's evaluations
    spec: str  # of the checkpoint
    title: str  # of the checkpoint
    content: dict[str, Any]

    @property
    def name(self) -> str:
        return str(self.content["dataset"]["name"])

    @property
    def key(self) -> str:
        """Of its data set."""
        return f"own/{self.name.casefold()}"


def added(own: Sequence[Own], spec: str, title: str, content: dict[str, Any]) -> tuple[Own, ...]:
    """With one more; the oldest are forgotten, and a former one of the same images and checkpoint too."""
    number = 1 + max((former.number for former in own), default=0)
    newest = Own(number, spec, title, {key: content[key] for key in _NEEDED if key in content})
    others = [former for former in own if (former.key, former.spec) != (newest.key, spec)]
    return (*others, newest)[-KEPT:]


def with_own(catalogue: Catalogue, own: Sequence[Own]) -> Catalogue:
    """The catalogue of one visitor."""
    if not own:
        return catalogue
    groups: dict[str, list[Own]] = {}
    for one in own:
        groups.setdefault(one.key, []).append(one)
    found = [_data_set(key, members, catalogue) for key, members in reversed(groups.items())]
    return catalogue.extended(found)


def _data_set(key: str, members: Sequence[Own], catalogue: Catalogue) -> DataSet:
    curves: dict[str, Curve] = {}
    for one in members:
        for curve in [*curves_of_own(one), *_delivered(one, catalogue)]:
            curves.setdefault(curve.id, curve)
    return DataSet(
        key, f"{PREFIX}: {members[-1].name}", tuple(curves.values()), first_roles=("centre", "random", "oracle")
    )


def curves_of_own(one: Own) -> list[Curve]:
    about = CheckpointCard(
        source=f"own/{one.number}/{one.spec}",
        origin="",
        title=f"{PREFIX}: {one.name} ({one.title})",
        evaluation=parse_evaluation(one.content),
    )
    return [replace(curve, main=not curve.role) for curve in curves_of(about)]


def _delivered(one: Own, catalogue: Catalogue) -> list[Curve]:
    """The checkpoint's curves as its author measured them, said to be of other images."""
    family = f"measured/{one.spec}"
    curves = [c for data in catalogue.data_sets for c in data.curves if c.family == family and not c.role]
    return [
        replace(curve, label=f"{curve.label}, {curve.source}", main=True) for curve in curves if not curve.agreement
    ]
