"""`Selection`: what a visitor asked for, made safe. Anybody can send anything."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from viz.accuracy.catalogue import Catalogue, DataSet
from viz.accuracy.metrics import XS, YS, X, Y
from viz.common.curves import Curve


@dataclass(frozen=True)
class Selection:
    data: DataSet
    curves: tuple[Curve, ...]  # in the order of the catalogue
    x: X
    y: Y
    looks: int  # where the slider stands

    def at(self, looks: int) -> Selection:
        """The same with the slider elsewhere."""
        return replace(self, looks=looks)


def select(
    catalogue: Catalogue, data: Any, x: Any, y: Any, measured: Any, roles: Any, published: Any, looks: Any
) -> Selection:
    """What is unknown or of the wrong type is ignored; a number of looks is brought into range."""
    chosen = catalogue.get(data)
    ticked, variants = _texts(measured) | _texts(published), _texts(roles)
    curves = tuple(
        curve
        for curve in chosen.curves
        if (curve.of in ticked and curve.role in variants if curve.role else curve.id in ticked)
    )
    return Selection(chosen, curves, XS[_known(x, XS)], YS[_known(y, YS)], _looks(looks, chosen))


def opening(catalogue: Catalogue, data: Any = None, x: Any = None, y: Any = None) -> Selection:
    """A data set as it is shown before its curves are chosen."""
    chosen = catalogue.get(data)
    return select(catalogue, chosen.key, x, y, *chosen.defaults(), chosen.start())


def _texts(value: Any) -> set[str]:
    return {item for item in value if isinstance(item, str)} if isinstance(value, (list, tuple)) else set()


def _known(value: Any, names: dict[str, Any]) -> str:
    return value if isinstance(value, str) and value in names else next(iter(names))


def _looks(value: Any, data: DataSet) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value != value:  # NaN differs from itself
        return data.start()
    return min(data.stops, key=lambda stop: abs(stop - min(max(value, 0), data.most_looks)))
