"""The audit as the page shows it: numbers as they are written, names escaped."""

from __future__ import annotations

import base64
import csv
import html
import io
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from markupsafe import escape
from PIL import Image

from tests.support.evaluation_cards import agreeing, bundled, card
from tests.viz.test_audit_reading import content
from training.evaluation import bootstrap
from viz.audit.answers import compute_share_interval
from viz.audit.heat_map import encode_mini_map
from viz.audit.page import render_audit
from viz.audit.reading import read_audit
from viz.common.text import format_points, format_signed

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


def read_graphic(shown: str, card: str, kind: str) -> dict[str, Any]:
    found = re.search(rf'data-card="{card}".*?data-{kind}="([^"]*)"', shown)
    assert found is not None
    return json.loads(html.unescape(found.group(1)))


def read_answer(shown: str, card: str) -> str:
    found = re.search(rf'data-card="{card}".*?<p class="audit-answer">(.*?)</p>', shown)
    assert found is not None
    return html.unescape(re.sub("<[^>]*>", "", found.group(1))).replace("\N{NO-BREAK SPACE}", " ")


def read_csv(shown: str, name: str) -> list[dict[str, str]]:
    found = re.search(rf'download="[^"]*-{name}.csv" href="data:text/csv;base64,([^"]*)"', shown) or re.search(
        rf'href="data:text/csv;base64,([^"]*)" download="[^"]*-{name}.csv"', shown
    )
    assert found is not None
    return list(csv.DictReader(io.StringIO(base64.b64decode(found.group(1)).decode())))


@pytest.mark.parametrize("name", ["tnet-lite0-cub", "tnet-lite0-pets"])
def test_the_curves_and_their_difference_are_those_of_the_file(name: str) -> None:
    raw, shown = content(name), render_audit(read_audit(CARDS[name]))
    graphic = read_graphic(shown, "choosing", "curves")
    lines = {line["name"]: line["points"] for line in graphic["lines"]}
    assert ("surest" in lines) is ("surest" in raw["policies"])
    for policy, points in lines.items():
        assert points == [[k, top1] for k, top1 in enumerate(raw["policies"][policy]["top1"])]
    compared = raw["comparisons"]["learned-mean"]
    assert [gain["value"] for gain in graphic["gains"]] == compared["difference"][1:]
    assert [gain["interval"] for gain in graphic["gains"]] == compared["interval"][1:]
    enough = read_graphic(shown, "enough", "curves")
    learned = next(line for line in enough["lines"] if line["name"] == "learned")
    assert learned["points"] == [[row["flops"] / 1e9, row["top1"]] for row in raw["budgets"]]
    assert learned["band"] == [row["top1_interval"] for row in raw["budgets"]]


def test_an_answer_has_its_interval_and_is_not_established_where_that_holds_zero(tmp_path: Path) -> None:
    shown = render_audit(read_audit(CARDS["tnet-lite0-pets"]))
    assert read_answer(shown, "choosing") == (
        "Yes: with 2 looks, choosing by the picture brings 2.1 points more accuracy than the same looks for every "
        "picture, 95 % interval +0.5 to +3.7."
    )
    assert read_answer(shown, "content").startswith(
        "Both: looks follow content that is moved (score +0.38, 95 % interval +0.37 to +0.39; −1 is position, 1 "
        "content), and begin near the middle (centre bias 0.59 of 1)."
    )
    raw = content("tnet-lite0-pets")
    raw["comparisons"]["learned-mean"]["interval"][2] = [-0.001, 0.04]
    raw["equivariance"]["score_interval"] = [-0.1, 0.8]
    doubted = render_audit(read_audit(card(tmp_path, raw)))
    assert read_answer(doubted, "choosing").startswith("Not established: with 2 looks")
    assert "−0.1 to +4.0" in read_answer(doubted, "choosing")
    assert read_answer(doubted, "content").startswith("Not established: ")
    raw["comparisons"]["learned-mean"]["difference"][2] = -0.02
    raw["comparisons"]["learned-mean"]["interval"][2] = [-0.03, -0.01]
    assert read_answer(render_audit(read_audit(card(tmp_path, raw))), "choosing").startswith("No: ")


@pytest.mark.parametrize(
    ("score", "bias", "answer"),
    [
        (0.42, 0.61, "Both: looks follow content that is moved ({}), and begin near the middle (centre bias 0.61 "
                     "of 1)."),
        (0.42, 0.5, "Both: looks follow content that is moved ({}), and begin near the middle (centre bias 0.50 "
                    "of 1)."),
        (0.42, 0.49, "Content: looks follow content that is moved ({}), and begin nearer to the middle than chance "
                     "(centre bias 0.49 of 1)."),
        (0.42, -0.13, "Content: looks follow content that is moved ({}), and begin no nearer to the middle than chance "
                      "(centre bias −0.13 of 1)."),
        (-0.42, 0.61, "Centre: looks stay where they were when content is moved ({}), and begin near the middle "
                      "(centre bias 0.61 of 1)."),
        (-0.42, 0.31, "Position: looks stay where they were when content is moved ({}), and begin nearer to the middle "
                      "than chance (centre bias 0.31 of 1)."),
        (0.052, 0.61, "Not established: whether looks follow content that is moved ({}); they begin near the middle "
                      "(centre bias 0.61 of 1)."),
        (0.42, None, "Content: looks follow content that is moved ({})."),
    ],
)  # fmt: skip
def test_looks_may_follow_content_and_begin_near_the_middle(
    tmp_path: Path, score: float, bias: float | None, answer: str
) -> None:
    raw = content("tnet-lite0-pets")
    raw["equivariance"] |= {"score": score, "score_interval": [score - 0.1, score + 0.1]}
    if bias is None:
        del raw["heat_map"]["centre_bias"]
    else:
        raw["heat_map"]["centre_bias"]["after_looks"][0] = bias
    ends = f"95 % interval {format_signed(score - 0.1)} to {format_signed(score + 0.1)}"
    measured = f"score {format_signed(score)}, {ends}; −1 is position, 1 content"
    assert read_answer(render_audit(read_audit(card(tmp_path, raw))), "content") == answer.format(measured)


