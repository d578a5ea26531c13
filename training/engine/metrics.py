"""Where the numbers of a run go: a JSON line per record, TensorBoard, and a progress bar."""

from __future__ import annotations

import contextlib
import io
import json
import os
import socket
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tensorboard.compat.proto.event_pb2 import Event, SessionLog
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.summary.writer.record_writer import RecordWriter
from tqdm import tqdm

from tnet_core.errors import TNetError, reason
from tnet_core.schemas.files import write_atomically
from training.engine.validation import Accuracy

METRICS_FILE = "metrics.jsonl"


class Averages:
    """Means of what was added since they were last taken."""

    def __init__(self) -> None:
        self._sums: dict[str, float] = {}
        self._counts: dict[str, int] = {}

    def add(self, values: dict[str, float]) -> None:
        for name, value in values.items():
            self._sums[name] = self._sums.get(name, 0.0) + value
            self._counts[name] = self._counts.get(name, 0) + 1

    def take(self) -> dict[str, float]:
        means = {name: total / self._counts[name] for name, total in self._sums.items()}
        self._sums, self._counts = {}, {}
        return means


class EventFile:
    """A file of scalars for TensorBoard. Each record is written at once.

    TensorBoard's own writer does so in a thread, whose traceback is all one sees of a full disk.
    """

    def __init__(self, folder: Path, first_step: int) -> None:
        name = f"events.out.tfevents.{time.time_ns() // 10**9:010d}.{socket.gethostname()}.{os.getpid()}.0"
        self.path = folder / name
        folder.mkdir(parents=True, exist_ok=True)
        # A session that starts at a step hides what an earlier one recorded from that step on.
        start = Event(wall_time=time.time(), step=first_step, session_log=SessionLog(status=SessionLog.START))
        self._append([Event(wall_time=time.time(), file_version="brain.Event:2"), start])

    def add(self, scalars: Mapping[str, float], step: int) -> None:
        values = [Summary.Value(tag=tag, simple_value=value) for tag, value in scalars.items()]
        self._append([Event(wall_time=time.time(), step=step, summary=Summary(value=values))])

    def _append(self, events: list[Event]) -> None:
        buffer = io.BytesIO()
        writer = RecordWriter(buffer)
        for event in events:
            writer.write(event.SerializeToString())
        append_whole(self.path, buffer.getvalue())


def append_whole(path: Path, data: bytes) -> None:
    """Append to a file; where that fails, nothing of it stays behind to spoil what is appended later."""
    with path.open("ab", buffering=0) as file:
        size = file.tell()
        try:
            while data:
                data = data[file.write(data) :]
        except OSError:
            with contextlib.suppress(OSError):
                file.truncate(size)
            raise


class Metrics:
    """Records of one run. Only the main process of a distributed run has one. What cannot be written ends no run."""

    def __init__(self, run: Path, steps: int, done: int, *, quiet: bool) -> None:
        self._path = run / METRICS_FILE
        self.validated = -1  # step of the last validation
        self._board: EventFile | None = None
        self._is_warned = False
        tqdm.monitor_interval = 0  # no watching thread
        self._bar = tqdm(
            total=steps, initial=done, desc="training", unit="step", disable=quiet, file=sys.stderr, smoothing=0.05
        )
        path = self._path
        try:
            self._forget_after(done)
            path = run / "tensorboard"
            self._board = EventFile(path, done + 1)
        except (OSError, TNetError) as error:
            self._warn(path, error)

    def _forget_after(self, step: int) -> None:
        """Drop records of steps that will be done again, and a line that a kill cut short."""
        if not self._path.exists():
            return
        lines = self._path.read_text(encoding="utf-8", errors="replace").splitlines()
        kept = [line for line in lines if _read_step(line) <= step]
        self.validated = max((_read_step(line) for line in kept if '"kind": "validation"' in line), default=-1)
        write_atomically(
            self._path, lambda path: path.write_text("".join(f"{line}\n" for line in kept), encoding="utf-8")
        )

    def record(self, kind: str, step: int, values: dict[str, Any]) -> None:
        line = {"kind": kind, "step": step, "time": round(time.time(), 3), **values}
        if kind == "validation":
            self.validated = step
        scalars = {f"{kind}/{name}": value for name, value in values.items() if isinstance(value, (int, float))}
        for name, value in values.items():
            if isinstance(value, dict):
                scalars |= {f"{kind}/{name}/{key}": inner for key, inner in value.items()}
        path = self._path
        try:
            append_whole(path, (json.dumps(line) + "\n").encode())
            if self._board is not None:
                path = self._board.path
                self._board.add(scalars, step)
        except OSError as error:
            self._warn(path, error)

    def _warn(self, path: Path, error: Exception) -> None:
        """Say once that a record is lost."""
        if not self._is_warned:
            self._is_warned = True
            text = f"Metrics cannot be written to '{path}' ({reason(error)}); the run goes on without them."
            self._bar.write(text, file=sys.stderr)

    def record_training(
        self, step: int, epoch: float, values: dict[str, float], accuracy: dict[tuple[int, ...], float]
    ) -> None:
        """Record means of the last steps and the accuracy of the last batch at every budget."""
        named = {name_budget(budget): top1 for budget, top1 in accuracy.items()}
        self.record("train", step, {"epoch": epoch, **values, "accuracy": named})
        formats = {"loss": "{loss:.3f}", "reward": "{reward:.2f}", "baseline": "{baseline:.2f}"}
        line = {name: text.format(**values) for name, text in formats.items()}
        line["acc"] = "/".join(f"{100 * top1:.0f}" for top1 in accuracy.values())
        line["img/s"] = f"{values['images_per_second']:.1f}"
        self._bar.set_postfix(line, refresh=False)

    def record_validation(self, step: int, epoch: float, curve: dict[tuple[int, ...], Accuracy]) -> None:
        top1 = {name_budget(budget): accuracy.top1 for budget, accuracy in curve.items()}
        top5 = {name_budget(budget): accuracy.top5 for budget, accuracy in curve.items()}
        self.record("validation", step, {"top1": top1, "top5": top5})
        text = "  ".join(f"{name}: {100 * value:.1f} %" for name, value in top1.items())
        self.say(f"epoch {epoch:.1f}, validation top-1 by looks  {text}")

    def advance(self) -> None:
        self._bar.update(1)

    def say(self, text: str) -> None:
        """Print a line above the bar."""
        if not self._bar.disable:
            self._bar.write(text, file=sys.stderr)

    def close(self) -> None:
        self._bar.close()


def name_budget(budget: tuple[int, ...]) -> str:
    """Return '3', '2+1' for three levels, 'all' for a plain classifier."""
    return "+".join(str(k) for k in budget) or "all"


def _read_step(line: str) -> int:
    try:
        return int(json.loads(line)["step"])
    except (ValueError, KeyError, TypeError):
        return sys.maxsize
