"""Speeds as ratios with wide margins: what fails here has become slow in principle, on whatever machine."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import pytest
import torch

import tnet_core as tn
from benchmarks import alternatives, busy, cold, curve, engines, families, looks, precision, run
from benchmarks.machine import ROOT
from benchmarks.rounds import describe_spread, in_turn, middle, ratio, spread
from benchmarks.tables import replace_between, summary, tables
from pages.explore.service import LANDING

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def one_thread(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Use the engine, with one thread: threads that wait for one another on a busy machine measure nothing."""
    monkeypatch.delenv("TNET_ENGINE", raising=False)
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def test_every_way_of_the_whole_image_is_measured_and_the_strictest_is_named() -> None:
    pair = alternatives.Pair("lite0-cub", "lite0-cub-en-448", (2,), 448, {1: 1.3})
    found = alternatives.against(pair, 1, alternatives.time_ways(pair, 1, rounds=3))
    assert found.looks == 2 and found.times[found.strictest][0] <= found.times["same engine"][0]
    printed = tables({"alternatives": {"against": [asdict(found) | {"strictest": found.strictest}], "absolute": []}})
    assert f")**, {found.strictest} |" in printed
    told = summary({"alternatives": {"against": [asdict(found) | {"strictest": found.strictest}]}})
    assert f"**{found.times[found.strictest][0]:.2f}**" in told


@pytest.mark.long
def test_three_levels_beat_the_whole_image_and_optimised_copies_the_plain_model() -> None:
    pair = alternatives.PAIRS[1]
    found = alternatives.against(pair, 1, alternatives.time_in_processes(pair, 1, rounds=3))
    assert found.looks == 4
    assert found.times["as timm gives it"][0] > 2  # goal: 3
    assert found.times["both in PyTorch"][0] > 1.5 and found.times[found.strictest][0] > 1.5
    assert found.ms["TNet"] < 1.1 * found.ms["TNet, PyTorch"]


@pytest.mark.long
def test_a_batch_is_worth_more_to_looks_than_to_the_whole_image() -> None:
    pair = alternatives.PAIRS[0]
    found = alternatives.against(pair, 8, alternatives.time_ways(pair, 8, rounds=1))
    assert found.times["as timm gives it"][0] > 1.5  # goal: 2.5
    assert found.times["same engine"][0] > 1.1


@pytest.mark.long
def test_one_evaluation_gives_the_whole_curve() -> None:
    assert curve.curve(rounds=1)["times"] > 2  # goal: 3


def test_a_move_of_the_slider_is_nothing_beside_the_looks() -> None:
    assert looks.reaggregation(rounds=1)["times"] > 20


def test_time_grows_with_looks_and_not_with_pixels() -> None:
    by_looks = looks.growth_by_looks(3, (5, 10, 20))
    assert 1.4 < by_looks["ms"][2] / by_looks["ms"][1] < 2.6  # 21 / 11 looks, thumbnail included
    by_side = looks.growth_by_side(3, (512, 4096))
    assert by_side["pixels"] == 64 and by_side["growth"] < 1.6


def test_cold_starts_end_with_the_checkpoint_that_opens_with_the_page() -> None:
    assert cold.CHECKPOINT == LANDING


@pytest.mark.long
def test_the_app_starts_and_traverses() -> None:
    found = cold.cold_start(1)
    assert 0 < found["page_seconds"] < found["traversal_seconds"]
    assert 0 < found["first_page_seconds"] < found["first_traversal_seconds"]


@pytest.mark.long
def test_a_busy_host_makes_looks_slower_but_not_endless() -> None:
    found = busy.busy(rounds=2)
    assert 0 < found["ms"] <= found["beside_ms"] and found["times_beside"] == found["beside_ms"] / found["ms"]
    assert f"| {found['times_together']:.1f}x | 10x |" in tables({"busy": found})


def test_the_command_prints_and_writes_what_it_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(looks, "SUBSETS", 3)
    path = tmp_path / "found.json"
    assert run.main(["--only", "look", "slider", "--rounds", "1", "--json", str(path)]) is None
    printed, written = capsys.readouterr().out, json.loads(path.read_text())
    assert set(written) == {"machine", "look", "slider"}
    assert written["machine"]["commit"] and written["machine"]["packages"]["torch"] == torch.__version__.split("+")[0]
    assert f"| {written['slider']['ms']:.2f} | 2 |" in printed and f"{written['look']['step_ms']:.1f}" in printed


