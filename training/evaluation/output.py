"""Writing `evaluation.json`: where it goes, progress meanwhile, how it was measured, and what it recommends."""

from __future__ import annotations

import argparse
import os
import platform
import shlex
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import torch
from tqdm import tqdm

from tnet_core import __version__
from tnet_core.checkpoints.registry import Registry, find_pinned, pin_file
from tnet_core.errors import TNetError, reason
from tnet_core.schemas.checkpoint import read_config, write_config
from tnet_core.schemas.evaluation import Evaluation, parse_evaluation
from tnet_core.schemas.files import (
    CONFIG_FILE,
    EVALUATION_FILE,
    MAX_BYTES,
    expand_home,
    is_dead_link,
    make_temporary_name,
)
from tnet_core.schemas.hub_id import PREFIX
from tnet_core.schemas.registry import Entry
from training.data.reading import is_folder, name_readably
from training.evaluation.calibration import read_calibration
from training.evaluation.stopping import read_rule

_PACKAGES = ("torch", "timm", "numpy", "pillow", "opencv-python-headless", "accelerate")


def check_writable(path: Path) -> None:
    """Refuse a place that cannot be written, before an hour of work and not after it."""
    advice = "name a file in a folder you may write to (--out)"
    try:
        _try_writing(path.parent)
        is_special = is_dead_link(path) or (path.exists() and not path.is_file())
    except OSError as error:
        raise TNetError(f"The result cannot be written to '{path}' ({reason(error)}); {advice}.") from None
    if is_special:
        raise TNetError(f"The result cannot be written to '{path}', which is not a file; {advice}.")
    if path.is_file() and not path.name.endswith(EVALUATION_FILE) and path.stat().st_size:
        try:
            Evaluation.read_file(path, MAX_BYTES[EVALUATION_FILE])
        except TNetError:
            raise TNetError(f"'{path}' holds something else than an evaluation; {advice}.") from None


def _try_writing(folder: Path) -> None:
    """Do what writing a file will do: permissions alone say nothing about read-only or full disks."""
    trial = folder / make_temporary_name()
    try:
        trial.write_bytes(bytes(4096))
    finally:
        trial.unlink(missing_ok=True)


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
    return name_readably(path.name if path.is_absolute() else word)


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


@dataclass(frozen=True)
class ResultPlace:
    """Where an evaluation is written, and the registry's entry that has to follow it."""

    path: Path
    entry: Entry | None = None

    def check(self) -> None:
        """Refuse a place, or a registry that has to follow it, where nothing can be written; see `check_writable`."""
        check_writable(self.path)
        if self.entry is not None:
            try:  # an evaluation without its new hash would make the checkpoint one that is refused
                _try_writing(self.entry.registry.parent)
            except OSError as error:
                raise TNetError(f"The registry '{self.entry.registry}' cannot be written ({reason(error)}).") from None

    def write(self, content: dict[str, Any], say: Callable[[str], None]) -> None:
        """Write the evaluation, and its hash into the registry that pins it; say what was done."""
        if self.path.exists():
            say(f"'{self.path}' is replaced.")
        parse_evaluation(content).write(self.path)
        say(f"Written to '{self.path}'.")
        if self.entry is not None:
            pin_file(self.entry, EVALUATION_FILE)
            say(f"The entry '{self.entry.id}' of '{self.entry.registry}' holds its new hash.")


def add_result_options(parser: argparse.ArgumentParser) -> None:
    """Add --out and --update, the arguments of `choose_result_place`."""
    parser.add_argument(
        "--out",
        metavar="FILE",
        help=f"write here (default: {EVALUATION_FILE} in the checkpoint's folder; for a checkpoint of a registry or of "
        f"the Hub, ID.{EVALUATION_FILE} in the current folder)",
    )
    parser.add_argument(
        "--update", action="store_true", help="replace the evaluation that a registry pins, and its hash there"
    )


def choose_result_place(spec: str, out: str | None, *, update: bool = False) -> ResultPlace:
    """Return a path beside the checkpoint, or where `out` says (a file, or a folder that is there).

    A registry or Hub checkpoint is guarded by hashes: its evaluation goes to the current folder, however the
    checkpoint is named, unless `update` asks to replace it together with its hash in the registry.
    """
    registry = Registry.load()
    path = None if out is None else expand_home(out)
    if path is not None and is_folder(path):
        path = path / EVALUATION_FILE
    if update and path is not None:
        raise TNetError("--update writes beside the checkpoint; leave either --update or --out away.")
    guarded = None if path is None else find_pinned(path.parent, registry)
    if guarded is not None:
        raise TNetError(
            f"The files in '{guarded.folder}' are pinned by '{guarded.registry.name}' as '{guarded.id}'; name another "
            "place with --out, or use --update, which brings that entry up to date."
        )
    if path is not None:
        return ResultPlace(path)
    entry = registry.get(spec) if spec in registry else None
    if entry is None and not spec.startswith(PREFIX):
        entry = find_pinned(expand_home(spec), registry)
    if update:
        if entry is None or entry.folder is None:
            raise TNetError(f"--update is for a checkpoint in a folder that a registry pins, and '{spec}' is none.")
        return ResultPlace(entry.folder / EVALUATION_FILE, entry)
    if entry is None and not spec.startswith(PREFIX):
        return ResultPlace(expand_home(spec) / EVALUATION_FILE)
    name = entry.id if entry is not None else spec.removeprefix(PREFIX).partition("@")[0].replace("/", "--")
    return ResultPlace(Path(f"{name}.{EVALUATION_FILE}"))


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


def find_folder(spec: str, *, update: bool) -> Path:
    """Return the folder whose configuration may be changed; a registry's only with `update`, the Hub's never."""
    registry = Registry.load()
    if spec.startswith(PREFIX):
        raise TNetError("--recommend changes a checkpoint's config.json; download it into a folder of yours first.")
    folder = registry.get(spec).folder if spec in registry else expand_home(spec)
    if folder is None:
        raise TNetError(f"--recommend changes config.json, and the files of '{spec}' are on the Hub.")
    entry = find_pinned(folder, registry)
    if entry is not None and not update:
        raise TNetError(
            f"--recommend changes config.json, which '{entry.registry.name}' pins as '{entry.id}'; add --update to "
            "bring that entry up to date."
        )
    return folder


def write_recommendation(folder: Path, content: dict[str, Any], say: Callable[[str], None]) -> None:
    """Put the temperature and the rule of an evaluation into a folder's configuration; a registry gets its new hash."""
    if "calibration" not in content:
        raise TNetError("Nothing can be recommended from a single image; measure on more.")
    rule = read_rule(content["stopping"]) if "rule" in content.get("stopping", {}) else None
    calibration = read_calibration(content["calibration"])
    write_config(folder, read_config(folder).model_copy(update={"calibration": calibration, "stopping": rule}))
    told = calibration.describe() + ("" if rule is None else f"; {rule.describe()}")
    say(f"'{folder / CONFIG_FILE}' recommends: {told}.")
    entry = find_pinned(folder)
    if entry is not None:
        pin_file(entry, CONFIG_FILE)
        say(f"The entry '{entry.id}' of '{entry.registry}' holds its new hash.")
