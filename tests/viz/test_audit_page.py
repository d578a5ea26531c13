"""The audit as the page shows it: numbers as they are written, names escaped."""

from __future__ import annotations

import base64
import html
import io
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from tests.support.evaluation_cards import bundled, card
from tests.viz.test_audit_reading import content
from viz.audit.heat_map import encode_mini_map
from viz.audit.page import render_audit
from viz.audit.panels import find_reach, format_points, render_whisker
from viz.audit.reading import read_audit
from viz.common.evaluation import Estimate

CARDS = {about.source: about for about in bundled()}
NASTY = "<img src=x onerror=alert(1)> \"'& ${1+1} {{x}}"


def read_payload(shown: str) -> dict[str, Any]:
    """What the browser draws the maps from."""
    found = re.search(r'data-map="([^"]*)"', shown)
    assert found is not None
    return json.loads(html.unescape(found.group(1)))


def test_the_browser_is_sent_every_count_of_the_file() -> None:
    raw = content("tnet-lite0-cub")["heat_map"]
    told = read_payload(render_audit(read_audit(CARDS["tnet-lite0-cub"])))
    assert [told["all"]["taken"][str(k)] for k in range(1, 11)] == raw["taken"]
    assert told["all"]["images"] == 597 and told["start"] == 2
    assert [entry["taken"]["1"] for entry in told["classes"].values()] == [e["taken_1"] for e in raw["per_class"]]
    assert [entry["taken"]["2"] for entry in told["classes"].values()] == [e["taken_trained"] for e in raw["per_class"]]


def test_replacing_the_policy_is_told_at_every_budget_with_intervals() -> None:
    for name in ("tnet-lite0-cub", "tnet-needles"):
        raw, shown = content(name), render_audit(read_audit(CARDS[name]))
        for at, entry in enumerate(raw["budgets"]):
            key = ",".join(map(str, entry["budget"]))
            row = re.search(rf'<tr data-budget="{key}">(.*?)</tr>', shown)
            if not entry["budget"][0]:
                assert row is None
                continue
            assert row is not None and f"{100 * entry['top1']:.1f} %" in row.group(1)
            for policy in ("mean", "centre", "random"):
                compared = raw["comparisons"][f"learned-{policy}"]
                low, high = map(format_points, compared["interval"][at])
                written = f"<b>{format_points(compared['difference'][at])}</b> <small>{low} to {high}</small>"
                cell = re.search(rf'data-lost="{policy}">(.*?)</td>', row.group(1))
                assert cell is not None and written in cell.group(1)


def test_the_gap_is_split_into_looking_and_recognising() -> None:
    raw, shown = content("tnet-needles"), render_audit(read_audit(CARDS["tnet-needles"]))
    assert re.findall(r'data-gap="([^"]*)"', shown) == ["1,1", "2,1"]  # with as many inside each as in training
    at = [entry["budget"] for entry in raw["budgets"]].index([1, 1])
    right, best = raw["policies"]["learned"]["top1"][at], raw["policies"]["oracle"]["top1"][at]
    part = shown[shown.index('data-gap="1,1"') : shown.index('data-gap="2,1"')]
    assert f"<b>{100 * right:.1f} %</b> right" in part
    assert f"<b>{100 * (best - right):.1f} points</b> failed to look" in part
    assert f"<b>{100 * (1 - best):.1f} points</b> failed to recognise<" in part
    assert "More is lost by not looking" in part
    assert "58 %</b> (95 % interval 54 to 61 %)" in part  # of the way from the centre to the oracle
    assert "at most: the oracle is greedy" in shown[shown.index('data-gap="2,1"') :]


def test_the_reason_of_a_missing_oracle_is_told(tmp_path: Path) -> None:
    raw = content("tnet-lite0-cub")
    raw["policies"]["oracle"] = {"left_out": "every cell was not looked at."}
    del raw["comparisons"]["oracle-learned"], raw["gap_closed"]
    shown = render_audit(read_audit(card(tmp_path, raw)))
    assert "The oracle was left out: every cell was not looked at." in shown


def test_agreement_is_never_called_accuracy() -> None:
    shown = render_audit(read_audit(CARDS["tnet-lite0-imagenet"]))
    assert "this is no accuracy" in shown
    assert "accuracy" not in shown.replace("this is no accuracy", "")
    assert "accuracy" in render_audit(read_audit(CARDS["tnet-lite0-cub"]))


def test_names_of_classes_and_images_are_text(tmp_path: Path) -> None:
    raw = content("tnet-needles")
    raw["heat_map"]["per_class"][0]["name"] = NASTY
    raw["typical"]["most"][0]["name"] = NASTY
    raw["dataset"]["name"] = NASTY
    shown = render_audit(read_audit(card(tmp_path, raw, title=NASTY)))
    assert "<img src=x" not in shown
    assert shown.count(html.escape(NASTY)) == 3  # title, data set, image
    assert any(name.startswith("<img src=x onerror=alert(1)>") for name in read_payload(shown)["classes"])


def test_a_row_per_class_with_everything_to_sort_by() -> None:
    raw, shown = content("tnet-lite0-cub")["heat_map"]["per_class"], render_audit(read_audit(CARDS["tnet-lite0-cub"]))
    rows = re.findall(r"<tr data-name=.*?</tr>", shown)
    assert len(rows) == len(raw) and sum(" hidden>" in row for row in rows) == len(raw) - 12
    for row, entry in zip(rows, raw, strict=True):
        assert f'data-top1="{entry["top1"]:.6g}"' in row and f'data-images="{entry["images"]}"' in row
        assert f">{100 * entry['top1']:.1f} %</td>" in row and 'src="data:image/png;base64,' in row


def test_a_small_map_is_as_opaque_as_cells_are_frequent() -> None:
    uri = encode_mini_map((0.0, 1.0, 2.0, 4.0), 2)
    pixels = np.array(Image.open(io.BytesIO(base64.b64decode(uri.partition(",")[2]))))
    assert pixels[..., 3].tolist() == [[0, 64], [128, 255]]
    assert set(map(tuple, pixels[..., :3].reshape(-1, 3).tolist())) == {(107, 122, 153)}
    assert np.array(Image.open(io.BytesIO(base64.b64decode(encode_mini_map((0.0,) * 4, 2)[22:]))))[..., 3].max() == 0


@pytest.mark.parametrize(
    ("value", "written"), [(0.0, "0.0"), (0.0004, "0.0"), (-0.0004, "0.0"), (0.04, "+4.0"), (-0.125, "−12.5")]
)
def test_points_have_one_decimal_and_a_sign(value: float, written: str) -> None:
    assert format_points(value) == written


def test_a_whisker_lies_on_a_scale_with_zero_in_the_middle() -> None:
    drawn = render_whisker(Estimate(0.1, (0.0, 0.2)), 0.2)
    assert "left:50.0%;width:50.0%" in drawn and "left:75.0%" in drawn and "audit-for" not in drawn
    assert "audit-for" in render_whisker(Estimate(0.1, (0.05, 0.2)), 0.2)
    assert "audit-against" in render_whisker(Estimate(-0.1, (-0.2, -0.05)), 0.2)
    assert find_reach([Estimate(0.1, (-0.3, 0.2))]) == 0.3 and find_reach([Estimate(0.0)]) > 0
