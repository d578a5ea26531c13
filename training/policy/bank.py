"""A feature bank: everything a two-level model can see of its images, computed once.

With the features of the thumbnail and of all n x n cells at hand, the worth of any set of looks is a
re-aggregation, without a backbone. Policies can then be trained on the known value of every cell.
Arrays are float16, in memory or in memory-mapped files that are written row by row.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import torch
from torch import Tensor
from tqdm import tqdm

from tnet_core.errors import TNetError, reason
from tnet_core.inference.engine import optimised
from tnet_core.modeling.positional import encode_positions
from tnet_core.modeling.tnet import TNet
from tnet_core.schemas.files import read_json, write_atomically
from training.evaluation.stream import evaluation_mode

MANIFEST_FILE = "bank.json"
_SPREAD_ROWS = 512  # images from which the spread of features is taken


@dataclass(frozen=True)
class BankRows:
    """Some rows of a bank, float32, on the device of the model."""

    features: Tensor  # (B, 1 + n * n, D) V' of the thumbnail and of every cell in raster order
    maps: Tensor  # (B, c, n, n) F of the thumbnail: what the location module reads …
    vectors: Tensor  # (B, D) … and V
    labels: Tensor  # (B,) classes, or (B, classes) their probabilities


class FeatureBank:
    """One row per image, or per view of an image."""

    def __init__(self, arrays: Mapping[str, np.ndarray], shift: Tensor | None = None) -> None:
        self.features, self.maps = arrays["features"], arrays["maps"]
        self.vectors, self.labels = arrays["vectors"], arrays["labels"]
        self._arrays, self._shift = arrays, shift

    def __len__(self) -> int:
        return len(self.labels)

    def rows(self, chosen: Tensor | slice, device: torch.device | str = "cpu") -> BankRows:
        at = chosen.numpy() if isinstance(chosen, Tensor) else chosen
        wide = (torch.from_numpy(np.array(a[at], np.float32)) for a in (self.features, self.maps, self.vectors))
        labels = torch.from_numpy(np.array(self.labels[at]))
        features, *others = (tensor.to(device) for tensor in (*wide, labels))
        return BankRows(features if self._shift is None else features + self._shift.to(device), *others)

    def with_shift(self, shift: Tensor) -> FeatureBank:
        """Return the same bank, made before an additive positional module learned `shift` (1 + n * n, D)."""
        return FeatureBank(self._arrays, shift)

    def with_labels(self, labels: np.ndarray) -> FeatureBank:
        """Return the same looks with other targets."""
        return FeatureBank({**self._arrays, "labels": labels}, self._shift)


def join_rows(parts: Iterable[tuple[FeatureBank, np.ndarray]]) -> FeatureBank:
    """Return a bank of some rows of several banks whose features were not shifted, copied."""
    chosen = list(parts)
    names = ("features", "maps", "vectors", "labels")
    return FeatureBank({name: np.concatenate([getattr(bank, name)[rows] for bank, rows in chosen]) for name in names})


def pick_classes(labels: Tensor) -> Tensor:
    """Return the class of each image, the most probable one where labels are probabilities: (B,)."""
    return labels if labels.ndim == 1 else labels.argmax(1)


def check_two_levels(model: TNet) -> None:
    if model.config.levels != 2:
        raise TNetError(
            f"A feature bank holds every cell of one grid, so it needs a model of two levels; this one has "
            f"{model.config.levels}."
        )


def make_bank(
    model: TNet,
    batches: Iterable[tuple[Tensor, Tensor]],
    count: int,
    *,
    folder: Path | None = None,
    identity: Mapping[str, Any] | None = None,
    quiet: bool = False,
) -> FeatureBank:
    """Make a bank of `count` images from batches of images (B, 3, S, S) and labels (B,) or (B, classes).

    With a folder it is kept there and, when it was made before from the same weights and the same
    data (`identity` describes them), opened instead. The location module may differ: nothing in the
    bank depends on it.
    """
    check_two_levels(model)
    made_from = {"format": 1, "count": count, "weights": digest_weights(model), "data": dict(identity or {})}
    if folder is not None and (folder / MANIFEST_FILE).exists():
        return _open_bank(folder, made_from)
    store = _Store(count, folder)
    bar = tqdm(total=count, desc="feature bank", unit="image", disable=quiet, file=sys.stderr)
    with bar, store, evaluation_mode(model):
        fast = optimised(model)
        for images, labels in batches:
            store.append(_look_everywhere(fast, images.to(model.device)) | {"labels": labels.numpy()})
            bar.update(len(labels))
    bank = FeatureBank(store.open_arrays())
    if folder is not None:  # last: a bank without a manifest is not finished
        text = json.dumps(made_from, indent=1)
        write_atomically(folder / MANIFEST_FILE, lambda path: path.write_text(text, encoding="utf-8"))
    return bank


def compute_positional_shift(model: TNet) -> Tensor:
    """Return what an additive positional module adds to the thumbnail and to every cell: (1 + n * n, D)."""
    assert model.positional is not None and model.positional.kind == "additive"
    cells = torch.arange(model.config.cells, device=model.device)
    below = torch.stack([cells // model.config.grid, cells % model.config.grid, torch.ones_like(cells)], dim=1)
    positions = torch.cat([torch.zeros_like(below[:1]), below])
    return model.positional.linear(encode_positions(positions, model.positional.length))


def measure_spread(bank: FeatureBank) -> Tensor:
    """Return the standard deviation of each feature over images and looks: (D,)."""
    features = bank.rows(slice(0, _SPREAD_ROWS)).features
    return features.flatten(0, 1).std(0).clamp_min(1e-3)


def digest_weights(model: TNet) -> str:
    """Return sha256 of the configuration and of all weights but those of the policy."""
    found = hashlib.sha256(json.dumps(model.config.to_dict(), sort_keys=True).encode())
    for name, tensor in sorted(model.state_dict().items()):
        if not name.startswith(("location.", "reward_baseline")):
            found.update(name.encode() + tensor.detach().cpu().contiguous().numpy().tobytes())
    return found.hexdigest()


def _look_everywhere(model: TNet, images: Tensor) -> dict[str, np.ndarray]:
    maps: list[Tensor] = []  # that the location module reads
    assert model.location is not None
    handle = model.location.register_forward_pre_hook(lambda _, given: maps.append(given[0]))
    try:
        out = model.forward_train(images, model.config.cells)
    finally:
        handle.remove()
    found = {"features": out.features, "maps": maps[0], "vectors": out.vectors[:, 0]}
    stored = {name: value.cpu().half().numpy() for name, value in found.items()}
    if not all(np.isfinite(value).all() for value in stored.values()):
        raise TNetError("Features of this model are not finite, or too large for half precision: no bank can be made.")
    return stored


class _Store:
    """Arrays that grow row by row to a known length, in memory or in .npy files.

    Files are written, not mapped, while they grow: a full disk then is an error and not a crash.
    """

    def __init__(self, count: int, folder: Path | None) -> None:
        self._count, self._folder, self._filled = count, folder, 0
        self._arrays: dict[str, np.ndarray] = {}
        self._files: dict[str, BinaryIO] = {}

    def __enter__(self) -> _Store:
        return self

    def __exit__(self, *_: object) -> None:
        for file in self._files.values():
            file.close()

    def append(self, rows: Mapping[str, np.ndarray]) -> None:
        for name, values in rows.items():
            if self._folder is None:
                target = self._arrays.setdefault(name, np.empty((self._count, *values.shape[1:]), values.dtype))
                target[self._filled : self._filled + len(values)] = values
            else:
                self._write(self._folder, name, values)
        self._filled += len(rows["labels"])

    def _write(self, folder: Path, name: str, values: np.ndarray) -> None:
        try:
            if name not in self._files:
                folder.mkdir(parents=True, exist_ok=True)
                self._files[name] = (folder / f"{name}.npy").open("wb")
                header = {"descr": values.dtype.str, "fortran_order": False, "shape": (self._count, *values.shape[1:])}
                np.lib.format.write_array_header_1_0(self._files[name], header)
            self._files[name].write(values.tobytes())
        except OSError as error:
            raise TNetError(f"Cannot write the feature bank in '{folder}': {reason(error)}.") from None

    def open_arrays(self) -> Mapping[str, np.ndarray]:
        if self._filled != self._count:
            raise TNetError(f"A feature bank of {self._count} images was announced, but {self._filled} came.")
        return self._arrays if self._folder is None else _map_arrays(self._folder)


def _map_arrays(folder: Path) -> dict[str, np.ndarray]:
    names = ("features", "maps", "vectors", "labels")
    try:
        return {name: np.load(folder / f"{name}.npy", mmap_mode="r", allow_pickle=False) for name in names}
    except (OSError, ValueError) as error:
        raise TNetError(
            f"The feature bank in '{folder}' is damaged ({reason(error)}); remove that folder to make it again."
        ) from None


def _open_bank(folder: Path, expected: Mapping[str, Any]) -> FeatureBank:
    found = read_json(folder / MANIFEST_FILE, 1 << 20)
    known = found if isinstance(found, dict) else {}
    for name, value in json.loads(json.dumps(expected)).items():
        if known.get(name) != value:
            what = {"weights": "other weights", "data": "other data", "count": "other data"}.get(
                name, "another version"
            )
            raise TNetError(f"The feature bank in '{folder}' was made with {what}; remove it or name another folder.")
    bank = FeatureBank(_map_arrays(folder))
    if len(bank) != expected["count"]:
        raise TNetError(f"The feature bank in '{folder}' is damaged; remove that folder to make it again.")
    return bank
