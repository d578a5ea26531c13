"""Writing `evaluation.json`: where it goes, a progress bar while it is made, and how it was measured."""

from __future__ import annotations

import json
import os
import platform
import shlex
import subprocess
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import torch
from tqdm import tqdm

from tnet_core import __version__
from tnet_core.checkpoints.files import EVALUATION_FILE, MAX_BYTES, write_atomically
from tnet_core.checkpoints.hub_id import PREFIX
from tnet_core.checkpoints.registry import Registry
from tnet_core.errors import TNetError

_PACKAGES = ("torch", "timm", "numpy", "pillow", "opencv-python-headless", "accelerate")


def to_compact_text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def evaluation_to_text(content: dict[str, Any]) -> str:
    """Return JSON with one line per field: small, and still legible in a diff."""
    return (
        "{\n" + ",\n".join(f"{json.dumps(key)}: {to_compact_text(value)}" for key, value in content.items()) + "\n}\n"
    )


def write_evaluation(content: dict[str, Any], path: Path) -> None:
    """Write the file in one step: it is the old one or the new one, never half of it."""
    data = evaluation_to_text(content).encode("utf-8")
    if len(data) > MAX_BYTES[EVALUATION_FILE]:
        raise TNetError(f"The result has {len(data)} bytes, more than an evaluation may have; use a smaller budget.")
    write_atomically(path, lambda temporary: temporary.write_bytes(data))


def check_writable(path: Path) -> None:
    """Refuse a place that cannot be written, before an hour of work and not after it."""
    if path.is_dir() or not path.parent.is_dir() or not os.access(path.parent, os.W_OK):
        raise TNetError(f"The result cannot be written to '{path}'; name a file in a folder you may write to (--out).")


class ProgressBar:
    """A progress bar per pass over the images."""

    def __init__(self, *, is_shown: bool) -> None:
        self._is_shown, self._what = is_shown, ""
        self._bar: tqdm[Any] | None = None

    def __enter__(self) -> ProgressBar:
        return self

    def update(self, what: str, done: int, total: int) -> None:
        if what != self._what:
            self.__exit__()
            self._what = what
            self._bar = tqdm(total=total, desc=what, unit="image", disable=not self._is_shown, mininterval=0.5)
        assert self._bar is not None
        self._bar.update(done - self._bar.n)

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.close()


# How it was measured ----------------------------------------------------------------------------------


def describe_run(device: torch.device, processes: int = 1, command: Sequence[str] | None = None) -> dict[str, Any]:
    found: dict[str, Any] = {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": {
            "system": f"{platform.system()} {platform.machine()}",
            "processor": _name_processor(),
            "cores": os.cpu_count(),
            "device": torch.cuda.get_device_name(device) if device.type == "cuda" else device.type,
            "processes": processes,
            "threads": torch.get_num_threads(),
        },
        "versions": {"tnet-explorer": __version__, "python": platform.python_version()} | _find_versions(),
        "commit": find_source_commit(),
    }
    if command is not None:
        found["command"] = " ".join(shlex.quote(strip_folders(word)) for word in command)
    return found


def strip_folders(word: str) -> str:
    """Return an absolute path by its last part alone: where somebody keeps data is nobody's business."""
    option, equals, value = word.partition("=")
    if equals and option.startswith("--"):
        return f"{option}={strip_folders(value)}"
    path = Path(word)
    return path.name if path.is_absolute() else word


def _find_versions() -> dict[str, str]:
    found = {}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def _name_processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return platform.processor()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


def choose_result_path(spec: str, out: str | None) -> Path:
    """Return a path beside the checkpoint, or where `out` says (a file, or a folder that is there).

    A registry or Hub checkpoint is guarded by hashes and not ours to change: its evaluation goes to
    the current folder.
    """
    if out is not None:
        path = Path(out).expanduser()
        return path / EVALUATION_FILE if path.is_dir() else path
    if spec.startswith(PREFIX) or spec in Registry.load():
        name = spec.removeprefix(PREFIX).partition("@")[0].replace("/", "--")
        return Path(f"{name}.{EVALUATION_FILE}")
    return Path(spec).expanduser() / EVALUATION_FILE


def find_source_commit() -> str | None:
    """Return the commit of the code that runs, marked when files were changed since."""
    root = Path(__file__).parents[2]
    try:
        found = [
            subprocess.run(["git", "-C", str(root), *command], capture_output=True, text=True, timeout=10, check=True)
            for command in (["rev-parse", "HEAD"], ["status", "--porcelain", "--untracked-files=no"])
        ]
    except (OSError, subprocess.SubprocessError):
        return None
    return found[0].stdout.strip() + ("+changes" if found[1].stdout.strip() else "")
