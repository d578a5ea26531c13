"""The state of an unfinished run on disk: written beside the old one, then put in place in one step.

A state is a folder `state-<step>` with tensors (safetensors) and numbers (JSON). Random choices are
functions of the seed and the step (training.data.loading, training.engine), so the step is all the random
state there is.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from tnet_core.checkpoints.files import read_bounded, reason
from tnet_core.errors import TNetError

_NAME = re.compile(r"state-(\d{9})")
_NUMBERS = "state.json"
_TENSORS = "tensors.safetensors"
FORMAT = 1


@dataclass(frozen=True)
class RunState:
    step: int  # optimisation steps done
    tensors: dict[str, Tensor]  # "model.…", "average.…", "optimiser.<parameter>.<slot>"
    numbers: dict[str, Any]  # JSON values


def save_state(run: Path, state: RunState) -> Path:
    """Write a state and remove older ones once it is complete on disk."""
    target = run / f"state-{state.step:09d}"
    temporary = run / f".state-{os.getpid()}.tmp"
    try:
        _write(temporary, state)
        if target.exists():
            shutil.rmtree(target)
        temporary.rename(target)
        _flush(run)
    except Exception as error:  # safetensors reports a full disk as its own kind of error
        raise TNetError(f"Cannot save the state of the run in '{run}': {reason(error)}.") from None
    finally:  # also when interrupted from the keyboard
        shutil.rmtree(temporary, ignore_errors=True)
    for older in states(run)[:-1]:
        shutil.rmtree(older, ignore_errors=True)
    return target


def _write(folder: Path, state: RunState) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in state.tensors.items()}
    save_file(tensors, folder / _TENSORS)
    (folder / _NUMBERS).write_text(json.dumps({"format": FORMAT, "step": state.step, **state.numbers}, indent=1))
    for path in (folder / _TENSORS, folder / _NUMBERS, folder):
        _flush(path)


def remove_leftovers(run: Path) -> None:
    """Take away what runs that were killed while saving left behind."""
    for path in run.glob(".state-*.tmp"):
        shutil.rmtree(path, ignore_errors=True)


def states(run: Path) -> list[Path]:
    """Complete states, oldest first."""
    if not run.is_dir():
        return []
    return sorted(path for path in run.iterdir() if _NAME.fullmatch(path.name) and path.is_dir())


def load_state(run: Path) -> RunState | None:
    """The newest state, None if there is none."""
    found = states(run)
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


def optimiser_tensors(optimiser: torch.optim.Optimizer) -> dict[str, Tensor]:
    """The optimiser's memory under 'optimiser.<number of the parameter>.<slot>'."""
    memory = optimiser.state_dict()["state"]
    return {
        f"optimiser.{number}.{slot}": torch.as_tensor(value)
        for number, slots in memory.items()
        for slot, value in slots.items()
    }


def restore_optimiser(optimiser: torch.optim.Optimizer, tensors: dict[str, Tensor]) -> None:
    """The inverse; groups and their rates come from the recipe, not from the file."""
    memory: dict[int, dict[str, Tensor]] = {}
    for name, tensor in tensors.items():
        if name.startswith("optimiser."):
            _, number, slot = name.split(".", 2)
            memory.setdefault(int(number), {})[slot] = tensor
    optimiser.load_state_dict({"state": memory, "param_groups": optimiser.state_dict()["param_groups"]})


def part(tensors: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    """The tensors under a prefix, without it."""
    return {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}


def _flush(path: Path) -> None:
    """Make sure that a file or a folder's list of names is on disk, not only in memory."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
