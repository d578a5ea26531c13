"""Which curves share axes, what is shown first, and that nothing a browser sends can do harm."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.checkpoints import EVALUATION
from tests.support.evaluation_cards import agreeing, bundled, card
from viz.accuracy.catalogue import Catalogue
from viz.accuracy.selection import select, select_defaults
from viz.common.curves import Curve, CurvePoint

CATALOGUE = Catalogue([*bundled(), agreeing()])
CUB = CATALOGUE.get("cub-200-2011")


def test_the_birds_come_first_with_both_kinds_of_curves() -> None:
    assert CATALOGUE.data_sets[0] is CUB
    assert CUB.measured and CUB.published and CUB.name == "CUB-200-2011"
    assert {"ImageNet", "fMoW", "NABirds", "needles"} < {data.name for data in CATALOGUE.data_sets}


def test_agreement_never_shares_axes_with_accuracy() -> None:
    for data in CATALOGUE.data_sets:
        assert {curve.agreement for curve in data.curves} == {data.agreement}
    apart = [data for data in CATALOGUE.data_sets if data.agreement]
    assert "photographs" in {data.name for data in apart}  # those of the card of its own
    assert all(data.choice.startswith("Agreement only: ") and not data.published for data in apart)


def test_agreement_on_the_papers_data_set_stays_apart_too(tmp_path: Path) -> None:
    content = EVALUATION | {"dataset": {"name": "CUB-200-2011", "split": "test", "size": 5}, "agreement": {}}
    catalogue = Catalogue([card(tmp_path, content)])
    assert {data.key: len(data.measured) for data in catalogue.data_sets if data.name == "CUB-200-2011"} == {
        "cub-200-2011": 0,
        "cub-200-2011/agreement": 1,
    }


def test_without_checkpoints_the_paper_is_left() -> None:
    catalogue = Catalogue([])
    assert [data.name for data in catalogue.data_sets] == ["CUB-200-2011", "ImageNet", "fMoW", "NABirds"]
    assert all(curve.kind == "published" for curve in select_defaults(catalogue).curves)
    assert select_defaults(catalogue).curves


def test_a_checkpoint_given_twice_is_there_once() -> None:
    assert len(Catalogue(bundled() * 2).get("cub-200-2011").curves) == len(CUB.curves)


def test_what_is_shown_first_is_a_handful_of_both_kinds() -> None:
    shown = select_defaults(CATALOGUE)
    assert shown.data is CUB and 4 <= len(shown.curves) <= 7
    assert {curve.kind for curve in shown.curves} == {"measured", "published"}
    stopping = "stop-rule" if "stop-rule" in CUB.roles else "stop-probability"
    assert {stopping} == {curve.role for curve in shown.curves} - {""}
    assert any(curve.is_plain for curve in shown.curves if curve.kind == "measured")
    for data in CATALOGUE.data_sets:
        assert select_defaults(CATALOGUE, data.key).curves


def test_the_slider_reaches_the_last_point_of_the_data_set() -> None:
    assert CATALOGUE.get("imagenet").max_looks == 30
    assert CATALOGUE.get("fmow").max_looks == 6
    assert CUB.max_looks == max(point.locations or 0 for curve in CUB.curves for point in curve.points)


def test_a_slider_over_many_looks_has_a_limited_number_of_stops(tmp_path: Path) -> None:
    budgets = [{"budget": [k], "top1": 0.5} for k in (0, 3, 650)]
    data = Catalogue([card(tmp_path, EVALUATION | {"budgets": budgets})]).get("garden birds")
    assert (data.max_looks, data.slider_step, len(data.slider_stops)) == (650, 20, 33)
    assert list(CUB.slider_stops) == list(range(CUB.max_looks + 1))


def test_a_variant_is_shown_for_the_checkpoints_that_are_ticked() -> None:
    first, second = CUB.measured[0].id, CUB.measured[1].id
    shown = select(CATALOGUE, CUB.key, "flops", "top5", [first], ["random", "oracle"], [], [], 2)
    assert {curve.id for curve in shown.curves} == {first, f"{first}/random", f"{first}/oracle"}
    assert (shown.x.name, shown.y.name, shown.looks) == ("flops", "top5", 2)
    assert select(CATALOGUE, CUB.key, "flops", "top5", [], ["random"], [], [], 2).curves == ()
    assert second not in {curve.id for curve in shown.curves}


WRONG: list[Any] = [
    None,
    7,
    -1.5,
    "nothing",
    True,
    [],
    ["?"],
    [None, {}],
    {"a": 1},
    "../../etc/passwd",
    [[["x"]]],
    "x" * 10_000,
]


@pytest.mark.parametrize("wrong", WRONG, ids=lambda value: repr(value)[:20])
def test_what_is_unknown_or_of_the_wrong_type_is_ignored(wrong: Any) -> None:
    shown = select(CATALOGUE, wrong, wrong, wrong, wrong, wrong, wrong, wrong, wrong)
    assert shown.data is CATALOGUE.data_sets[0] and shown.curves == ()
    assert (shown.x.name, shown.y.name) == ("locations", "top1")
    assert 0 <= shown.looks <= shown.data.max_looks


@pytest.mark.parametrize(
    ("asked", "taken"),
    [(0, 0), (4.4, 4), (-3, 0), (10**400, 10), (1e9, 10), (float("inf"), 10), (float("-inf"), 0), (float("nan"), 3)],
)
def test_a_number_of_looks_is_brought_into_range(asked: float, taken: int) -> None:
    assert select(CATALOGUE, CUB.key, None, None, None, None, None, None, asked).looks == taken


def test_the_nearest_number_of_looks_is_the_smaller_of_two() -> None:
    curve = Curve("c", "c", "d", "published", tuple(CurvePoint(locations=k) for k in (2.0, 4.0, 8.0)), "s")
    nearest = [point.locations for k in range(10) if (point := curve.find_nearest(k)) is not None]
    assert nearest == [2, 2, 2, 2, 4, 4, 4, 8, 8, 8]
    assert Curve("c", "c", "d", "published", (), "s").find_nearest(3) is None
