"""Curves out of the paper's tables."""

from __future__ import annotations

from functools import cache

from tnet_core.published import AttentionRow, PaperRow, attention_rows, paper_rows, read_table, selectors
from viz.common.curves import Curve, Point

# Table -> data set, as evaluations name it, in the order of the page.
DATA_SETS = {"cub": "CUB-200-2011", "imagenet": "ImageNet", "fmow": "fMoW", "nabirds": "NABirds"}
# What a visitor sees before choosing: enough to compare with, not everything there is.
_MAIN = {
    "cub": ("TNet-B0", "EfficientNet-B0"),
    "nabirds": ("TNet-B0", "TNet-B4", "EfficientNet-B0", "EfficientNet-B4"),
    "imagenet": ("TNet", "Saccader", "DRAM", "BagNet-77"),
    "fmow": ("TNet:448", "TNet:896", "EfficientNet-B0:224", "EfficientNet-B0:448", "EfficientNet-B0:896"),
}
_PAPER = "printed in the paper"
_MACHINE = "Quadro RTX 8000, batches of 64"
# The one value of the three-level model at the second level, as all other coverages are.
_COVERAGE_3L = "fMoW, 3 levels, area read at 448 px"
_ABLATIONS = {
    "no per-feature regularisation": "TNet, no per-feature regularisation",
    "attended locations only, no context": "TNet, looks only",
    "Saccader, for comparison with locations only": "Saccader, beside TNet looks only",
}


@cache
def published_curves() -> tuple[Curve, ...]:
    """Every model of every table, TNet first."""
    found = [_curve(selector) for table in DATA_SETS for selector in selectors(table)]
    found += [_curve(selector) for selector in selectors("ablation")]
    return tuple(sorted(found, key=lambda curve: curve.family != "TNet"))


def _curve(selector: str) -> Curve:
    table, _, rest = selector.partition(":")
    if table == "ablation":
        # All of them are on ImageNet.
        label, data_set = _ABLATIONS.get(rest, rest), DATA_SETS["imagenet"]
        family = "Saccader" if rest.startswith("Saccader") else "TNet"
    else:
        label, data_set, family = _label(rest), DATA_SETS[table], rest.partition(":")[0].partition("-B")[0]
    points = tuple(sorted(_points(selector), key=lambda point: point.locations or 0.0))
    return Curve(
        id=f"published/{selector}",
        label=label,
        data_set=data_set,
        kind="published",
        points=points,
        source=_PAPER,
        timed_on=_MACHINE if any(point.ms_per_image is not None for point in points) else "",
        family=family,
        main=rest in _MAIN.get(table, ()),
    )


def _label(rest: str) -> str:
    """'TNet, 448 px' for 'TNet:448'."""
    model, *further = rest.split(":")
    words = ["box given" if text == "boxes" else f"{text} px" for text in further]
    return ", ".join([model, *words])


def _points(selector: str) -> list[Point]:
    rows = paper_rows(selector)
    attention = attention_rows(selector)
    if selector == "fmow:TNet:896":
        return [_point(row, None, _coverage_3l(row)) for row in rows.values()]
    points = [_point(row, attention.get(row.locations or 0)) for row in rows.values()]
    if selector == "imagenet:TNet":
        # The table of precision and recall has one number of looks that the table of accuracies has not.
        points += [_of_attention(row) for k, row in attention.items() if (k,) not in rows]
    return points


def _point(row: PaperRow, attention: AttentionRow | None, coverage: float | None = None) -> Point:
    return Point(
        locations=None if row.locations is None else float(row.locations),
        budget=row.budget,
        top1=_share(row.top1),
        top5=_share(row.top5),
        flops=None if row.gflops is None else round(row.gflops * 1e9),
        ms_per_image=row.ms_per_image,
        memory_gb=row.memory_gb,
        coverage=_share(attention.coverage) if attention else coverage,
        precision=_share(attention.precision) if attention else None,
        recall=_share(attention.recall) if attention else None,
    )


def _of_attention(row: AttentionRow) -> Point:
    return Point(
        locations=float(row.locations),
        budget=(row.locations,),
        top1=_share(row.top1),
        coverage=_share(row.coverage),
        precision=_share(row.precision),
        recall=_share(row.recall),
    )


def _coverage_3l(row: PaperRow) -> float | None:
    stated = [r for r in read_table("policy") if r["dataset"] == _COVERAGE_3L and int(r["locations"]) == row.locations]
    return _share(float(stated[0]["coverage"])) if stated else None


def _share(percent: float | None) -> float | None:
    """A fraction with the digits that were printed."""
    return None if percent is None else round(percent / 100, 8)
