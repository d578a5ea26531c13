"""Where the numbers of a run go: a JSON line per record, TensorBoard, and a progress bar."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

from torch.utils.tensorboard import SummaryWriter
from tqdm import tqdm

from tnet_core.checkpoints.files import reason, write_atomically
from tnet_core.errors import TNetError
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


class Metrics:
    """Records of one run. Only the main process of a distributed run has one."""

    def __init__(self, run: Path, steps: int, done: int, *, quiet: bool) -> None:
        self._path = run / METRICS_FILE
        self.validated = -1  # step of the last validation
        self._forget_after(done)
        self._board = SummaryWriter(str(run / "tensorboard"), purge_step=done + 1)
        tqdm.monitor_interval = 0  # no watching thread
        self._bar = tqdm(
            total=steps, initial=done, desc="training", unit="step", disable=quiet, file=sys.stderr, smoothing=0.05
        )

    def _forget_after(self, step: int) -> None:
        """Drop records of steps that will be done again, and a line that a kill cut short."""
        if not self._path.exists():
            return
        lines = self._path.read_text(errors="replace").splitlines()
        kept = [line for line in lines if _read_step(line) <= step]
        self.validated = max((_read_step(line) for line in kept if '"kind": "validation"' in line), default=-1)
        write_atomically(self._path, lambda path: path.write_text("".join(f"{line}\n" for line in kept)))

    def record(self, kind: str, step: int, values: dict[str, Any]) -> None:
        line = {"kind": kind, "step": step, "time": round(time.time(), 3), **values}
        if kind == "validation":
            self.validated = step
        try:
            with self._path.open("a") as file:
                file.write(json.dumps(line) + "\n")
        except OSError as error:
            raise TNetError(f"Cannot write '{self._path}': {reason(error)}.") from None
        for name, value in values.items():
            if isinstance(value, (int, float)):
                self._board.add_scalar(f"{kind}/{name}", value, step)
            elif isinstance(value, dict):
                for key, inner in value.items():
                    self._board.add_scalar(f"{kind}/{name}/{key}", inner, step)

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
        self._board.close()


def name_budget(budget: tuple[int, ...]) -> str:
    """Return '3', '2+1' for three levels, 'all' for a plain classifier."""
    return "+".join(str(k) for k in budget) or "all"


def _read_step(line: str) -> int:
    try:
        return int(json.loads(line)["step"])
    except (ValueError, KeyError, TypeError):
        return sys.maxsize
