"""What a run leaves behind: `recipe.yaml`, metrics, states while it runs, and `checkpoint/`."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import tnet_core as tn
from tnet_core.checkpoints.files import reason, write_atomically
from tnet_core.errors import TNetError
from tnet_core.modeling.tnet import TNet
from training.data.sample import ImageDataset
from training.evaluation.output import source_commit
from training.recipes.reading import from_mapping, to_mapping, to_text
from training.recipes.recipe import Recipe
from training.run_state import remove_leftovers, states

RECIPE_FILE = "recipe.yaml"
CHECKPOINT_FOLDER = "checkpoint"

# What a continued run may change: none of it enters the arithmetic.
_FREE = {
    "about", "paper", "validate_every", "validation_images", "save_minutes", "provenance",
    "data.root", "data.cache", "data.workers",
}  # fmt: skip


def check_folder(out: Path, *, resume: bool) -> None:
    """Refuse to mix two runs in one folder; nothing is written."""
    try:
        begun, finished = bool(states(out)), (out / CHECKPOINT_FOLDER).exists()
        used = begun or finished or (out / RECIPE_FILE).exists()
    except OSError as error:
        raise TNetError(f"Cannot read '{out}': {reason(error)}.") from None
    if used and not resume:
        hint = "add --resume to continue it, or choose another --out" if begun else "choose another --out"
        raise TNetError(f"'{out}' already holds a run; {hint}.")
    if finished and not begun:
        raise TNetError(f"'{out}' holds a checkpoint but no state to continue from; choose another --out.")


def make_folder(out: Path) -> None:
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise TNetError(f"Cannot write into '{out}': {reason(error)}.") from None
    remove_leftovers(out)


def write_recipe(out: Path, recipe: Recipe) -> None:
    write_atomically(out / RECIPE_FILE, lambda path: path.write_text(to_text(recipe)))


def fingerprint(dataset: ImageDataset) -> dict[str, int]:
    """What tells one training split from another, without decoding an image."""
    labels = np.asarray(dataset.labels, dtype=np.int64)
    return {
        "images": len(dataset),
        "labels": zlib.crc32(labels.tobytes()),
        "classes": zlib.crc32("\n".join(dataset.class_names).encode()),
    }


def refuse_changes(recipe: Recipe, data: dict[str, int], before: dict[str, Any]) -> None:
    """A run continues under the recipe and on the data it began with; `before` are the numbers of its state."""
    # Read back first: a state may be older than some key, which then has its default.
    old, new = (dict(_flat(to_mapping(made))) for made in (from_mapping(before["recipe"]), recipe))
    for name in sorted(old.keys() | new.keys()):
        if name not in _FREE and name.partition(".")[0] not in _FREE and old.get(name) != new.get(name):
            raise TNetError(
                f"The run cannot be continued with another '{name}' ({new.get(name)!s:.60} instead of "
                f"{old.get(name)!s:.60}); start a new one in another folder."
            )
    if before["data"] != data:
        raise TNetError(
            f"The run began with other training data ({before['data']['images']} images, now {data['images']}); "
            "a run continues on the same images, classes and labels."
        )


def _flat(values: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in values.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{name}.")
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
        **({"commit": commit} if (commit := source_commit()) else {}),
        **recipe.provenance,
        **details,
    }
    return tn.save(model, folder, class_names=class_names, provenance=provenance)
