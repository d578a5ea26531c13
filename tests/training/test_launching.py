"""One process where several were asked for is said aloud."""

from __future__ import annotations

import pytest

from tnet_core import command
from tnet_core.command import read_launched_count, warn_of_lone_process
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
