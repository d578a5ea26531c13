"""`model.safetensors`: writing it, and reading it strictly."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from tnet_core.errors import TNetError, reason
from tnet_core.schemas.files import MAX_BYTES, TENSOR_FILE

_MAX_HEADER = 16 << 20
_FLOATING = {"F32", "F16", "BF16"}
_SHOWN = 8

# Batch-norm statistics and the reward baseline stay float32 in half-precision files: variances span
# many orders of magnitude, and all of them together are about one percent of a file.
_KEPT_IN_FULL = ("running_mean", "running_var", "reward_baseline")


def write_tensors(path: Path, state: Mapping[str, Tensor], *, half: bool) -> None:
    """Store tensors as float32, or as float16 where nothing overflows; integers as they are."""
    broken = [name for name, tensor in state.items() if not _is_finite(tensor)]
    if broken:
        raise TNetError("This model cannot be saved: " + _list_names("with values that are not finite", broken) + ".")
    stored = {name: _convert_for_storage(name, tensor.detach().cpu(), half) for name, tensor in state.items()}
    path.touch()  # with the mode that the umask gives: the library's own is for the user alone
    mode = path.stat().st_mode
    try:
        save_file(stored, path, metadata={"format": "pt"})
        path.chmod(mode)
    except SafetensorError as error:
        raise OSError(reason(error)) from None  # what it wraps: a full disk, a folder that may not be written


def _convert_for_storage(name: str, tensor: Tensor, half: bool) -> Tensor:
    if not tensor.is_floating_point():
        return tensor.contiguous()
    full = tensor.float().contiguous()  # also undoes channels-last, which the format does not know
    if not half or name.rpartition(".")[2] in _KEPT_IN_FULL:
        return full
    small = full.half()
    return small if bool(small.isfinite().all()) else full


def read_tensors(path: Path, expected: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return exactly the expected tensors, floating ones as float32, in memory of their own.

    Names, shapes and types are compared before anything is allocated.
    """
    _check_size(path)
    try:
        with safe_open(path, framework="pt", device="cpu") as file:
            _compare(path, {name: file.get_slice(name) for name in file.keys()}, expected)  # noqa: SIM118
            # Copies, because the originals are views of the file and would follow its changes.
            tensors = {name: file.get_tensor(name).to(wanted.dtype, copy=True) for name, wanted in expected.items()}
    except (SafetensorError, OSError) as error:
        raise TNetError(f"'{path}' is not a valid safetensors file: {reason(error)}.") from None
    broken = [name for name, tensor in tensors.items() if not _is_finite(tensor)]
    if broken:
        raise TNetError(f"'{path}' cannot be used: " + _list_names("with values that are not finite", broken) + ".")
    return tensors


def _check_size(path: Path) -> None:
    try:
        if not path.is_file():
            raise TNetError(f"There is no file '{path}'.")
        size = path.stat().st_size
        with path.open("rb") as file:
            start = file.read(8)
    except OSError as error:
        raise TNetError(f"Cannot read '{path}': {reason(error)}.") from None
    if size > MAX_BYTES[TENSOR_FILE]:
        raise TNetError(f"'{path}' has {size} bytes; at most {MAX_BYTES[TENSOR_FILE]} are accepted.")
    header = struct.unpack("<Q", start)[0] if len(start) == 8 else 0
    if not 2 <= header <= min(_MAX_HEADER, size - 8):
        raise TNetError(f"'{path}' is not a valid safetensors file: its header is missing or too large.")


def _compare(path: Path, found: Mapping[str, Any], expected: Mapping[str, Tensor]) -> None:
    missing = [name for name in expected if name not in found]
    extra = [name for name in found if name not in expected]
    shapes, types = [], []
    for name in (name for name in expected if name in found):
        wanted, part = expected[name], found[name]
        shape, dtype = tuple(part.get_shape()), part.get_dtype()
        if shape != tuple(wanted.shape):
            shapes.append(f"{name} {shape} instead of {tuple(wanted.shape)}")
        if dtype not in (_FLOATING if wanted.is_floating_point() else {"I64"}):
            types.append(f"{name} {dtype}")
    kinds = {"missing": missing, "not part of the model": extra, "of the wrong shape": shapes}
    kinds["of an unsupported type"] = types
    if problems := [_list_names(what, names) for what, names in kinds.items() if names]:
        raise TNetError(f"'{path}' does not fit its configuration: " + "; ".join(problems) + ".")


def _is_finite(tensor: Tensor) -> bool:
    return not tensor.is_floating_point() or bool(torch.isfinite(tensor).all())


def _list_names(what: str, names: Sequence[str]) -> str:
    shown = ", ".join(repr(name)[1:-1][:120] for name in names[:_SHOWN])
    return f"{len(names)} tensor(s) {what} ({shown}{', …' if len(names) > _SHOWN else ''})"
