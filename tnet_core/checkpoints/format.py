"""The checkpoint folder: `model.safetensors`, `config.json` and, optionally, `evaluation.json`."""

from __future__ import annotations

import filecmp
import os
import shutil
import warnings
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from tnet_core.building import place
from tnet_core.checkpoints.card import CheckpointCard
from tnet_core.checkpoints.tensors import read_tensors, write_tensors
from tnet_core.errors import TNetError, reason
from tnet_core.modeling.config import TNetConfig
from tnet_core.modeling.tnet import TNet
from tnet_core.schemas.checkpoint import CheckpointConfig, read_config, write_config
from tnet_core.schemas.evaluation import read_evaluation
from tnet_core.schemas.files import (
    CONFIG_FILE,
    EVALUATION_FILE,
    FORMAT_FILES,
    TENSOR_FILE,
    find_pickles,
    write_atomically,
)

Notice = Callable[[str], None]


class CheckpointNotice(UserWarning):
    """Something a user should know about a checkpoint that was loaded all the same."""


def warn_notice(text: str) -> None:
    """Give a notice as a warning, as is done where no callback was passed."""
    warnings.warn(text, CheckpointNotice, stacklevel=2)


def save(
    model: TNet,
    folder: str | Path,
    *,
    class_names: Sequence[str] | None = None,
    provenance: dict[str, Any] | None = None,
    half: bool = False,
) -> Path:
    """Write a model into a folder, which is created if needed; returns the folder.

    `half` stores weights as float16 (batch-norm statistics, the reward baseline and tensors beyond
    float16's range stay float32); computation is float32 after loading. An `evaluation.json` of
    other weights in that folder is removed, since it would not describe these.
    """
    if not isinstance(model, TNet):
        raise TNetError(f"Only a TNet can be saved as a checkpoint, not a '{type(model).__name__}'.")
    if not isinstance(folder, (str, os.PathLike)):
        raise TNetError(f"A checkpoint is saved in a folder, named by its path, not in {folder!r:.40}.")
    names = model.class_names if class_names is None else tuple(class_names)
    try:
        settings = {"calibration": model.calibration, "stopping": model.stopping, "provenance": provenance or {}}
        config = CheckpointConfig.describe(model.config, names, **settings)
    except TNetError as error:
        raise TNetError(f"This checkpoint cannot be saved: {error}") from None
    state = model.state_dict()
    shapes = {name: tensor.shape for name, tensor in expected_tensors(model.config).items()}
    if {name: tensor.shape for name, tensor in state.items()} != shapes:
        raise TNetError("This model's tensors are not those of its configuration; save the model it was made from.")
    target = Path(folder)
    tensors, evaluation = target / TENSOR_FILE, target / EVALUATION_FILE

    def write(temporary: Path) -> None:
        write_tensors(temporary, state, half=half)
        if not tensors.exists() or not filecmp.cmp(temporary, tensors, shallow=False):
            evaluation.unlink(missing_ok=True)
        write_config(target, config)  # before the tensors are put in place, which needs no room

    try:
        is_new = not target.exists()
        target.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:  # ValueError: a path with a null character
        raise TNetError(f"Cannot create the checkpoint folder '{target}': {reason(error)}.") from None
    try:
        write_atomically(tensors, write)
    except BaseException:  # no room, or interrupted: half a checkpoint is none
        if is_new:
            shutil.rmtree(target, ignore_errors=True)
        raise
    return target


def load_folder(
    folder: str | Path, *, device: torch.device | str | None = None, on_notice: Notice | None = None
) -> TNet:
    """Load a checkpoint from a folder, strictly; nobody vouches for its files but you."""
    path = check_folder(folder)
    name = path.resolve().name or str(path)
    card = CheckpointCard(source=name, origin=f"The folder '{path}', not checked against a registry.")
    return read_checkpoint(path, card, device=device, on_notice=on_notice)


