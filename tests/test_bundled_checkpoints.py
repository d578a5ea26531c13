"""The checkpoints that ship with the project: complete, registered, measured, and ready to look without a network."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tnet_core as tn
from tnet_core.checkpoints import card_of
from tnet_core.checkpoints.__main__ import main as checkpoints
from tnet_core.schemas.evaluation import read_evaluation
from tools.checkpoint_table import BEGIN, END, PAGE, README, ROOT, update_table
from training.bundle import MAX_PLAIN_GIT_BYTES
from viz.examples import EXAMPLES_FOLDER, list_pictures_of_kind
from viz.explore.gallery import find_picture_kind

FOLDERS = sorted(path for path in (ROOT / "checkpoints").iterdir() if path.is_dir())
ABSOLUTE = re.compile(r"(?<![\w.…:/])/\w[\w.-]*/")  # a path from the root, but no address
IDS = [path.name for path in FOLDERS]
MODELS = {"tnet-lite0-cub", "tnet-lite0-cub-reinforce", "tnet-lite0-imagenet", "tnet-lite0-pets", "tnet-needles"}
LOOKING = [path for path in FOLDERS if path.name in MODELS]
# Intervals of shares of images; those of differences and correlations have other names.
SHARES = {f"{name}_interval" for name in ("top1", "top5", "followed", "near", "stayed", "top1_thumbnail")}


def test_the_promised_ones_are_there() -> None:
    assert set(IDS) >= MODELS


def test_the_registry_lists_exactly_these_and_every_file_is_as_it_says(capsys: pytest.CaptureFixture[str]) -> None:
    assert checkpoints(["verify"]) == 0
    printed = capsys.readouterr().out
    assert all(name in printed for name in IDS)


@pytest.mark.parametrize("folder", FOLDERS, ids=IDS)
def test_a_folder_is_complete_and_small_enough_for_a_space(folder: Path) -> None:
    assert {path.name for path in folder.iterdir()} == {
        "README.md", "config.json", "evaluation.json", "model.safetensors",
    }  # fmt: skip
    size = (folder / "model.safetensors").stat().st_size
    assert size < MAX_PLAIN_GIT_BYTES or f"`{folder.name}` has more than 10 MB" in PAGE.read_text(encoding="utf-8")
    card = (folder / "README.md").read_text(encoding="utf-8")
    assert card.count("\n# ") == 1 and "##" in card
    if "cub" in folder.name:
        assert "non-commercial research" in card


@pytest.mark.parametrize("folder", FOLDERS, ids=IDS)
def test_numbers_say_where_they_come_from_and_no_path_of_whoever_measured(folder: Path) -> None:
    evaluation = read_evaluation(folder)
    run = evaluation.raw["run"]
    assert run["command"].startswith("python -m training.") and run["date"] and run["machine"]["processor"]
    for path in folder.glob("*.json"):
        text = path.read_text(encoding="utf-8")
        assert not ABSOLUTE.search(text)
    ends = [result["top1_interval"] for result in evaluation.raw["budgets"]]
    assert all(low <= result.top1 <= high for (low, high), result in zip(ends, evaluation.results, strict=True))


@pytest.mark.parametrize("folder", LOOKING, ids=lambda path: path.name)
def test_every_budget_and_policy_was_measured(folder: Path) -> None:
    raw = read_evaluation(folder).raw
    levels = len(raw["trained_budget"])
    budgets = {tuple(result["budget"]) for result in raw["budgets"]}
    most = 10 if levels == 1 else 1
    assert {(k,) * levels for k in range(most + 1)} <= budgets
    assert tuple(raw["trained_budget"]) in budgets
    assert {"learned", "random", "centre", "mean", "oracle"} <= set(raw["policies"])
    assert raw["stopping"] and raw["heat_map"] and raw["attention"]["learned"]["coverage"]


@pytest.mark.slow
@pytest.mark.parametrize("folder", LOOKING, ids=lambda path: path.name)
def test_it_opens_by_its_id_and_looks_where_a_trained_policy_looks(folder: Path) -> None:
    model = tn.load(folder.name)
    assert len(model.class_names) == model.config.num_classes
    kind = find_picture_kind(card_of(model))
    trace = tn.traverse(model, EXAMPLES_FOLDER / list_pictures_of_kind(kind)[0].file, budget=model.config.budget)
    lifts = np.concatenate([d.probabilities.ravel() * model.config.cells for d in trace.distributions])
    assert np.isfinite(trace.logits()).all() and lifts.max() > 1.3


@pytest.mark.slow
def test_both_bird_policies_share_everything_but_the_policy() -> None:
    first, second = (tn.load(name).state_dict() for name in ("tnet-lite0-cub", "tnet-lite0-cub-reinforce"))
    differing = {name.partition(".")[0] for name, value in first.items() if not value.equal(second[name])}
    assert differing == {"location"}


@pytest.mark.parametrize("file", [README, PAGE], ids=lambda file: file.name)
def test_the_tables_of_the_readme_and_of_the_page_are_those_of_the_evaluations(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    assert BEGIN in text and END in text
    assert update_table(text, file) == text, "run: python -m tools.checkpoint_table"


@pytest.mark.parametrize("text", ['"/srv/data/birds"', "--images /mnt/photos/train --out x"])
def test_a_path_from_the_root_would_be_noticed(text: str) -> None:
    assert ABSOLUTE.search(text)


def find_intervals(value: Any, field: str = "") -> Iterator[tuple[str, float, float]]:
    """Yield every interval of a share of images, below an evaluation's field, with where it stands."""
    if isinstance(value, dict):
        for name, each in value.items():
            yield from find_intervals(each, f"{field}.{name}")
    elif isinstance(value, list) and len(value) == 2 and all(isinstance(end, int | float) for end in value):
        if field.rpartition(".")[2].partition("[")[0] in SHARES:
            yield (field, *value)
    elif isinstance(value, list):
        for number, each in enumerate(value):
            yield from find_intervals(each, f"{field}[{number}]")


@pytest.mark.parametrize("folder", FOLDERS, ids=IDS)
def test_no_share_of_images_is_claimed_to_be_certain(folder: Path) -> None:
    """Of 500 images all right is no proof that every image is: an interval of one share is never a point."""
    found = [*find_intervals(json.loads((folder / "evaluation.json").read_text(encoding="utf-8")))]
    assert len(found) >= 3  # top 1 of a budget, top 1 and 5 of a policy
    assert [field for field, low, high in found if not low < high] == []


def test_no_file_names_photographs_that_are_no_longer_there() -> None:
    name = "_".join(("imagenet", "sample"))  # this file does not, either
    search = ["git", "grep", "-I", "--name-only", name, "--", ".", ":!CHANGELOG.md"]
    done = subprocess.run(search, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 1, done.stdout  # 0: found, more: git could not search
