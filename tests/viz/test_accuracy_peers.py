"""What others published: every row of the file, marked as theirs, never drawn where they state nothing."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

from tests.support.evaluation_cards import bundled
from tnet_core import published
from tnet_core.published import peer_rows
from viz.accuracy.captions import render_intro, render_legend
from viz.accuracy.catalogue import Catalogue
from viz.accuracy.chart import build_chart_payload
from viz.accuracy.published import read_peer_curves
from viz.accuracy.selection import Selection, select, select_defaults
from viz.accuracy.table import format_csv, render_tables

CATALOGUE = Catalogue(bundled())


def only_peers(data: str, x: str) -> Selection:
    ids = [curve.id for curve in CATALOGUE.get(data).peers]
    return select(CATALOGUE, data, x, "top1", [], [], [], ids, 3)


def test_every_row_is_read_with_its_backbone_and_pretraining() -> None:
    path = Path(published.__file__).parent / "peers.csv"
    with path.open(newline="", encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    assert len(lines) == len(peer_rows()) > 0
    for line, row in zip(lines, peer_rows(), strict=True):
        assert (row.dataset, row.model, row.backbone, row.source) == (
            line["dataset"], line["model"], line["backbone"], line["source"],
        )  # fmt: skip
        assert row.top1 == float(line["top1"])
        assert row.gflops == (float(line["gflops"]) if line["gflops"] else None)
        assert row.second_hand == (line["how_known"] == "second hand")
    assert sum(len(curve.points) for curve in read_peer_curves()) == len(lines)
    labels = {curve.label for curve in read_peer_curves()}
    assert "AdaptiveNN (DeiT-S, pretrained on ImageNet-1k), own test set" in labels
    assert "STAM (DeiT-S, pretraining not stated), own test set" in labels


def test_nothing_of_others_is_shown_before_somebody_ticks_it() -> None:
    for data in CATALOGUE.data_sets:
        assert not [curve for curve in select_defaults(CATALOGUE, data.key).curves if curve.kind == "peer"]


def test_they_are_drawn_by_flops_alone_and_those_without_flops_stand_in_the_table_only() -> None:
    for x in ("locations", "time"):
        assert json.loads(build_chart_payload(only_peers("cub-200-2011", x)))["curves"] == []
    drawn = json.loads(build_chart_payload(only_peers("cub-200-2011", "flops")))["curves"]
    assert [(curve["x"], curve["y"]) for curve in drawn] == [([1.58, 2.8], [84.6, 87.5])]
    assert drawn[0]["known"][0] == [
        "AdaptiveNN (DeiT-S, pretrained on ImageNet-1k), own test set", "published by others", "top-1 84.6 %",
        "1.6 GFLOPs",
    ]  # fmt: skip
    shown = only_peers("imagenet", "flops")
    assert [curve["x"] for curve in json.loads(build_chart_payload(shown))["curves"]] == [[4.85]]
    rows = re.findall(r'data-curve="(peer/[^"]+)"', render_tables(shown).partition("</section>")[0])
    assert len(rows) == sum(len(curve.points) for curve in shown.curves) == 6
    assert render_legend(shown).count("not stated</span>") >= 5


def test_second_hand_rows_say_so_and_no_row_looks_like_ours() -> None:
    shown = only_peers("imagenet", "flops")
    table = render_tables(shown).partition("</section>")[0]
    for row in table.split("<tr")[2:]:
        curve = next(curve for curve in shown.curves if curve.id in row)
        assert "published (others)" in row and "measured here" not in row and "published (paper)" not in row
        assert ("second hand" in row) == curve.is_second_hand
        assert ("5" in row.partition('data-label="Looks"')[2][:4]) is False  # no number of looks is made up
    assert "no ranking beside numbers measured here" in render_intro(shown)
    assert "Published by others" in render_legend(shown)
    assert {line.split(",")[-1] for line in format_csv(shown).splitlines()[1:]} == {""}


def test_each_point_of_others_has_a_row_of_its_own() -> None:
    table = render_tables(only_peers("cub-200-2011", "flops")).partition("</section>")[0]
    assert "84.6 %" in table and "87.5 %" in table and "whole image" not in table
