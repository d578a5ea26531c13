"""What bfloat16 costs in accuracy: every bundled checkpoint in both precisions on the same labelled images.

python -m benchmarks.precision FOLDER [--only CHECKPOINT …] [--limit N] [--write]

FOLDER holds `cub200`, `pets37` and `imagenet_val`. Measured are images that training never saw: the validation splits
of the recipes, and single files named after their class (`CLASS_NUMBER.avif`). Looks: as many as in training.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

import tnet_core as tn
from benchmarks.machine import machine
from benchmarks.tables import markdown, write_tables
from tnet_core.checkpoints.card import card_of
from tnet_core.command import run_command
from training.evaluate import open_data
from training.evaluation.classes import fit_to

# Checkpoint -> recipe and its folder; no recipe: a folder of single files.
MEASURED_ON: dict[str, tuple[str | None, str | None]] = {
    "tnet-lite0-cub": ("lite0-cub", "cub200"),
    "tnet-lite0-cub-reinforce": ("lite0-cub", "cub200"),
    "en-lite0-cub-160": ("lite0-cub-en-160", "cub200"),
    "en-lite0-cub-448": ("lite0-cub-en-448", "cub200"),
    "tnet-lite0-pets": ("lite0-pets", "pets37"),
    "tnet-lite0-imagenet": (None, "imagenet_val"),
    "tnet-needles": ("needles", None),
}


def open_images(model: tn.TNet, name: str, folder: Path, limit: int) -> Iterator[tuple[Any, int]]:
    """Give images and labels, evenly spread over the split."""
    recipe, below = MEASURED_ON[name]
    if recipe is None:
        assert below is not None
        files = sorted((folder / below).iterdir())
        classes = sorted({file.name.partition("_")[0] for file in files})
        if len(classes) != model.config.num_classes:
            raise tn.TNetError(f"'{folder / below}' has images of {len(classes)} classes, not of all.")
        for file in files[:: -(-len(files) // limit)]:
            yield file, classes.index(file.name.partition("_")[0])
        return
    seed = card_of(model).provenance.get("seed")
    root = None if below is None else str(folder / below)
    dataset = fit_to(model, open_data(root, recipe, None, None, seed=seed).dataset)
    for index in np.unique(np.linspace(0, len(dataset) - 1, min(limit, len(dataset))).round().astype(int)):
        sample = dataset[int(index)]
        yield sample.image, sample.label


def compare(name: str, folder: Path, limit: int) -> dict[str, Any]:
    """Return the accuracies of both precisions, and how often answers and looks are the same."""
    model = tn.load(name, device="cpu")
    both = tn.optimised(model), tn.optimised(model, precision="bfloat16")
    if both[1].features.precision != "bfloat16":
        raise tn.TNetError("This processor has no bfloat16; measure on one that has.")
    right, same_answer, same_looks, apart = np.zeros(2), [], [], []
    for image, label in tqdm(open_images(model, name, folder, limit), desc=name, unit="image", leave=False):
        traces = [tn.traverse(copy, image) for copy in both]
        logits = [trace.logits() for trace in traces]
        right += [int(values.argmax()) == label for values in logits]
        same_answer.append(logits[0].argmax() == logits[1].argmax())
        looks = [{look.path for look in trace.locations} for trace in traces]
        same_looks.append(len(looks[0] & looks[1]) / max(len(looks[0]), 1))
        apart.append(np.abs(logits[0] - logits[1]).max())
    count = len(apart)
    return {
        "checkpoint": name, "images": count, "looks": len(traces[0].locations), "float32": float(right[0] / count),
        "bfloat16": float(right[1] / count), "same_answer": float(np.mean(same_answer)),
        "same_looks": float(np.mean(same_looks)), "logit_difference": float(np.median(apart)),
    }  # fmt: skip


def make_row(found: dict[str, Any]) -> tuple[str, ...]:
    """Return a line of the table."""
    shares = [f"{100 * found[key]:.1f} %" for key in ("float32", "bfloat16", "same_answer")]
    looks = f"{100 * found['same_looks']:.1f} %" if found["looks"] else "–"
    return (found["checkpoint"], str(found["images"]), str(found["looks"]), *shares, looks,
            f"{found['logit_difference']:.2f}")  # fmt: skip


def main(argv: list[str] | None = None) -> int | None:
    """Run the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.precision", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="holds cub200, pets37 and imagenet_val")
    parser.add_argument("--only", nargs="+", choices=MEASURED_ON, default=list(MEASURED_ON), metavar="CHECKPOINT")
    parser.add_argument("--limit", type=int, default=1000, help="images per checkpoint (default %(default)s)")
    parser.add_argument("--write", action="store_true", help="put the table into docs/speed.md")
    options = parser.parse_args(argv)
    if options.limit < 1:
        raise tn.TNetError("At least one image must be measured.")
    if options.write and len(options.only) < len(MEASURED_ON):
        raise tn.TNetError("The table is written from one whole run: leave out --only.")
    rows = [make_row(compare(name, options.folder, options.limit)) for name in options.only]
    head = ("checkpoint", "images", "looks", "float32", "bfloat16", "same answer", "same looks",
            "largest difference of a logit, median")  # fmt: skip
    print(table := markdown(head, rows))
    if options.write:
        where = machine()
        write_tables("docs/speed.md", "precision", f"Measured {where['date']} on an {where['processor']}.", table)
    return None


if __name__ == "__main__":
    sys.exit(run_command(main))
