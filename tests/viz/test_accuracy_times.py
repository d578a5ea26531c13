"""Times per image belong to a machine: the caption, the legend, the table, the points and the CSV say to which."""

from __future__ import annotations

import copy
import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.checkpoints import EVALUATION
from tests.support.evaluation_cards import bundled, card
from tests.viz.test_accuracy_table import cells, table
from viz.accuracy.captions import render_intro, render_legend
from viz.accuracy.catalogue import Catalogue
from viz.accuracy.chart import build_chart_payload
from viz.accuracy.selection import Selection, select
from viz.accuracy.table import format_csv
from viz.common.measured import read_measured_curves

GPU = "Quadro RTX 8000, batches of 64"
CPU = "AMD EPYC, 1 thread"


def time_evaluation(machine: Any, name: str = "ImageNet") -> dict[str, Any]:
    content: dict[str, Any] = copy.deepcopy(EVALUATION)
    content["dataset"]["name"] = name
    for row in content["budgets"]:
        row["ms_per_image"] = 40.0 + row["budget"][0]
    return content | {"run": {"machine": machine}}


def machine_of(folder: Path, content: dict[str, Any]) -> set[str]:
    return {curve.timed_on for curve in read_measured_curves(card(folder, content))}


@pytest.fixture
def both(tmp_path: Path) -> Selection:
    """A checkpoint that was timed here on the data set of which the paper prints times."""
    content = time_evaluation({"processor": "AMD EPYC", "device": "cpu", "threads": 1})
    catalogue = Catalogue([card(tmp_path, content, source="mine", title="Mine")])
    ids = [curve.id for curve in catalogue.get("imagenet").curves]
    return select(catalogue, "imagenet", "time", "top1", ids, [], ids, [], 3)


@pytest.mark.parametrize(
    ("machine", "told"),
    [
        ({"processor": "AMD EPYC", "device": "cpu", "threads": 1}, CPU),
        ({"processor": "AMD EPYC", "device": "cpu", "threads": 8}, "AMD EPYC, 8 threads"),
        ({"processor": "AMD EPYC", "device": "NVIDIA H100 80GB HBM3", "threads": 8}, "NVIDIA H100 80GB HBM3"),
        ({"processor": None, "device": "cpu", "threads": True}, "a processor"),
        ({"processor": "  long \n name " * 20, "device": "cpu", "threads": -1}, ("long name " * 20)[:60]),
        ({"device": 3}, ""),
        ("a computer", ""),
    ],
)
def test_an_evaluation_names_the_machine_of_its_times(tmp_path: Path, machine: Any, told: str) -> None:
    assert machine_of(tmp_path, time_evaluation(machine)) == {told}


def test_an_evaluation_without_times_has_no_machine(tmp_path: Path) -> None:
    content = time_evaluation({"processor": "AMD EPYC", "device": "cpu", "threads": 1})
    for row in content["budgets"]:
        del row["ms_per_image"]
    assert machine_of(tmp_path, content) == {""}


def test_times_of_both_kinds_are_said_to_be_of_different_machines(both: Selection) -> None:
    caption = render_intro(both)
    assert f"one image at a time on {CPU}" in caption and GPU in caption
    assert "These are different machines: compare times on one of them only." in caption
    told = render_legend(both)
    assert f"<h3>Measured here, on {CPU}</h3>" in told and f"<h3>Published in the paper, on {GPU}</h3>" in told
    rows = cells(table(both))
    assert rows["measured/mine"]["Time"] == f"43 ms {CPU}"
    assert rows["published/imagenet:TNet"]["Time"] == f"2.7 ms {GPU}"
    assert "comparable on one machine only" in table(both)
    known = {curve["id"]: curve["known"] for curve in json.loads(build_chart_payload(both))["curves"]}
    assert f"43 ms ({CPU})" in known["measured/mine"][-1]
    assert any(f"ms ({GPU})" in line for lines in known["published/imagenet:TNet"] for line in lines)
    lines = list(csv.DictReader(io.StringIO(format_csv(both))))
    assert {(line["kind"], line["timed_on"]) for line in lines if line["ms_per_image"]} == {
        ("measured", CPU),
        ("published", GPU),
    }
    assert {line["timed_on"] for line in lines if not line["ms_per_image"]} == {""}


def test_one_machine_is_named_and_nothing_is_said_where_time_is_not_the_axis() -> None:
    catalogue = Catalogue(bundled())
    ids = ["measured/tnet-lite0-cub", "measured/en-lite0-cub-448", "published/cub:TNet-B0"]
    shown = select(catalogue, "cub-200-2011", "time", "top1", ids, [], ids, [], 3)
    assert "Times: one image at a time on AMD EPYC, 2 threads." in render_intro(shown)
    assert "different machines" not in render_intro(shown)
    by_looks = select(catalogue, "cub-200-2011", "locations", "top1", ids, [], ids, [], 3)
    assert "Times:" not in render_intro(by_looks) and "EPYC" not in render_legend(by_looks)