def check_folder(folder: str | Path) -> Path:
    """Return the folder, if it can be a checkpoint; otherwise the reason why it cannot."""
    path = Path(folder)
    try:
        if path.is_file():
            raise TNetError(f"'{path}' is a file; give the folder that holds {TENSOR_FILE} and {CONFIG_FILE}.")
        if not path.is_dir():
            raise TNetError(f"There is no checkpoint folder '{path}'.")
        names = [entry.name for entry in path.iterdir()]
    except OSError as error:
        raise TNetError(f"Cannot read the checkpoint folder '{path}': {reason(error)}.") from None
    refuse_incomplete(names, f"The folder '{path}'")
    return path


def refuse_incomplete(names: Collection[str], what: str) -> None:
    """Complain about a folder or repository without tensors or configuration."""
    if TENSOR_FILE not in names and (pickles := find_pickles(names)):
        raise TNetError(
            f"{what} holds only pickled weights ({', '.join(pickles[:3])}), which can run any program when they are "
            f"opened, so they are refused; only {TENSOR_FILE} is loaded."
        )
    for name in (TENSOR_FILE, CONFIG_FILE):
        if name not in names:
            raise TNetError(f"{what} is not a checkpoint: it has no {name} (pickled weights are never loaded).")


def read_checkpoint(
    folder: Path,
    card: CheckpointCard,
    *,
    files: Collection[str] = FORMAT_FILES,
    device: torch.device | str | None = None,
    on_notice: Notice | None = None,
) -> TNet:
    """Build the model of a folder and complete its card, reading nothing but the given files."""
    config = read_config(folder)
    architecture = replace(config.model, survey=config.survey)
    tensors = read_tensors(folder / TENSOR_FILE, expected_tensors(architecture))
    model = empty_model(architecture)
    model.load_state_dict(tensors, strict=True, assign=True)
    model.class_names = config.class_names
    model.calibration, model.stopping = config.calibration, config.stopping
    model.source = card.source
    model.card = complete_card(card, folder, config, files=files, on_notice=on_notice)
    return place(model, device)


def complete_card(
    card: CheckpointCard,
    folder: Path,
    config: CheckpointConfig,
    *,
    files: Collection[str] = FORMAT_FILES,
    on_notice: Notice | None = None,
) -> CheckpointCard:
    """Add what the folder itself tells; a broken evaluation is announced and left out."""
    evaluation = None
    if EVALUATION_FILE in files and (folder / EVALUATION_FILE).exists():
        try:
            evaluation = read_evaluation(folder)
        except TNetError as error:
            (on_notice or warn_notice)(f"The evaluation was left out: {error}")
    return replace(
        card,
        config=config.model,
        class_names=config.class_names,
        calibration=config.calibration,
        stopping=config.stopping,
        provenance=config.provenance,
        evaluation=evaluation,
    )


def expected_tensors(config: TNetConfig) -> dict[str, Tensor]:
    """Return name -> tensor on the meta device (shape and type, no memory), whatever size the model has."""
    with torch.device("meta"):
        return dict(_construct(config).state_dict())


def empty_model(config: TNetConfig) -> TNet:
    """Return a model whose constants are set and whose parameters are not: every tensor must be assigned."""
    with _WithoutInitialisation():
        return _construct(config)


def _construct(config: TNetConfig) -> TNet:
    try:
        return TNet(config)
    except TNetError:
        raise
    except Exception as error:  # a backbone's own constructor meets values from a file; it may fail in any way
        raise TNetError(f"No model can be built from this configuration: {reason(error)}.") from None


class _WithoutInitialisation(TorchFunctionMode):
    """Leaves out random initialisation, which takes most of a constructor's time."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func in (torch.Tensor.uniform_, torch.Tensor.normal_):
            return args[0]
        if getattr(func, "__module__", None) == "torch.nn.init":
            return args[0] if args else kwargs["tensor"]
        return func(*args, **(kwargs or {}))
