"""The paper's tables as curves: every printed number, and nothing that was not printed."""

from __future__ import annotations

import pytest

from tnet_core.published import TABLES, read_table
from viz.accuracy.published import DATA_SETS, read_published_curves
from viz.common.curves import Curve

CURVES = {curve.id.removeprefix("published/"): curve for curve in read_published_curves()}


def points(name: str) -> dict[float | None, object]:
    return {point.locations: point for point in CURVES[name].points}


@pytest.mark.parametrize("table", DATA_SETS)
def test_every_row_of_a_table_is_a_point_with_its_numbers(table: str) -> None:
    drawn = [(curve, point) for name, curve in CURVES.items() if name.startswith(f"{table}:") for point in curve.points]
    for row in read_table(table):
        expected = {
            "locations": float(row["locations"]) if row["locations"] else None,
            "top1": float(row["top1"]) / 100,
            "top5": float(row["top5"]) / 100 if row["top5"] else None,
            "flops": float(row["gflops"]) * 1e9 if row["gflops"] else None,
            "ms_per_image": float(row["ms_per_image"]) if row.get("ms_per_image") else None,
            "memory_gb": float(row["memory_gb"]) if row.get("memory_gb") else None,
        }
        found = [
            point
            for curve, point in drawn
            if curve.label.split(",")[0] == row["model"]
            and all(
                getattr(point, name) == (value if value is None else pytest.approx(value))
                for name, value in expected.items()
            )
        ]
        assert len(found) == 1, row


def test_no_point_is_added_but_the_one_of_the_other_table() -> None:
    rows = sum(len(read_table(table)) for table in TABLES)
    assert sum(len(curve.points) for curve in CURVES.values()) == rows + 1
    four = points("imagenet:TNet")[4.0]
    assert (four.top1, four.coverage, four.precision, four.recall) == (0.7458, 0.3246, 0.6766, 0.5484)  # type: ignore[attr-defined]
    assert four.top5 is None and four.flops is None and four.ms_per_image is None  # type: ignore[attr-defined]


def test_precision_recall_and_coverage_stand_where_the_paper_has_them() -> None:
    having = {name for name, curve in CURVES.items() if any(point.coverage is not None for point in curve.points)}
    assert having == {"imagenet:TNet", "fmow:TNet:448", "fmow:TNet:896"}
    two, three = points("fmow:TNet:448"), points("fmow:TNet:896")
    assert (two[1.0].coverage, two[2.0].recall, two[3.0].coverage) == (0.25, 0.9006, None)  # type: ignore[attr-defined]
    assert (three[4.0].coverage, three[4.0].precision, three[6.0].coverage) == (0.3791, None, None)  # type: ignore[attr-defined]


def test_every_model_of_the_comparison_is_there() -> None:
    def labels(data_set: str) -> set[str]:
        return {curve.label for curve in CURVES.values() if curve.data_set == data_set}

    family = {f"{name}-B{size}" for name in ("TNet", "EfficientNet") for size in range(5)}
    assert family | {"ResNet-50", "API-Net", "TransFG"} == labels("CUB-200-2011")
    assert family | {"API-Net", "TransFG"} == labels("NABirds")
    assert {"TNet", "Saccader", "DRAM", "BagNet-77"} < labels("ImageNet")
    assert {"TNet, 448 px", "TNet, 896 px", "DenseNet-121, 224 px, box given"} < labels("fMoW")


def test_published_curves_have_no_interval_and_say_what_they_are() -> None:
    def is_stated(curve: Curve) -> bool:
        return any(point.top1_interval or point.top5_interval for point in curve.points)

    for curve in CURVES.values():
        assert curve.kind == "published" and not is_stated(curve) and not curve.agreement and curve.confidence is None


def test_only_classifiers_without_looks_are_plain() -> None:
    plain = {curve.family for curve in CURVES.values() if curve.is_plain}
    assert plain == {"BagNet-77", "EfficientNet", "ResNet-50", "DenseNet-121", "API-Net", "TransFG"}
