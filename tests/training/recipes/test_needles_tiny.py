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
pytestmark = [pytest.mark.slow, pytest.mark.long]  # what learning does is checked on smaller tasks every time


def processor_time() -> float:
    """Seconds that finished children computed; wall-clock time depends on what else the machine does."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run(*arguments: str, timeout: float) -> None:
    done = subprocess.run(
        [sys.executable, "-m", *arguments], cwd=ROOT, env=quiet_environment(), text=True, timeout=timeout,
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module", params=SEEDS, ids="seed {}".format)
def result(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, float]:
    """Train with a seed as a user would, then measure on canvases that no run has seen."""
    folder = tmp_path_factory.mktemp("needles")
    began = processor_time()
    run("training.train", "needles-tiny", f"seed={request.param}", "--out", str(folder / "run"), timeout=1500)
    seconds = processor_time() - began
    out = folder / "evaluation.json"
    run(
        "training.evaluate", str(folder / "run" / "checkpoint"), "needles-tiny", "--policies", "learned,random",
        "--budget", "1,1", "--limit", "300", "--resamples", "200", "--out", str(out), timeout=600,
    )  # fmt: skip
    found = read(json.loads(out.read_text())) | {"seconds": seconds}
    print("\n", found)
    return found


def read(evaluation: dict[str, Any]) -> dict[str, float]:
    budgets = [tuple(row["budget"]) for row in evaluation["budgets"]]
    none, both = budgets.index((0, 0)), budgets.index((1, 1))
    learned, random = (evaluation["policies"][name]["top1"] for name in ("learned", "random"))
    return {"thumbnail": learned[none], "learned": learned[both], "random": random[both]}


def test_two_looks_are_worth_thirty_points_over_the_thumbnail(result: dict[str, float]) -> None:
    assert result["learned"] >= result["thumbnail"] + 0.30


def test_the_policy_is_worth_twenty_points_over_random_looks(result: dict[str, float]) -> None:
    assert result["learned"] >= result["random"] + 0.20


def test_a_run_takes_less_than_five_minutes_of_one_core(result: dict[str, float]) -> None:
    assert result["seconds"] < 300
