"""The table and the CSV: the numbers of the sources, rounded for reading and complete for saving."""

from __future__ import annotations

import base64
import csv
import io
import re
from pathlib import Path
from typing import Any

import pytest

from tests.support.checkpoints import EVALUATION
from tests.support.evaluation_cards import agreeing, bundled, card
from viz.accuracy.captions import render_intro
from viz.accuracy.catalogue import Catalogue
from viz.accuracy.selection import Selection, select, select_defaults
from viz.accuracy.table import CSV_COLUMNS, format_csv, render_downloads, render_tables

CATALOGUE = Catalogue([*bundled(), agreeing()])


def every(data: str, looks: int = 3) -> Selection:
    found = CATALOGUE.get(data)
    ids = [curve.id for curve in found.curves]
    return select(CATALOGUE, data, "locations", "top1", ids, list(found.roles), ids, ids, looks)


def table(shown: Selection) -> str:
    """The one of all tables that is visible."""
    (visible,) = re.findall(r'<section class="accuracy-table" data-looks="\d+">.*?</section>', render_tables(shown))
    return str(visible)


def cells(text: str) -> dict[str, dict[str, str]]:
    """Text of every cell by curve and column."""
    found = {}
    for name, row in re.findall(r'<tr class="accuracy-\w+" data-curve="([^"]*)">(.*?)</tr>', text):
        pairs = re.findall(r'<td data-label="([^"]*)"[^>]*>(.*?)</td>', row)
        found[name] = {label: re.sub("<[^>]*>", "", value).replace("\N{NO-BREAK SPACE}", " ") for label, value in pairs}
    return found


@pytest.mark.parametrize("looks", [0, 1, 4, 10])
def test_every_row_has_the_numbers_at_the_looks_of_the_slider(looks: int) -> None:
    shown = every("cub-200-2011", looks)
    found = cells(table(shown))
    assert list(found) == [curve.id for curve in shown.curves]
    for curve in shown.curves:
        if curve.kind == "peer":
            continue  # of these every point has a row
        point, row = curve.find_nearest(looks), found[curve.id]
        assert point is not None and point.top1 is not None
        assert row["Top-1"].startswith(f"{100 * point.top1:.1f} %")
        assert row["Source"] == {"measured": "measured here", "published": "published (paper)"}[curve.kind]
        if point.top1_interval is not None:
            assert row["Top-1"].endswith(f"{100 * point.top1_interval[0]:.1f}–{100 * point.top1_interval[1]:.1f}")


def test_there_is_a_table_for_every_stop_of_the_slider_and_one_is_visible() -> None:
    shown = every("fmow", 2)
    stops = re.findall(r'<section class="accuracy-table" data-looks="(\d+)"( hidden)?>', render_tables(shown))
    assert [(int(looks), bool(hidden)) for looks, hidden in stops] == [(k, k != 2) for k in range(7)]
    third = re.findall(r"<section [^>]*>.*?</section>", render_tables(shown))[3].replace(" hidden", "")
    assert third == table(shown.with_looks(3))


def test_the_nearest_budget_is_named() -> None:
    found = cells(table(every("imagenet", 7)))
    assert found["published/imagenet:DRAM"]["Looks"] == "8 nearest to 7"
    assert found["published/imagenet:TNet"]["Looks"] == "5 nearest to 7"
    assert found["published/imagenet:BagNet-77"]["Looks"] == "whole image"
    assert cells(table(every("imagenet", 8)))["published/imagenet:DRAM"]["Looks"] == "8"


def test_units_and_what_is_not_stated() -> None:
    row = cells(table(every("imagenet", 3)))["published/imagenet:TNet"]
    assert (row["Cost"], row["Time"], row["Memory"]) == (
        "7.2 GFLOPs",
        "2.7 ms Quadro RTX 8000, batches of 64",
        "0.95 GB",
    )
    assert (row["Coverage"], row["Precision"], row["Recall"]) == ("26 %", "70 %", "47 %")
    assert cells(table(every("imagenet", 4)))["published/imagenet:TNet"]["Time"] == "–"


def test_columns_that_nobody_fills_are_left_out_and_named() -> None:
    text = table(every("nabirds"))
    assert '<th scope="col">Time</th>' not in text
    assert "No ticked curve states time, memory, coverage, precision and recall here." in text
    assert "No ticked curve states" not in table(every("imagenet"))


def test_agreement_is_named_in_the_head_and_in_the_caption() -> None:
    (apart,) = [data.key for data in CATALOGUE.data_sets if data.agreement and data.name == "photographs"]
    shown = select_defaults(CATALOGUE, apart)
    assert "Top-1 agreement" in table(shown) and "Top-1 agreement" not in table(select_defaults(CATALOGUE))
    assert "this is no accuracy" in render_intro(shown)


