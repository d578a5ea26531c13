"""Reads curves out of the paper's tables, and what others published."""

from __future__ import annotations

from functools import cache

from tnet_core.published import (
    AttentionRow,
    PaperRow,
    PeerRow,
    attention_rows,
    list_selectors,
    paper_rows,
    peer_rows,
    read_table,
)
from viz.common.curves import Curve, CurvePoint

# Table -> data set, as evaluations name it, in the order of the page.
DATA_SETS = {"cub": "CUB-200-2011", "imagenet": "ImageNet", "fmow": "fMoW", "nabirds": "NABirds"}
# What a visitor sees before choosing: enough to compare with, not everything there is.
_DEFAULTS = {
    "cub": ("TNet-B0", "EfficientNet-B0"),
    "nabirds": ("TNet-B0", "TNet-B4", "EfficientNet-B0", "EfficientNet-B4"),
    "imagenet": ("TNet", "Saccader", "DRAM", "BagNet-77"),
    "fmow": ("TNet:448", "TNet:896", "EfficientNet-B0:224", "EfficientNet-B0:448", "EfficientNet-B0:896"),
}
_PEER_DATA_SETS = DATA_SETS | {"pets": "Oxford-IIIT Pet"}
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
def read_published_curves() -> tuple[Curve, ...]:
    """Read every model of every table, TNet first."""
    found = [_read_curve(selector) for table in DATA_SETS for selector in list_selectors(table)]
    found += [_read_curve(selector) for selector in list_selectors("ablation")]
    return tuple(sorted(found, key=lambda curve: curve.family != "TNet"))


@cache
def read_peer_curves() -> tuple[Curve, ...]:
    """Read what others published: a curve per model and data set, whose points are counted by FLOPs alone."""
    groups: dict[tuple[str, ...], list[PeerRow]] = {}
    for row in peer_rows():
        groups.setdefault((row.dataset, row.model, row.backbone, row.pretraining), []).append(row)
    return tuple(_build_peer_curve(rows) for rows in groups.values())


def _build_peer_curve(rows: list[PeerRow]) -> Curve:
    first = rows[0]
    training = f"pretrained on {first.pretraining}" if first.pretraining else "pretraining not stated"
    points = [
        CurvePoint(top1=_to_share(row.top1), flops=None if row.gflops is None else round(row.gflops * 1e9))
        for row in sorted(rows, key=lambda row: row.gflops or 0.0)
    ]
    return Curve(
        id=f"peer/{first.dataset}:{first.model}:{first.backbone}",
        label=f"{first.model} ({first.backbone}, {training}), own test set",
        data_set=_PEER_DATA_SETS[first.dataset],
        kind="peer",
        points=tuple(points),
        source=first.source,
        family=first.model,
        is_second_hand=any(row.second_hand for row in rows),
    )


def _read_curve(selector: str) -> Curve:
    table, _, rest = selector.partition(":")
    if table == "ablation":
        # All of them are on ImageNet.
        label, data_set = _ABLATIONS.get(rest, rest), DATA_SETS["imagenet"]
        family = "Saccader" if rest.startswith("Saccader") else "TNet"
    else:
        label, data_set, family = _format_label(rest), DATA_SETS[table], rest.partition(":")[0].partition("-B")[0]
    points = tuple(sorted(_read_points(selector), key=lambda point: point.locations or 0.0))
    return Curve(
        id=f"published/{selector}",
        label=label,
        data_set=data_set,
        kind="published",
        points=points,
        source=_PAPER,
        timed_on=_MACHINE if any(point.ms_per_image is not None for point in points) else "",
        family=family,
        is_default=rest in _DEFAULTS.get(table, ()),
    )


def _format_label(rest: str) -> str:
    """Return 'TNet, 448 px' for 'TNet:448'."""
    model, *further = rest.split(":")
    words = ["box given" if text == "boxes" else f"{text} px" for text in further]
    return ", ".join([model, *words])


def _read_points(selector: str) -> list[CurvePoint]:
    rows = paper_rows(selector)
    attention = attention_rows(selector)
    if selector == "fmow:TNet:896":
        return [_build_point(row, None, _read_three_level_coverage(row)) for row in rows.values()]
    points = [_build_point(row, attention.get(row.locations or 0)) for row in rows.values()]
    if selector == "imagenet:TNet":
        # The table of precision and recall has one number of looks that the table of accuracies has not.
        points += [_build_attention_point(row) for k, row in attention.items() if (k,) not in rows]
    return points


def _build_point(row: PaperRow, attention: AttentionRow | None, coverage: float | None = None) -> CurvePoint:
    return CurvePoint(
        locations=None if row.locations is None else float(row.locations),
        budget=row.budget,
        top1=_to_share(row.top1),
        top5=_to_share(row.top5),
        flops=None if row.gflops is None else round(row.gflops * 1e9),
        ms_per_image=row.ms_per_image,
        memory_gb=row.memory_gb,
        coverage=_to_share(attention.coverage) if attention else coverage,
        precision=_to_share(attention.precision) if attention else None,
        recall=_to_share(attention.recall) if attention else None,
    )


def _build_attention_point(row: AttentionRow) -> CurvePoint:
    return CurvePoint(
        locations=float(row.locations),
        budget=(row.locations,),
        top1=_to_share(row.top1),
        coverage=_to_share(row.coverage),
        precision=_to_share(row.precision),
        recall=_to_share(row.recall),
    )


def _read_three_level_coverage(row: PaperRow) -> float | None:
    stated = [r for r in read_table("policy") if r["dataset"] == _COVERAGE_3L and int(r["locations"]) == row.locations]
    return _to_share(float(stated[0]["coverage"])) if stated else None


def _to_share(percent: float | None) -> float | None:
    """Return a fraction with the digits that were printed."""
    return None if percent is None else round(percent / 100, 8)
