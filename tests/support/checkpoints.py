"""Constants and helpers around a small checkpoint."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import yaml
from PIL import Image

from tests.support.models import TINY, picture, tiny
from tnet_core.checkpoints import save
from tnet_core.checkpoints.drafting import hash_files

CONFIG = replace(TINY, num_classes=3)
NAMES = ("wren", "robin", "great tit")
EVALUATION = {
    "schema": 1,
    "dataset": {"name": "Garden birds", "split": "test", "size": 120},
    "budgets": [
        {"budget": [0], "top1": 0.61, "top5": 0.95, "flops": 1.1e7},
        {"budget": [1], "top1": 0.7, "top5": 0.97, "flops": 2.2e7},
        {"budget": [3], "top1": 0.69, "flops": 4.4e7},
    ],
}


def save_birds(folder: Path) -> Path:
    """A complete checkpoint with names, provenance and evaluation."""
    provenance = {"recipe": "birds.yaml", "dataset": "Garden birds", "seed": 3, "licence": "Apache-2.0"}
    save(tiny(CONFIG), folder, class_names=NAMES, provenance=provenance)
    (folder / "evaluation.json").write_text(json.dumps(EVALUATION))
    return folder


def save_birds_and_pictures(folder: Path) -> Path:
    """A complete checkpoint, a picture and a file that is none."""
    save_birds(folder / "birds")
    Image.fromarray(picture(90, 120, seed=3)).save(folder / "wren.png")
    (folder / "note.txt").write_text("no picture")
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def entry_fields(folder: Path, **changes: object) -> dict[str, object]:
    """The fields of a registry entry for a folder that lies beside the registry."""
    files = {name: {"sha256": found.sha256, "size": found.size} for name, found in hash_files(folder).items()}
    return {
        "id": "birds",
        "title": "Birds of the garden",
        "description": "A small model",
        "source": {"folder": folder.name},
        "files": files,
        "licence": {"weights": "Apache-2.0", "data": "CC-BY-4.0"},
        "citation": "Nobody yet",
        "numbers": "evaluation.json",
    } | changes


def write_registry(path: Path, *entries: dict[str, object]) -> Path:
    separate = json.loads(json.dumps(entries))  # values used twice would be written as aliases
    path.write_text(yaml.safe_dump({"schema": 1, "checkpoints": separate}, sort_keys=False), encoding="utf-8")
    return path
