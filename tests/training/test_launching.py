"""Several processes: one where several were asked for is said aloud, and what no launcher set is refused."""

from __future__ import annotations

import pytest

import tnet_core as tn
from tnet_core import command
from tnet_core.batch.shards import Process
from tnet_core.command import read_launched_count, warn_of_lone_process
from training import evaluate
from training.train import main

LAUNCH = ["python", "-m", "accelerate.commands.launch"]


@pytest.mark.parametrize(
    ("words", "count"),
    [
        ([*LAUNCH, "--num_processes", "2", "-m", "training.train"], 2),
        (["/usr/bin/accelerate", "launch", "--num-processes=4", "-m", "training.train"], 4),
        ([*LAUNCH, "-m", "training.train"], 1),
        (["bash", "--num_processes", "2"], 1),
        ([], 1),
    ],
)
def test_the_number_of_processes_is_read_from_the_launcher(words: list[str], count: int) -> None:
    assert read_launched_count(words) == count


def test_a_lone_process_is_said_aloud(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(command, "_read_parent_command", lambda: [*LAUNCH, "--num_processes", "2"])
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    warn_of_lone_process()
    assert "started one process, not 2: add --multi_gpu" in capsys.readouterr().err
    monkeypatch.setenv("WORLD_SIZE", "2")
    warn_of_lone_process()
    assert capsys.readouterr().err == ""


def test_the_help_names_the_flag(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    assert "--multi_gpu" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("count", "sentence"),
    [
        ("two", "The environment variable WORLD_SIZE is 'two', but must be a whole number; unset it."),
        ("2", "WORLD_SIZE asks for 2 processes, but RANK, LOCAL_RANK, MASTER_ADDR is not set: start them with "
         "'accelerate launch', or unset WORLD_SIZE."),
    ],
)  # fmt: skip
def test_processes_that_no_launcher_started_are_refused(
    count: str, sentence: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for variable in command.LAUNCHED:
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("WORLD_SIZE", count)
    assert main(["needles-tiny"]) == 2
    assert capsys.readouterr().err == f"{sentence}\n"
    assert evaluate.main(["tnet-needles", "needles-tiny"]) == 2
    assert capsys.readouterr().err == f"{sentence}\n"
    with pytest.raises(tn.TNetError, match="WORLD_SIZE"):
        Process.from_environment()


@pytest.mark.parametrize("rank", ["3", "three"])
def test_a_lone_process_speaks_whatever_its_rank(
    rank: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    monkeypatch.setenv("RANK", rank)
    assert main(["no-such-recipe"]) == 2
    assert capsys.readouterr().err.startswith("There is no recipe 'no-such-recipe'")
