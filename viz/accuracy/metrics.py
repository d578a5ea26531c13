"""What the axes can show, and how their values are written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from viz.common.curves import Interval, Point
from viz.common.numbers import gigaflops, percent, short

XName = Literal["locations", "flops", "time"]
YName = Literal["top1", "top5", "coverage", "precision", "recall"]


@dataclass(frozen=True)
class X:
    name: XName
    choice: str  # to pick
    title: str  # of the axis
    missing: str  # what a source does not state


@dataclass(frozen=True)
class Y:
    name: YName
    choice: str
    title: str
    missing: str


XS = {
    "locations": X("locations", "Looks", "looks per image (attended locations)", "a number of looks"),
    "flops": X("flops", "FLOPs", "GFLOPs per image, logarithmic", "FLOPs"),
    "time": X("time", "Time", "milliseconds per image", "a time per image"),
}
YS = {
    "top1": Y("top1", "Top-1", "Top-1 accuracy", "a top-1 accuracy"),
    "top5": Y("top5", "Top-5", "Top-5 accuracy", "a top-5 accuracy"),
    "coverage": Y("coverage", "Coverage", "Share of the image that looks cover", "a coverage"),
    "precision": Y("precision", "Precision", "Precision: share of the looks inside the object's box", "a precision"),
    "recall": Y("recall", "Recall", "Recall: share of the object's box that looks cover", "a recall"),
}


def x_of(point: Point, x: X) -> float | None:
    """In the unit of the axis."""
    if x.name == "locations":
        return point.locations
    if x.name == "flops":
        return None if point.flops is None else point.flops / 1e9
    return point.ms_per_image


def y_of(point: Point, y: Y) -> float | None:
    """A fraction."""
    value: float | None = getattr(point, y.name)
    return value


def interval_of(point: Point, y: Y) -> Interval | None:
    """Where the source states one."""
    return {"top1": point.top1_interval, "top5": point.top5_interval}.get(y.name)


def accuracy(share: float | None) -> str:
    """One decimal: differences between budgets are often smaller than a per cent."""
    return "" if share is None else f"{100 * share:.1f} %"


def between(ends: Interval | None) -> str:
    """'73.4–80.2'."""
    return "" if ends is None else f"{100 * ends[0]:.1f}–{100 * ends[1]:.1f}"


def area(share: float | None) -> str:
    return "" if share is None else percent(share)


def cost(flops: float | None) -> str:
    return "" if flops is None else gigaflops(round(flops))


def time(ms: float | None) -> str:
    return "" if ms is None else f"{short(ms)} ms"


def memory(gigabytes: float | None) -> str:
    return "" if gigabytes is None else f"{short(gigabytes)} GB"


def looks(point: Point) -> str:
    """'3', '3 × 1 = 6', '2.3' of adaptive stopping, 'whole image'."""
    if point.locations is None:
        return "whole image"
    if not point.budget:
        return short(point.locations)
    if len(point.budget) > 1 and any(point.budget):
        return f"{' × '.join(str(k) for k in point.budget)} = {point.locations:.0f}"
    return f"{point.locations:.0f}"