def test_the_caption_says_where_it_was_measured_and_how_to_tell_the_kinds() -> None:
    text = render_intro(select_defaults(CATALOGUE))
    evaluation = next(about.evaluation for about in bundled() if about.source == "tnet-lite0-cub")
    assert evaluation is not None
    assert f"Filled markers, solid lines: measured here ({evaluation.where})" in text
    assert "Hollow markers, dashed lines: printed in the paper" in text


@pytest.mark.parametrize(
    ("run", "where"),
    [
        ({"precision": "bfloat16"}, "(meadow test, 120 images, computed in bfloat16)"),
        ({"precision": "float32"}, "(meadow test, 120 images)"),
        ({}, "(meadow test, 120 images)"),
        ({"precision": ["bfloat16"]}, "(meadow test, 120 images)"),
        ("yesterday", "(meadow test, 120 images)"),
    ],
)
def test_the_caption_names_a_precision_other_than_float32(tmp_path: Path, run: object, where: str) -> None:
    content = {**EVALUATION, "dataset": {"name": "meadow", "split": "test", "size": 120}, "run": run}
    own = Catalogue([card(tmp_path, content)])
    assert f"measured here {where}." in render_intro(select_defaults(own, "meadow"))


def test_three_levels_say_how_looks_are_spread() -> None:
    rows = cells(table(every("needles", 6)))
    assert rows["measured/tnet-needles/1"]["Looks"] == "3 × 1 = 6"


def test_nothing_ticked_is_said() -> None:
    nothing = select(CATALOGUE, "fmow", None, None, [], [], [], [], 1)
    assert "No curve is ticked." in table(nothing) and "With 1 look<" in table(nothing)
    assert render_downloads(nothing) == ""


@pytest.fixture
def hostile(tmp_path: Path) -> Selection:
    content: dict[str, Any] = EVALUATION | {"dataset": {"name": "<b>&\"birds'", "split": "<i>test", "size": 3}}
    name = '=HYPERLINK("http://x")<script>alert(1)</script>'
    return select_defaults(Catalogue([card(tmp_path, content, source='"><u>', title=name)]), "<b>&\"birds'")


def test_names_are_escaped(hostile: Selection) -> None:
    assert hostile.curves
    for text in (render_tables(hostile), render_intro(hostile), render_downloads(hostile)):
        assert not re.search(r"<(b|i|u|script)>", text)
    assert "&lt;script&gt;" in table(hostile)


def parse_csv(shown: Selection) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(format_csv(shown))))


@pytest.mark.parametrize("data", [data.key for data in CATALOGUE.data_sets])
def test_the_csv_has_every_point_of_every_selected_curve_at_full_precision(data: str) -> None:
    shown = every(data)
    lines = iter(parse_csv(shown))
    for curve in shown.curves:
        for point in curve.points:
            line = next(lines)
            assert tuple(line) == CSV_COLUMNS
            assert (line["curve"], line["kind"], line["source"]) == (curve.label, curve.kind, curve.source)
            assert line["counted"] == ("agreement" if curve.agreement else "accuracy")
            assert line["budget"] == "x".join(map(str, point.budget))
            plain = (
                "threshold",
                "top1",
                "top5",
                "flops",
                "ms_per_image",
                "memory_gb",
                "coverage",
                "precision",
                "recall",
            )
            stated = {name: getattr(point, name) for name in plain} | {"looks": point.locations}
            for name, ends in (("top1", point.top1_interval), ("top5", point.top5_interval)):
                low, high = ends or (None, None)
                stated |= {f"{name}_low": low, f"{name}_high": high}
            for name, value in stated.items():
                assert (float(line[name]) if line[name] else None) == value, (curve.id, name)
    assert next(lines, None) is None


def test_the_link_holds_the_file(hostile: Selection) -> None:
    for shown, name in (
        (select_defaults(CATALOGUE), "tnet-comparison-cub-200-2011.csv"),
        (hostile, "tnet-comparison-b-birds.csv"),
    ):
        link = re.search(
            r'download="([^"]*)" href="data:text/csv;charset=utf-8;base64,([^"]*)"', render_downloads(shown)
        )
        assert link is not None and link[1] == name
        assert base64.b64decode(link[2]).decode() == format_csv(shown)


def test_a_spreadsheet_does_not_take_a_name_for_a_formula(hostile: Selection) -> None:
    assert {line["curve"][0] for line in parse_csv(hostile)} == {"'"}
