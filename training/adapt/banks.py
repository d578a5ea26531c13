"""The feature banks of both parts of the photographs: every look that a policy could choose, taken once."""

from __future__ import annotations

import sys
import time
import zlib
from pathlib import Path

import torch

from tnet_core.inference.optimise.folding import folded
from tnet_core.modeling.tnet import TNet
from training.adapt.full_image import stream
from training.adapt.photographs import Photographs
from training.data.dataset import FileDataset
from training.engine.run_folder import fingerprint
from training.evaluation.stream import evaluating
from training.policy.bank import MANIFEST_FILE, FeatureBank, make_bank

_AT_ONCE = 8  # images; each has n * n + 1 crops


def make_banks(
    model: TNet, photographs: Photographs, side: int | None, folder: Path | None, *, workers: int, quiet: bool
) -> dict[str, FeatureBank]:
    """'train' and 'validation'; targets are full-image predictions at `side`, or the labels where it is None.

    With a folder the banks stay there and are opened again when model and images are the same.
    """
    fast = folded(model)  # for the targets
    parts = {"train": photographs.train, "validation": photographs.held_out}
    missing = [data for name, data in parts.items() if folder is None or not (folder / name / MANIFEST_FILE).exists()]
    if missing and not quiet:
        print(_estimate(fast, sum(map(len, missing)), side), file=sys.stderr)
    return {
        name: make_bank(
            model,
            stream(fast, dataset, side, _AT_ONCE, workers),
            len(dataset),
            folder=None if folder is None else folder / name,
            identity=_identity(dataset, side),
            quiet=quiet,
        )
        for name, dataset in parts.items()
    }


def _identity(dataset: FileDataset, side: int | None) -> dict[str, object]:
    names = "\n".join(entry.name for entry in dataset.entries)
    return {
        "name": dataset.name,
        "split": dataset.split,
        **fingerprint(dataset),
        "files": zlib.crc32(names.encode()),
        "full_resolution": side,
    }


def _estimate(model: TNet, images: int, side: int | None) -> str:
    """'About 9 minutes …', from the crops of one image."""
    base, cells = model.config.base_resolution, model.config.cells
    crops = torch.zeros((cells + 1, 3, base, base), device=model.device).to(memory_format=torch.channels_last)
    with evaluating(model):
        model.features(crops[:2])  # the first call is slower
        began = time.perf_counter()
        model.features(crops)
        seconds = time.perf_counter() - began
    whole = 0.0 if side is None else (side / base) ** 2 / (cells + 1)
    minutes = images * seconds * (1 + whole) / 60
    return (
        f"{images} images with {cells + 1} crops each, {(cells + 1) / seconds:.0f} crops a second on this machine: "
        f"about {minutes:.1f} minutes for the features, then a few for learning and measuring."
    )
