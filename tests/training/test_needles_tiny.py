"""The promise of `needles-tiny`: looking closer pays, and looking where the policy says pays more. Three seeds."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from typing import Any

import pytest

from tests.support.training import ROOT, quiet_environment

SEEDS = (0, 1, 2)


def processor_time() -> float:
    """Seconds that finished children computed; wall-clock time depends on what else the machine does."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def start(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", *arguments], cwd=ROOT, env=quiet_environment(), text=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
    )  # fmt: skip


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[int, dict[str, float]]:
    """Train with each seed as a user would, then measure on canvases that no run has seen."""
    folder = tmp_path_factory.mktemp("needles")
    began = processor_time()
    runs = {
        seed: start("training.train", "needles-tiny", f"seed={seed}", "--out", str(folder / f"{seed}"))
        for seed in SEEDS
    }
    for run in runs.values():
        _, said = run.communicate(timeout=1500)
        assert run.returncode == 0, said
    each = (processor_time() - began) / len(SEEDS)
    found = {}
    for seed in SEEDS:
        out = folder / f"{seed}.json"
        measure = start(
            "training.evaluate", str(folder / f"{seed}" / "checkpoint"), "needles-tiny", "--policies", "learned,random",
            "--budget", "1,1", "--limit", "300", "--resamples", "200", "--out", str(out),
        )  # fmt: skip
        _, said = measure.communicate(timeout=600)
        assert measure.returncode == 0, said
        found[seed] = read(json.loads(out.read_text())) | {"seconds": each}
    print("\n", found)
    return found


def read(evaluation: dict[str, Any]) -> dict[str, float]:
    budgets = [tuple(row["budget"]) for row in evaluation["budgets"]]
    none, both = budgets.index((0, 0)), budgets.index((1, 1))
    learned, random = (evaluation["policies"][name]["top1"] for name in ("learned", "random"))
    return {"thumbnail": learned[none], "learned": learned[both], "random": random[both]}


@pytest.mark.parametrize("seed", SEEDS)
def test_two_looks_are_worth_thirty_points_over_the_thumbnail(results: dict[int, dict[str, float]], seed: int) -> None:
    assert results[seed]["learned"] >= results[seed]["thumbnail"] + 0.30


@pytest.mark.parametrize("seed", SEEDS)
def test_the_policy_is_worth_twenty_points_over_random_looks(results: dict[int, dict[str, float]], seed: int) -> None:
    assert results[seed]["learned"] >= results[seed]["random"] + 0.20


def test_a_run_takes_less_than_five_minutes_of_one_core(results: dict[int, dict[str, float]]) -> None:
    assert max(result["seconds"] for result in results.values()) < 300
