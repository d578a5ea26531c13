"""What the axes can show, and `Selection`: what a visitor asked for, made safe. Anybody can send anything."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

from viz.accuracy.catalogue import Catalogue, DataSet
from viz.common.curves import Curve, CurvePoint, Interval

XName = Literal["locations", "flops", "time"]
YName = Literal["top1", "top5", "coverage", "precision", "recall"]


@dataclass(frozen=True)
class XAxis:
    name: XName
    choice: str  # to pick
    title: str  # of the axis
    missing: str  # what a source does not state


@dataclass(frozen=True)
class YAxis:
    name: YName
    choice: str
    title: str
    missing: str


X_AXES = {
    "locations": XAxis("locations", "Looks", "looks per image (attended locations)", "a number of looks"),
    "flops": XAxis("flops", "FLOPs", "GFLOPs per image, logarithmic", "FLOPs"),
    "time": XAxis("time", "Time", "milliseconds per image", "a time per image"),
}
Y_AXES = {
    "top1": YAxis("top1", "Top-1", "Top-1 accuracy", "a top-1 accuracy"),
    "top5": YAxis("top5", "Top-5", "Top-5 accuracy", "a top-5 accuracy"),
    "coverage": YAxis("coverage", "Coverage", "Share of the image that looks cover", "a coverage"),
    "precision": YAxis(
        "precision", "Precision", "Precision: share of the looks inside the object's box", "a precision"
    ),
    "recall": YAxis("recall", "Recall", "Recall: share of the object's box that looks cover", "a recall"),
}


def x_value(point: CurvePoint, x: XAxis) -> float | None:
    """Return the point's value in the unit of the axis."""
    if x.name == "locations":
        return point.locations
    if x.name == "flops":
        return None if point.flops is None else point.flops / 1e9
    return point.ms_per_image


def y_value(point: CurvePoint, y: YAxis) -> float | None:
    """Return the point's value as a fraction."""
    value: float | None = getattr(point, y.name)
    return value


def y_interval(point: CurvePoint, y: YAxis) -> Interval | None:
    """Return the interval around `y_value`, where the source states one."""
    return {"top1": point.top1_interval, "top5": point.top5_interval}.get(y.name)


@dataclass(frozen=True)
class Selection:
    data: DataSet
    curves: tuple[Curve, ...]  # in the order of the catalogue
    x: XAxis
    y: YAxis
    looks: int  # where the slider stands

    def with_looks(self, looks: int) -> Selection:
        """Return the same selection with the slider elsewhere."""
        return replace(self, looks=looks)


def select(
    catalogue: Catalogue, data: Any, x: Any, y: Any, measured: Any, roles: Any, published: Any, peers: Any, looks: Any
) -> Selection:
    """Build a selection; what is unknown or of the wrong type is ignored, a number of looks is brought into range."""
    chosen = catalogue.get(data)
    ticked, variants = _read_texts(measured) | _read_texts(published) | _read_texts(peers), _read_texts(roles)
    curves = tuple(
        curve
        for curve in chosen.curves
        if (curve.variant_of in ticked and curve.role in variants if curve.role else curve.id in ticked)
    )
    return Selection(
        chosen, curves, X_AXES[_read_known(x, X_AXES)], Y_AXES[_read_known(y, Y_AXES)], _read_looks(looks, chosen)
    )


def select_defaults(catalogue: Catalogue, data: Any = None, x: Any = None, y: Any = None) -> Selection:
    """Select what a data set shows before its curves are chosen."""
    chosen = catalogue.get(data)
    return select(catalogue, chosen.key, x, y, *chosen.default_choice(), (), chosen.start_looks)


def is_of_other_data(catalogue: Catalogue, data: Any, *ticked: Any) -> bool:
    """Say whether a curve is ticked that another data set has and this one has not."""
    texts = set().union(*map(_read_texts, ticked))
    known = {curve.id for curve in catalogue.get(data).curves}
    return any(curve.id in texts - known for other in catalogue.data_sets for curve in other.curves)


def _read_texts(value: Any) -> set[str]:
    return {item for item in value if isinstance(item, str)} if isinstance(value, (list, tuple)) else set()


def _read_known(value: Any, names: dict[str, Any]) -> str:
    return value if isinstance(value, str) and value in names else next(iter(names))


def _read_looks(value: Any, data: DataSet) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value != value:  # NaN differs from itself
        return data.start_looks
    return min(data.slider_stops, key=lambda stop: abs(stop - min(max(value, 0), data.max_looks)))