def test_the_readme_states_what_a_whole_run_measured() -> None:
    result = {
        "growth_by_side": {"looks": 5, "sides": [512, 8192], "pixels": 256.0, "ms": [31.6, 37.3], "growth": 1.18},
        "growth_by_looks": {
            "looks": [1, 25], "ms": [17.0, 104.0], "start_ms": 13.3, "ms_per_look": 3.58, "strays": 0.04,
        },
        "cold_start": {
            "starts": 3, "first_page_seconds": 9.0, "first_traversal_seconds": 11.5, "page_seconds": 7.0,
            "traversal_seconds": 8.3,
        },
        "curve": {
            "budgets": 6, "times": 4.84, "one_images_per_second": 20.0, "each_images_per_second": 4.1, "goal": 3.0
        },
    }  # fmt: skip
    told = summary(result)
    assert (
        "(256 times the pixels) | 32 / 37 ms |" in told
        and "13 ms + 3.6 ms per look, within 4 % | 17 / 104 ms |" in told
    )
    assert "the first start, later ones | 11.5 / 8.3 s |" in told and "| 4.8 times faster |" in told
    assert "| first, models are converted | 3 | 9.0 | 11.5 |" in tables(result)


def test_rounds_are_compared_with_their_own() -> None:
    seconds = {"slow": [2.0, 30.0, 4.0], "fast": [1.0, 10.0, 1.0]}
    assert ratio(seconds, "slow", "fast") == 3.0
    assert describe_spread(spread(seconds, "slow", "fast")) == "3.00x (2.00 to 4.00)"
    assert middle(seconds) == {"slow": 4000.0, "fast": 1000.0}
    order: list[str] = []
    found = in_turn({name: lambda name=name: order.append(name) for name in "ab"}, 2)  # type: ignore[misc]
    assert order == ["a", "b"] * 3 and len(found["a"]) == 2


def test_engines_take_turns_in_processes_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "ENGINES", ("PyTorch", "ONNX Runtime, free batch"))
    found = engines.measure("lite0-cub", 1, rounds=2)
    assert found["times"]["PyTorch"] == (1.0, 1.0, 1.0) and all(ms > 0 for ms in found["ms"].values())
    assert engines.make_row(found)[0] == "tf_efficientnet_lite0, 1 x 160 px"


def test_what_bfloat16_costs_is_measured_on_the_same_images(tmp_path: Path) -> None:
    if tn.optimised(tn.build(tn.preset("lite0-cub")), precision="bfloat16").features.precision != "bfloat16":
        pytest.skip("this processor has no bfloat16")
    found = precision.compare("tnet-needles", tmp_path, limit=2)
    assert found["images"] == 2 and found["logit_difference"] > 0 and 0 <= found["bfloat16"] <= 1
    assert precision.make_row(found)[:2] == ("tnet-needles", "2")


def test_the_table_of_precisions_is_not_replaced_by_a_part_of_it(tmp_path: Path) -> None:
    with pytest.raises(tn.TNetError, match="written from one whole run: leave out --only"):
        precision.main([str(tmp_path), "--only", "tnet-needles", "--write"])


def test_families_run_on_the_engine_and_compute_what_pytorch_computes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    cache = os.environ.get("TNET_CACHE")
    assert families.main(["lcnet_050", "vit_tiny_patch16_224"]) == 0  # one that is refused is no failure
    printed = capsys.readouterr().out
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in printed.splitlines()[2:]]
    assert rows[0][:3] == ["lcnet_050", "OpenVINO", "the same"]
    assert 0 < float(rows[0][3]) <= 1e-3 and float(rows[0][4]) > 0.5
    assert len(rows) == 2 and "| refused: " in printed
    assert os.environ.get("TNET_CACHE") == cache


def test_a_family_that_computes_something_else_fails(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    optimised = tn.optimised

    def damage(model: tn.TNet) -> tn.TNet:
        model.classifier.linear.bias.data[0] += 0.01
        made = optimised(model)
        model.classifier.linear.bias.data[0] -= 0.01
        return made

    monkeypatch.setattr(tn, "optimised", damage)
    assert families.main(["lcnet_050"]) == 1 and "1.0e-02" in capsys.readouterr().out
    with pytest.raises(tn.TNetError, match="written from one whole run: name no families"):
        families.main(["resnet18", "--write"])
    monkeypatch.setenv("TNET_ENGINE", "torch")
    with pytest.raises(tn.TNetError, match="unset it"):
        families.main(["resnet18"])


def test_tables_stand_between_marks_in_readme_and_docs() -> None:
    docs = (ROOT / "docs/speed.md").read_text()
    for name in ("engines", "precision", "families"):
        assert "\n| new |\n" in replace_between(docs, name, "| new |")
    for path in ("README.md", "docs/speed.md"):
        text = (ROOT / path).read_text()
        replaced = replace_between(text, "speed", "| new |")
        assert "\n| new |\n" in replaced and replace_between(replaced, "speed", "| new |") == replaced
        assert text.partition("<!-- speed")[0] == replaced.partition("<!-- speed")[0]
    with pytest.raises(tn.TNetError, match="marks of 'speed' are missing"):
        replace_between("nothing", "speed", "")
    with pytest.raises(tn.TNetError, match="one whole run"):
        run.main(["--only", "look", "--write"])
