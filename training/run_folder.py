"""What a run leaves behind: `recipe.yaml`, metrics, states while it runs, and `checkpoint/`."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import tnet_core as tn
from tnet_core.checkpoints.files import reason, write_atomically
from tnet_core.errors import TNetError
from tnet_core.tnet import TNet
from training.recipe import Recipe
from training.recipe_file import to_mapping, to_text
from training.run_state import states

RECIPE_FILE = "recipe.yaml"
CHECKPOINT_FOLDER = "checkpoint"

# What a continued run may change: none of it enters the arithmetic.
_FREE = {"about", "paper", "validate_every", "validation_images", "save_minutes", "provenance"}
_FREE_DATA = {"root", "cache", "workers", "boxes"}


def prepare_folder(out: Path, *, resume: bool) -> None:
    """Create the folder of a run; refuse to mix two runs in one."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        used = (out / RECIPE_FILE).exists() or (out / CHECKPOINT_FOLDER).exists() or bool(states(out))
    except OSError as error:
        raise TNetError(f"Cannot write into '{out}': {reason(error)}.") from None
    if used and not resume:
        raise TNetError(f"'{out}' already holds a run; add --resume to continue it, or choose another --out.")


def write_recipe(out: Path, recipe: Recipe) -> None:
    write_atomically(out / RECIPE_FILE, lambda path: path.write_text(to_text(recipe)))


def refuse_changes(recipe: Recipe, before: dict[str, Any]) -> None:
    """A run continues under the recipe it began with."""
    now = to_mapping(recipe)
    for name in sorted(now.keys() | before.keys()):
        old, new = before.get(name), now.get(name)
        if name == "data" and isinstance(old, dict) and isinstance(new, dict):
            old = {key: value for key, value in old.items() if key not in _FREE_DATA}
            new = {key: value for key, value in new.items() if key not in _FREE_DATA}
        if name not in _FREE and old != new:
            raise TNetError(
                f"The run cannot be continued with another '{name}' ({_short(new)} instead of {_short(old)}); "
                "start a new one in another folder."
            )


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 60 else text[:57] + "…"


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


def source_commit() -> str | None:
    """The commit of the code that runs, marked when files were changed since."""
    root = Path(__file__).parents[1]
    try:
        found = [
            subprocess.run(["git", "-C", str(root), *command], capture_output=True, text=True, timeout=10, check=True)
            for command in (["rev-parse", "HEAD"], ["status", "--porcelain", "--untracked-files=no"])
        ]
    except (OSError, subprocess.SubprocessError):
        return None
    return found[0].stdout.strip() + ("+changes" if found[1].stdout.strip() else "")
