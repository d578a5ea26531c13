"""What a run leaves behind: `recipe.yaml`, metrics, states while it runs, and `checkpoint/`.

A state is a folder `state-<step>` with tensors (safetensors) and numbers (JSON), written beside the old one and then
put in place in one step. Random choices are functions of the seed and the step (`training.data.loading`,
`training.engine.step`), so the step is all the random state there is.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import zlib
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

import tnet_core as tn
from tnet_core.errors import TNetError, reason
from tnet_core.modeling.tnet import TNet
from tnet_core.schemas.files import is_temporary_name, read_bounded, write_atomically
from training.data.sample import ImageDataset
from training.evaluation.output import find_source_commit
from training.recipes.reading import recipe_from_mapping, recipe_to_mapping, recipe_to_text
from training.recipes.recipe import Recipe

RECIPE_FILE = "recipe.yaml"
CHECKPOINT_FOLDER = "checkpoint"

# What a continued run may change: none of it enters the arithmetic of the images that can be read.
_CHANGEABLE_KEYS = {
    "about", "paper", "validate_every", "validation_images", "save_minutes", "provenance",
    "data.root", "data.cache", "data.workers", "data.skip_unreadable",
}  # fmt: skip
_NAME = re.compile(r"state-(\d{9})")
_TEMPORARY_STATE = re.compile(r"\.state-\d+\.tmp")
_NUMBERS = "state.json"
_TENSORS = "tensors.safetensors"
FORMAT = 1
_LOCK_SECONDS = 2.0  # until a process that was killed is gone
_locks: set[int] = set()  # handles of folders that this process has locked


def check_folder(out: Path, *, resume: bool, leftovers: Collection[str] = ()) -> None:
    """Refuse to mix two runs in one folder, or a run with anything else; nothing is written.

    `leftovers` are names of what a run that was killed may have left before it wrote its recipe.
    """
    try:
        begun, finished = bool(list_states(out)), (out / CHECKPOINT_FOLDER).exists()
        used = begun or finished or (out / RECIPE_FILE).exists()
        names = {path.name for path in out.iterdir()} if out.is_dir() else set()
    except OSError as error:
        raise TNetError(f"Cannot read '{out}': {reason(error)}.") from None
    if used and not resume:
        hint = "add --resume to continue it, or choose another --out" if begun else "choose another --out"
        raise TNetError(f"'{out}' already holds a run; {hint}.")
    if not used and any(name not in leftovers and not _is_temporary(name) for name in names):
        raise TNetError(f"'{out}' holds something else than a run; choose another --out.")
    if finished and not begun:
        raise TNetError(f"'{out}' holds a checkpoint but no state to continue from; choose another --out.")


def _is_temporary(name: str) -> bool:
    return is_temporary_name(name) or _TEMPORARY_STATE.fullmatch(name) is not None


def make_folder(out: Path) -> None:
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise TNetError(f"Cannot write into '{out}': {reason(error)}.") from None


@contextmanager
def lock_folder(out: Path) -> Iterator[None]:
    """Make the folder of a run and keep other processes from training in it meanwhile."""
    make_folder(out)
    handle = os.open(out, os.O_RDONLY)
    try:
        _lock(handle, out)
        _locks.add(handle)
        remove_leftovers(out)
        yield
    finally:
        _locks.discard(handle)
        os.close(handle)


def _leave_locks() -> None:
    """Close what a process that loads images got from its parent: it would hold the lock of a run that was killed."""
    for handle in _locks:
        os.close(handle)
    _locks.clear()


os.register_at_fork(after_in_child=_leave_locks)


def _lock(handle: int, out: Path) -> None:
    began = monotonic()
    while True:
        try:
            return fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if monotonic() - began > _LOCK_SECONDS:
                raise TNetError(
                    f"Another process is training in '{out}': wait for it or end it, or choose another --out."
                ) from None
            sleep(0.2)
        except OSError:  # a file system without locks
            return None


def write_recipe(out: Path, recipe: Recipe) -> None:
    write_atomically(out / RECIPE_FILE, lambda path: path.write_text(recipe_to_text(recipe), encoding="utf-8"))


def fingerprint_data(dataset: ImageDataset) -> dict[str, int]:
    """Return what tells one training split from another, without decoding an image."""
    labels = np.asarray(dataset.labels, dtype=np.int64)
    return {
        "images": len(dataset),
        "labels": zlib.crc32(labels.tobytes()),
        "classes": zlib.crc32("\n".join(dataset.class_names).encode()),
    }


def refuse_changes(recipe: Recipe, data: dict[str, int], before: dict[str, Any]) -> None:
    """Refuse another recipe or other data than a run began with; `before` are the numbers of its state."""
    # Read back first: a state may be older than some key, which then has its default.
    old, new = (dict(_flatten(recipe_to_mapping(made))) for made in (recipe_from_mapping(before["recipe"]), recipe))
    for name in sorted(old.keys() | new.keys()):
        if (
            name not in _CHANGEABLE_KEYS
            and name.partition(".")[0] not in _CHANGEABLE_KEYS
            and old.get(name) != new.get(name)
        ):
            raise TNetError(
                f"The run cannot be continued with another '{name}' ({new.get(name)!s:.60} instead of "
                f"{old.get(name)!s:.60}); start a new one in another folder."
            )
    if before["data"] != data:
        raise TNetError(
            f"The run began with other training data ({before['data']['images']} images, now {data['images']}); "
            "a run continues on the same images, classes and labels."
        )


def _flatten(values: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in values.items():
        if isinstance(value, dict):
            yield from _flatten(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value


def write_checkpoint(
    out: Path, model: TNet, recipe: Recipe, class_names: tuple[str, ...], details: dict[str, Any]
) -> Path:
    """Put the current model into `checkpoint/`, with what is known about how it was made."""
    folder = out / CHECKPOINT_FOLDER
    provenance: dict[str, Any] = {
        "recipe": recipe.name,
        "seed": recipe.seed,
        **({"paper": recipe.paper} if recipe.paper else {}),
        **({"commit": commit} if (commit := find_source_commit()) else {}),
        **recipe.provenance,
        **details,
    }
    return tn.save(model, folder, class_names=class_names, provenance=provenance)


# States of an unfinished run --------------------------------------------------------------------------


@dataclass(frozen=True)
class RunState:
    step: int  # optimisation steps done
    tensors: dict[str, Tensor]  # "model.…", "average.…", "optimiser.<parameter>.<slot>"
    numbers: dict[str, Any]  # JSON values


def name_state(step: int) -> str:
    return f"state-{step:09d}"


def save_state(run: Path, state: RunState) -> Path:
    """Write a state and remove older ones once it is complete on disk."""
    target = run / name_state(state.step)
    temporary = run / f".state-{os.getpid()}.tmp"
    try:
        _write_state(temporary, state)
        if target.exists():
            shutil.rmtree(target)
        temporary.rename(target)
        _flush(run)
    except Exception as error:  # safetensors reports a full disk as its own kind of error
        raise TNetError(f"Cannot save the state of the run in '{run}': {reason(error)}.") from None
    finally:  # also when interrupted from the keyboard
        shutil.rmtree(temporary, ignore_errors=True)
    for older in list_states(run)[:-1]:
        shutil.rmtree(older, ignore_errors=True)
    return target


def _write_state(folder: Path, state: RunState) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in state.tensors.items()}
    save_file(tensors, folder / _TENSORS)
    numbers = json.dumps({"format": FORMAT, "step": state.step, **state.numbers}, indent=1)
    (folder / _NUMBERS).write_text(numbers, encoding="utf-8")
    for path in (folder / _TENSORS, folder / _NUMBERS, folder):
        _flush(path)


def list_leftovers(run: Path) -> list[Path]:
    """Return states that were being written when a run was killed."""
    return sorted(run.glob(".state-*.tmp"))


def remove_leftovers(run: Path) -> None:
    """Take away what runs that were killed while saving left behind."""
    for path in list_leftovers(run):
        shutil.rmtree(path, ignore_errors=True)


def list_states(run: Path) -> list[Path]:
    """Complete states, oldest first."""
    if not run.is_dir():
        return []
    return sorted(path for path in run.iterdir() if _NAME.fullmatch(path.name) and path.is_dir())


def load_state(run: Path) -> RunState | None:
    """Return the newest state, None if there is none."""
    found = list_states(run)
    if not found:
        return None
    folder = found[-1]
    try:
        numbers = json.loads(read_bounded(folder / _NUMBERS, 64 << 20))
        tensors = load_file(folder / _TENSORS)
        if numbers["format"] != FORMAT:
            raise TNetError(f"The saved state '{folder}' was written by another version and cannot be continued.")
        return RunState(int(numbers["step"]), tensors, numbers)
    except TNetError:
        raise
    except Exception as error:
        raise TNetError(f"The saved state '{folder}' cannot be read ({reason(error)}); remove it.") from None


@contextmanager
def refuse_damage(run: Path) -> Iterator[None]:
    """Turn what goes wrong while a state is put into a model into one sentence."""
    try:
        yield
    except (KeyError, TypeError, ValueError, RuntimeError, AttributeError) as error:
        if isinstance(error, TNetError):
            raise
        raise TNetError(f"The saved state in '{run}' is damaged ({reason(error)}); remove it.") from None


def collect_tensors(model: TNet, average: TNet | None, optimiser: torch.optim.Optimizer) -> dict[str, Tensor]:
    """Return all tensors of a state: the model's, those of the average of its weights, the optimiser's memory."""
    found = {f"model.{name}": value for name, value in model.state_dict().items()}
    if average is not None:
        found |= {f"average.{name}": value for name, value in average.state_dict().items()}
    return found | collect_optimiser_tensors(optimiser)


def collect_optimiser_tensors(optimiser: torch.optim.Optimizer) -> dict[str, Tensor]:
    """Return the optimiser's memory under 'optimiser.<number of the parameter>.<slot>'."""
    memory = optimiser.state_dict()["state"]
    return {
        f"optimiser.{number}.{slot}": torch.as_tensor(value)
        for number, slots in memory.items()
        for slot, value in slots.items()
    }


def restore_optimiser(optimiser: torch.optim.Optimizer, tensors: dict[str, Tensor]) -> None:
    """Give an optimiser its memory back; groups and their rates come from the recipe, not from the file."""
    memory: dict[int, dict[str, Tensor]] = {}
    for name, tensor in tensors.items():
        if name.startswith("optimiser."):
            _, number, slot = name.split(".", 2)
            memory.setdefault(int(number), {})[slot] = tensor
    optimiser.load_state_dict({"state": memory, "param_groups": optimiser.state_dict()["param_groups"]})


def select_tensors(tensors: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    """Return the tensors under a prefix, without it."""
    return {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}


def _flush(path: Path) -> None:
    """Make sure that a file or a folder's list of names is on disk, not only in memory."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
