"""A task that a tiny model learns in seconds, in memory and as class folders, and a recipe for it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from training.data.sample import Sample

ROOT = Path(__file__).parents[2]
CLASSES = ("amber", "blue", "cyan", "dun", "ecru", "fawn", "green")


def coloured(index: int, seed: int = 0, side: int = 96) -> tuple[np.ndarray, int]:
    """Noise with one square whose colour is the class: (side, side, 3) uint8 and the label."""
    generator = np.random.default_rng([seed, index])
    label = index % len(CLASSES)
    image = generator.integers(90, 166, (side, side, 3), dtype=np.uint8)
    y, x = generator.integers(0, side - 32, 2)
    image[y : y + 32, x : x + 32] = np.random.default_rng(label).integers(0, 256, 3)
    return image, label


class Colours:
    """The task in memory."""

    name = "colours"

    def __init__(self, split: str = "train", size: int = 56, classes: Sequence[str] = CLASSES, side: int = 96) -> None:
        self.split, self._size, self._side = split, size, side
        self.class_names = tuple(classes)
        self.labels = [index % len(self.class_names) for index in range(size)]

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, index: int) -> Sample:
        image, _ = coloured(index, seed=0 if self.split == "train" else 1, side=self._side)
        return Sample(image, self.labels[index], f"{self.split}/{index}")


def write_folders(root: Path, per_class: int = 8) -> Path:
    """The task as root/train/<class>/*.png and root/validation/<class>/*.png."""
    for seed, split in enumerate(("train", "validation")):
        for index in range(per_class * len(CLASSES)):
            image, label = coloured(index, seed)
            folder = root / split / CLASSES[label]
            folder.mkdir(parents=True, exist_ok=True)
            cv2.imwrite(str(folder / f"{index:03d}.png"), image[:, :, ::-1])
    return root


def recipe_values(**changes: Any) -> dict[str, Any]:
    """A recipe for the task as plain values; `changes` replace top-level entries."""
    return {
        "epochs": 2,
        "batch_size": 14,
        "model": {
            "config": {
                "backbone": "tf_efficientnet_b0", "backbone_scale": [0.25, 0.25], "num_classes": len(CLASSES),
                "input_size": 96, "base_resolution": 48, "grid": 3, "cell_fraction": 0.5, "budget": [2],
                "location_block": "blocks.2.0", "location_rows": [1, 2, 4],
            }
        },
        "data": {"kind": "folder", "workers": 0},
        "optim": {"lr": 0.002, "schedule": "constant"},
    } | changes  # fmt: skip


def write_recipe_file(path: Path, **changes: Any) -> Path:
    path.write_text(json.dumps({"name": "tiny", **recipe_values(**changes)}))
    return path


def run_module(*arguments: str, timeout: float = 240, launch: Sequence[str] = ()) -> subprocess.CompletedProcess[str]:
    """Run `python -m ARGUMENTS` (or under `accelerate launch LAUNCH`) from the project's folder."""
    head = [sys.executable, *(["-m", "accelerate.commands.launch", *launch] if launch else [])]
    return subprocess.run(
        [*head, "-m", *arguments], capture_output=True, text=True, timeout=timeout, cwd=ROOT, env=quiet_environment()
    )


def quiet_environment() -> dict[str, str]:
    """One thread: the order of sums, and so the last digits, must not depend on the machine's load."""
    return os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}


def metrics(run: Path, kind: str = "train") -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    return [line for line in lines if line["kind"] == kind]
