"""Speeds as ratios with wide margins: what fails here has become slow in principle, on whatever machine."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from benchmarks import alternatives, cold, curve, looks, run
from benchmarks.rounds import in_turn, middle, ratio

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Threads that wait for one another on a busy machine are no measure of anything."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def test_three_levels_beat_the_whole_image_and_optimised_copies_the_plain_model() -> None:
    found = alternatives.against(alternatives.PAIRS[1], 1, rounds=3)
    assert found.looks == 4
    assert found.times > 2  # goal: 3
    assert found.times_plain > 1.5 and found.times_fast > 1.5 and found.times_apart > 1.5
    assert found.fast["tnet"] < 1.1 * found.plain["tnet"]


@pytest.mark.long
def test_a_batch_is_worth_more_to_looks_than_to_the_whole_image() -> None:
    found = alternatives.against(alternatives.PAIRS[0], 8, rounds=1)
    assert found.times > 1.5  # goal: 2.5
    assert found.times_fast > 1.1


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


@pytest.mark.long
def test_the_app_starts_and_traverses() -> None:
    found = cold.cold_start(1)
    assert 0 < found["page_seconds"] < found["traversal_seconds"]


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


def test_rounds_are_compared_with_their_own() -> None:
    seconds = {"slow": [2.0, 30.0, 4.0], "fast": [1.0, 10.0, 1.0]}
    assert ratio(seconds, "slow", "fast") == 3.0
    assert middle(seconds) == {"slow": 4000.0, "fast": 1000.0}
    order: list[str] = []
    found = in_turn({name: lambda name=name: order.append(name) for name in "ab"}, 2)  # type: ignore[misc]
    assert order == ["a", "b"] * 3 and len(found["a"]) == 2
