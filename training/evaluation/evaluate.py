"""`evaluate`: a model and a labelled data set to the content of `evaluation.json`."""

from __future__ import annotations

import re
import time
import zlib
from typing import TYPE_CHECKING, Any

import numpy as np

from tnet_core.checkpoints.evaluation import SCHEMA
from tnet_core.errors import TNetError
from tnet_core.modeling.tnet import TNet
from training.data.sample import ImageDataset
from training.evaluation.collect import Collected, Progress, collect
from training.evaluation.equivariance import equivariance
from training.evaluation.heatmap import heat_map, typical_images
from training.evaluation.measure import stopping_budget
from training.evaluation.options import Options, plan
from training.evaluation.per_image import pack
from training.evaluation.provenance import run_information
from training.evaluation.report import report
from training.evaluation.stopping import stopping_curves
from training.evaluation.stream import spread
from training.evaluation.timing import IMAGES, time_budgets

if TYPE_CHECKING:
    from accelerate import Accelerator

_NAMED = 20  # unreadable files listed


def evaluate(
    model: TNet,
    dataset: ImageDataset,
    options: Options | None = None,
    progress: Progress | None = None,
    *,
    accelerator: Accelerator | None = None,
    command: list[str] | None = None,
) -> dict[str, Any]:
    """Measure a model; `dataset` must have its labels (see `training.evaluation.classes.fit_to`).

    `progress` is called with ("thumbnails" or "looks", images done, images in all) and may raise to
    cancel. Nothing is written. With an `accelerator` every process gets the same result.
    """
    options = options or Options()
    if len(dataset) == 0:
        raise TNetError(f"There are no images in the split '{dataset.split}' of {dataset.name}.")
    config = model.config
    planned = plan(config, options, fast=model.device.type == "cuda")
    began = time.perf_counter()
    found = collect(model, dataset, planned, options, progress, accelerator)
    seconds = time.perf_counter() - began
    results = found.results
    content: dict[str, Any] = {"schema": SCHEMA, "dataset": _about_data(dataset, found)}
    content |= report(results, config, planned, options)
    content["trained_budget"] = list(planned.trained)
    if not config.is_baseline:
        content["stopping"] = stopping_curves(results, config, stopping_budget(planned))
        content["heat_map"] = heat_map(results, planned, config.grid, model.class_names)
        content["typical"] = typical_images(results)
        if found.means:
            content["heat_map"]["mean_policy"] = [np.round(mean, 6).tolist() for mean in found.means]
    if planned.equivariance:
        content["equivariance"] = equivariance(results, options)
    processes = 1 if accelerator is None else accelerator.num_processes
    if options.timing and processes == 1:  # several would slow one another down
        content["timing"] = _timed(model, dataset, results["index"], content["budgets"])
    content["per_image"] = pack(results, planned.budgets)
    content["run"] = run_information(model.device, processes, command) | {
        "model": model.source,
        "seed": options.seed,
        "random_draws": options.draws if "random" in planned.policies else 0,
        "limit": options.limit,
        "batch_size": planned.batch_size,
        "every_cell": planned.whole,
        "seconds": round(seconds, 1),
        "images_per_second": round(len(results["index"]) / seconds, 2),
    }
    return content


def _timed(model: TNet, dataset: ImageDataset, indices: np.ndarray, entries: list[dict[str, Any]]) -> dict[str, Any]:
    """Completes the entries of the budgets and tells how."""
    images = [dataset[int(indices[at])].image for at in spread(len(indices), IMAGES)]
    told, about = time_budgets(model, images, [tuple(entry["budget"]) for entry in entries])
    for entry in entries:
        entry.update(told.get(tuple(entry["budget"]), {}))
    return about


def _about_data(dataset: ImageDataset, found: Collected) -> dict[str, Any]:
    results = found.results
    about: dict[str, Any] = {
        "name": _line(dataset.name),
        "split": _line(dataset.split),
        "size": len(results["index"]),
        "classes": len(np.unique(results["label"])),
        # tells whether two files were measured on the same images
        "fingerprint": f"{zlib.crc32(np.sort(results['crc']).astype('>u4').tobytes()):08x}",
    }
    if found.unreadable:
        about["unreadable"] = {
            "count": len(found.unreadable),
            "first": [_shortened(s) for s in found.unreadable[:_NAMED]],
        }
    return about


def _shortened(sentence: str) -> str:
    """Without the folders of absolute paths."""
    return re.sub(r"(?<![\w.…])(?:/[^/'\"\n]+)+/(?=[^/\s])", "…/", sentence)[:300]


def _line(text: str) -> str:
    printable = "".join(c if c.isprintable() else " " for c in text).strip()
    return printable[:200] or "unnamed"