def test_enough_is_the_recommended_rule_or_else_the_fewest_looks_in_the_interval_of_the_best(tmp_path: Path) -> None:
    raw, shown = content("tnet-lite0-pets")["stopping"], render_audit(read_audit(CARDS["tnet-lite0-pets"]))
    fitted = raw["cross_fitted"]
    answer = read_answer(shown, "enough")
    assert answer.startswith(
        "1.2 looks on average: the recommended rule stops after 1 to 3 looks, once surer than 72 %"
    )
    assert "92.4 %, 95 % interval 89.3 % to 94.7 %" in answer
    rule = read_graphic(shown, "enough", "curves")["rule"]
    assert (rule["x"], rule["y"]) == (fitted["flops"] / 1e9, fitted["top1"])
    without = content("tnet-lite0-cub")
    del without["stopping"]["rule"], without["stopping"]["cross_fitted"]
    birds = without["budgets"]
    best = max(birds, key=lambda row: row["top1"])
    few = next(row for row in birds if row["top1"] >= best["top1_interval"][0])
    answer = read_answer(render_audit(read_audit(card(tmp_path, without))), "enough")
    assert few["budget"] == [1] and answer.startswith(f"1 look: {100 * few['top1']:.1f} % lies in the 95 % interval")
    assert "No stopping rule is recommended" in answer


def test_classes_with_few_images_have_counts_and_no_share() -> None:
    entries = content("tnet-lite0-cub")["heat_map"]["per_class"]
    shown = render_audit(read_audit(CARDS["tnet-lite0-cub"]))
    counted = [entry for entry in entries if entry["images"] >= 5]
    graphic = read_graphic(shown, "classes", "scatter")["points"]
    assert [(p["y"], p["x"], p["images"]) for p in graphic] == [
        (e["top1"], e["top1_thumbnail"], e["images"]) for e in counted
    ]
    worst = min(entry["top1"] for entry in counted)
    assert f": {round(worst * 7)} of 7 right (95 % interval 0 % to 35 %)" in read_answer(shown, "classes")
    rows = re.findall(r"<tr data-name=.*?</tr>", shown)
    for row, entry in zip(rows, entries, strict=True):
        assert ("%</td>" in row) is (entry["images"] >= 5)


def test_the_interval_of_a_class_is_that_of_the_evaluation() -> None:
    for right, images in ((0, 7), (4, 9), (9, 9)):
        expected = bootstrap.compute_share_interval(np.array([right / images]), images, 0.95)[0]
        assert compute_share_interval(right / images, images, 0.95) == pytest.approx(tuple(expected), abs=1e-9)


def test_tables_are_files_in_full_precision() -> None:
    raw, shown = content("tnet-lite0-cub"), render_audit(read_audit(CARDS["tnet-lite0-cub"]))
    policies = [row for row in read_csv(shown, "policies") if row["policy"] == "mean"]
    compared = raw["comparisons"]["learned-mean"]
    assert [float(row["learned_minus_it"]) for row in policies] == compared["difference"][1:]
    assert [[float(row["low"]), float(row["high"])] for row in policies] == compared["interval"][1:]
    classes = read_csv(shown, "classes")
    assert [float(row["top1"]) for row in classes] == [entry["top1"] for entry in raw["heat_map"]["per_class"]]
    assert float(read_csv(shown, "moves")[0]["score"]) == raw["equivariance"]["score"]
    assert [float(r["flops"]) for r in read_csv(shown, "costs") if r["policy"] == "learned"] == [
        row["flops"] for row in raw["budgets"]
    ]


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
    assert "58\N{NO-BREAK SPACE}%</b> (95 % interval 54 to 62 %)" in part  # of the way from the centre to the surest
    assert "at most: the oracle is greedy" in shown[shown.index('data-gap="2,1"') :]


def test_the_reason_of_a_missing_oracle_is_told(tmp_path: Path) -> None:
    raw = content("tnet-lite0-cub")
    raw["policies"]["oracle"] = {"left_out": "every cell was not looked at."}
    del raw["comparisons"]["oracle-learned"], raw["gap_closed"]
    shown = render_audit(read_audit(card(tmp_path, raw)))
    assert "The oracle was left out: every cell was not looked at." in shown


def test_agreement_is_never_called_accuracy() -> None:
    shown = render_audit(read_audit(agreeing()))
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
    assert shown.count(escape(NASTY)) == 3  # title, data set, image
    assert any(name.startswith("<img src=x onerror=alert(1)>") for name in read_payload(shown)["classes"])


def test_a_row_per_class_with_everything_to_sort_by() -> None:
    raw, shown = content("tnet-lite0-cub")["heat_map"]["per_class"], render_audit(read_audit(CARDS["tnet-lite0-cub"]))
    rows = re.findall(r"<tr data-name=.*?</tr>", shown)
    assert len(rows) == len(raw) and sum(" hidden>" in row for row in rows) == len(raw) - 12
    for row, entry in zip(rows, raw, strict=True):
        assert f'data-top1="{entry["top1"]:.6g}"' in row and f'data-images="{entry["images"]}"' in row
        assert 'src="data:image/png;base64,' in row


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
