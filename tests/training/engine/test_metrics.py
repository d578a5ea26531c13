"""What a run records: whole records for TensorBoard and as JSON lines, and a full disk that ends no run."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from training.engine import validation
from training.engine.metrics import METRICS_FILE, Metrics
from training.engine.validation import Stopping

FULL = Path("/dev/full")  # writing to it is what writing to a full disk is


def test_records_are_read_back_and_steps_that_are_done_again_replace_the_old_ones(tmp_path: Path) -> None:
    for done in (0, 10):  # the second sitting begins after step 10
        metrics = Metrics(tmp_path, 40, done, quiet=True)
        for step in (done + 10, done + 20):
            metrics.record("train", step, {"loss": 100 * done + step, "accuracy": {"0": 0.25, "1": 0.5}})
        metrics.close()
    board = EventAccumulator(str(tmp_path / "tensorboard")).Reload()
    assert board.Tags()["scalars"] == ["train/loss", "train/accuracy/0", "train/accuracy/1"]
    assert [(event.step, event.value) for event in board.Scalars("train/loss")] == [(10, 10), (20, 1020), (30, 1030)]
    lines = [json.loads(line) for line in (tmp_path / METRICS_FILE).read_text().splitlines()]
    assert [line["step"] for line in lines] == [10, 20, 30]


@pytest.mark.skipif(not FULL.exists(), reason="needs /dev/full")
def test_a_full_disk_costs_records_and_is_said_once(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    metrics = Metrics(tmp_path, 30, 0, quiet=True)
    board = next((tmp_path / "tensorboard").iterdir())
    board.unlink()
    board.symlink_to(FULL)
    metrics.record("train", 10, {"loss": 1.0})
    (tmp_path / METRICS_FILE).unlink()
    (tmp_path / METRICS_FILE).symlink_to(FULL)
    metrics.record("train", 20, {"loss": 1.0})
    metrics.close()
    said = capfd.readouterr().err
    assert said.count("Metrics cannot be written to") == 1 and "No space left" in said and "Traceback" not in said


def test_records_that_cannot_be_read_end_no_run(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / METRICS_FILE).mkdir()
    metrics = Metrics(tmp_path, 30, 10, quiet=True)
    metrics.record("train", 20, {"loss": 1.0})
    metrics.close()
    said = capfd.readouterr().err
    assert said.count("Metrics cannot be written to") == 1 and "Is a directory" in said


def test_ctrl_c_asks_for_a_clean_end_and_a_second_one_is_sudden(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before = signal.getsignal(signal.SIGINT)
    with Stopping(None) as stopping:
        signal.raise_signal(signal.SIGINT)
        assert stopping.is_due() and "Ctrl-C again" in capsys.readouterr().err
        signal.raise_signal(signal.SIGINT)  # at once: the same one, passed on by a launcher
        monkeypatch.setattr(validation, "_SAME_REQUEST", 0.0)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before


def test_ctrl_c_in_the_middle_of_printing_still_ends_cleanly(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise RuntimeError("reentrant call inside <_io.BufferedWriter name='<stderr>'>")

    monkeypatch.setattr("builtins.print", refuse)
    with Stopping(None) as stopping:
        signal.raise_signal(signal.SIGINT)
        assert stopping.is_due()
