"""`python -m training.train` as a user runs it: killed, continued, spread over processes, given bad input."""

from __future__ import annotations

import os
import random
import signal
import time
from pathlib import Path

import pytest
import torch

import tnet_core as tn
from tests.support.processes import PythonProcess, run_python, run_ranks
from tests.support.training import ROOT, metrics, quiet_environment, write_folders, write_recipe_file
from training.engine.run_folder import list_states
from training.train import main

pytestmark = pytest.mark.slow
# Despite its name, this flag is what makes the launcher start several processes, also without a GPU.
TWO = ["--multi_gpu", "--num_processes", "2", "--num_machines", "1"]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_folders(tmp_path_factory.mktemp("data"))


def test_a_run_killed_again_and_again_ends_where_an_uninterrupted_one_does(data: Path, tmp_path: Path) -> None:
    recipe = write_recipe_file(tmp_path / "tiny.yaml", epochs=3, save_minutes=0.0, ema=0.95)
    arguments = ["training.train", str(recipe), f"data.root={data}", "data.workers=1"]
    assert main([*arguments[1:], "--out", str(tmp_path / "whole")]) == 0

    chance = random.Random(0)
    kills = 0
    for _ in range(2):
        process = PythonProcess(
            "-m", *arguments, "--out", str(tmp_path / "cut"), "--resume", cwd=ROOT, env=quiet_environment(),
            output=tmp_path / "cut.out", errors=tmp_path / "cut.err",
        )  # fmt: skip
        before = [path.name for path in list_states(tmp_path / "cut")]
        deadline = time.monotonic() + 120
        while [p.name for p in list_states(tmp_path / "cut")] == before and process.poll() is None:
            assert time.monotonic() < deadline
            time.sleep(0.02)
        time.sleep(chance.uniform(0.0, 0.5))  # somewhere in a step or while a state is being written
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
            kills += 1
        process.wait()
    assert kills >= 1
    assert main([*arguments[1:], "--out", str(tmp_path / "cut"), "--resume"]) == 0

    whole, cut = metrics(tmp_path / "whole"), metrics(tmp_path / "cut")
    assert [record["step"] for record in cut] == [record["step"] for record in whole]
    assert cut[-1]["loss"] == whole[-1]["loss"]
    first, second = (tn.load(tmp_path / run / "checkpoint").state_dict() for run in ("whole", "cut"))
    assert all(torch.equal(first[name], second[name]) for name in first)


def test_two_processes_learn_what_one_does_on_the_same_batch(data: Path, tmp_path: Path) -> None:
    recipe = write_recipe_file(tmp_path / "tiny.yaml", epochs=2, freeze={"batch_norm": True})
    arguments = ["training.train", str(recipe), f"data.root={data}", "--out"]
    assert main([*arguments[1:], str(tmp_path / "one")]) == 0
    two = ("-m", *arguments, str(tmp_path / "two"))
    ended = run_ranks(*two, cwd=ROOT, env=quiet_environment(), folder=tmp_path, timeout=240)
    assert [rank.returncode for rank in ended] == [0, 0], ended
    assert [tn.load(tmp_path / run / "checkpoint").card.provenance["processes"] for run in ("one", "two")] == [1, 2]
    for one, two in zip(metrics(tmp_path / "one"), metrics(tmp_path / "two"), strict=True):
        for name in ("loss", "joint", "joint_reinforce", "per_feature", "per_feature_reinforce", "reward", "baseline"):
            assert two[name] == pytest.approx(one[name], rel=1e-4, abs=1e-5), name
    assert metrics(tmp_path / "one", "validation")[-1]["top1"] == metrics(tmp_path / "two", "validation")[-1]["top1"]


def test_two_processes_finish_with_batch_norm_and_the_contrastive_term_per_process(data: Path, tmp_path: Path) -> None:
    recipe = write_recipe_file(tmp_path / "tiny.yaml", epochs=2, ema=0.9, loss={"contrastive": 1.0}, accumulate=1)
    arguments = ("-m", "training.train", str(recipe), f"data.root={data}", "--out", str(tmp_path / "run"))
    ended = run_ranks(*arguments, cwd=ROOT, env=quiet_environment(), folder=tmp_path, timeout=240)
    assert [rank.returncode for rank in ended] == [0, 0], ended
    model = tn.load(tmp_path / "run" / "checkpoint")
    assert model.class_names[0] == "amber"
    assert model.card.provenance["processes"] == 2
    assert metrics(tmp_path / "run")[-1]["contrastive"] > 0


