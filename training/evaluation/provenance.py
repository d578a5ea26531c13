"""Where, when and how numbers were measured."""

from __future__ import annotations

import os
import platform
import shlex
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import torch

from tnet_core import __version__
from training.run_folder import source_commit

_PACKAGES = ("torch", "timm", "numpy", "pillow", "opencv-python-headless", "accelerate")


def run_information(device: torch.device, processes: int = 1, command: Sequence[str] | None = None) -> dict[str, Any]:
    found: dict[str, Any] = {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": {
            "system": f"{platform.system()} {platform.machine()}",
            "processor": _processor(),
            "cores": os.cpu_count(),
            "device": torch.cuda.get_device_name(device) if device.type == "cuda" else device.type,
            "processes": processes,
            "threads": torch.get_num_threads(),
        },
        "versions": {"tnet-explorer": __version__, "python": platform.python_version()} | _versions(),
        "commit": source_commit(),
    }
    if command is not None:
        found["command"] = " ".join(shlex.quote(without_folders(word)) for word in command)
    return found


def without_folders(word: str) -> str:
    """An absolute path by its last part alone: where somebody keeps data is nobody's business."""
    option, equals, value = word.partition("=")
    if equals and option.startswith("--"):
        return f"{option}={without_folders(value)}"
    path = Path(word)
    return path.name if path.is_absolute() else word


def _versions() -> dict[str, str]:
    found = {}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return platform.processor()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()