@pytest.mark.parametrize(
    ("launch", "number"), [((), signal.SIGTERM), (tuple(TWO), signal.SIGTERM), ((), signal.SIGINT)]
)
def test_a_signal_to_the_whole_group_ends_a_run_cleanly(
    data: Path, tmp_path: Path, launch: tuple[str, ...], number: int
) -> None:
    recipe = write_recipe_file(tmp_path / "tiny.yaml", epochs=2000)
    head = ("-m", "accelerate.commands.launch", *launch) if launch else ()
    process = PythonProcess(
        *head, "-m", "training.train", str(recipe), f"data.root={data}", "data.workers=1",
        "--out", str(tmp_path / "run"), cwd=ROOT, env=quiet_environment(), new_session=True,
        output=tmp_path / "out.txt", errors=tmp_path / "errors.txt",
    )  # fmt: skip
    deadline = time.monotonic() + 120
    while not (tmp_path / "run" / "metrics.jsonl").exists():
        assert time.monotonic() < deadline
        assert process.poll() is None
        time.sleep(0.05)
    os.killpg(process.pid, number)
    process.wait(timeout=120)
    assert len(list_states(tmp_path / "run")) == 1
    assert tn.load(tmp_path / "run" / "checkpoint").class_names[0] == "amber"
    if not launch:  # the launcher has words of its own
        assert process.poll() == 0
        assert "Traceback" not in (tmp_path / "errors.txt").read_text()


def test_bfloat16_trains(data: Path, tmp_path: Path) -> None:
    recipe = write_recipe_file(tmp_path / "tiny.yaml", precision="bf16", loss={"contrastive": 1.0})
    arguments = ("-m", "training.train", str(recipe), f"data.root={data}", "--out", str(tmp_path / "run"))
    # Accelerate keeps one precision per process.
    done = run_python(*arguments, cwd=ROOT, env=quiet_environment(), folder=tmp_path, timeout=240)
    assert done.returncode == 0, done.stderr
    assert 0 < metrics(tmp_path / "run")[-1]["loss"] < 100
    kinds = {value.dtype for value in tn.load(tmp_path / "run" / "checkpoint").state_dict().values()}
    assert kinds <= {torch.float32, torch.int64}  # only the arithmetic is half precision


def test_options_and_changes_may_be_mixed(data: Path, tmp_path: Path) -> None:
    recipe = write_recipe_file(tmp_path / "tiny.yaml")
    assert main([str(recipe), "--out", str(tmp_path / "run"), f"data.root={data}", "epochs=0.5"]) == 0
    assert metrics(tmp_path / "run")[-1]["step"] == 2


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["no-such-recipe"], "no-such-recipe"),
        (["{recipe}", "data.root=nowhere/at/all"], "nowhere/at/all"),
        (["{recipe}", "data.root={data}", "lamda=3"], "lamda"),
        (["{recipe}", "data.root={data}", "epochs=many"], "epochs"),
        (["{recipe}", "data.root={data}", "--minutes", "-1"], "--minutes"),
        (["{recipe}", "data.root={data}", "model.config.num_classes=9"], "9"),
        ([], "Name a recipe"),
        (["{recipe}", "data.root={data}", "batch_size=2000"], "fewer than one batch"),
        (["{recipe}", "data.root={data}", "policy.target=ranking"], "init"),
    ],
)
def test_bad_input_is_one_sentence(
    data: Path, tmp_path: Path, arguments: list[str], said: str, capfd: pytest.CaptureFixture[str]
) -> None:
    recipe = write_recipe_file(tmp_path / "tiny.yaml")
    given = [text.format(recipe=recipe, data=data) for text in arguments]
    assert main([*given, "--out", str(tmp_path / "run")]) == 2
    shown = capfd.readouterr().err
    assert said in shown
    assert len(shown.strip().splitlines()) == 1, shown
    assert not (tmp_path / "run").exists()


def test_an_unreadable_image_ends_the_run_with_its_name(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    root = write_folders(tmp_path / "data", per_class=2)
    (root / "train" / "amber" / "000.png").write_bytes(b"no picture")
    recipe = write_recipe_file(tmp_path / "tiny.yaml")
    assert main([str(recipe), f"data.root={root}", "data.workers=1", "--out", str(tmp_path / "r")]) == 2
    shown = capfd.readouterr().err
    assert "000.png" in shown
    assert "Traceback" not in shown


def test_recipes_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--list"]) == 0
    shown = capsys.readouterr().out
    assert "cub-b0" in shown
    assert "needles-tiny" in shown
