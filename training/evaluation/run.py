"""`evaluate`: a model and a labelled data set to the content of `evaluation.json`.

All images of a split go through the model, shared among processes, to one table of numbers per image; every section of
the file is computed from that table.
"""

from __future__ import annotations

import re
import time
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tnet_core.errors import TNetError
from tnet_core.modeling.tnet import TNet
from tnet_core.schemas.evaluation import SCHEMA
from training.data.sample import ImageDataset
from training.evaluation.calibration import report_calibration
from training.evaluation.compare import pack_results
from training.evaluation.equivariance import report_equivariance
from training.evaluation.learned_policy import find_typical_images, report_heat_map
from training.evaluation.measure import Measurer, Results, choose_calibrated, choose_stopping_budget
from training.evaluation.output import describe_run
from training.evaluation.plan import Options, Plan, make_plan
from training.evaluation.policies import average_probabilities, sum_probabilities
from training.evaluation.report import report_accuracies
from training.evaluation.stopping import compute_stopping_curves, report_rule
from training.evaluation.stream import (
    Batch,
    evaluation_mode,
    gather_results,
    load_batches,
    share_indices,
    spread_indices,
)
from training.evaluation.timing import MAX_TIMED_IMAGES, time_budgets

if TYPE_CHECKING:
    from accelerate import Accelerator


_MAX_NAMED = 20  # unreadable files listed
Progress = Callable[[str, int, int], None]  # what is done, images done, images in all (of this process)


def evaluate(
    model: TNet,
    dataset: ImageDataset,
    options: Options | None = None,
    progress: Progress | None = None,
    *,
    accelerator: Accelerator | None = None,
    command: list[str] | None = None,
    collected: Collected | None = None,
) -> dict[str, Any]:
    """Measure a model; `dataset` must have its labels (see `training.evaluation.classes.fit_to`).

    `collected` is what was measured of the images already, if it was, for instance part by part by several models.

    `progress` is called with ("thumbnails" or "looks", images done, images in all) and may raise to
    cancel. Nothing is written. With an `accelerator` every process gets the same result.
    """
    options = options or Options()
    if len(dataset) == 0:
        raise TNetError(f"There are no images in the split '{dataset.split}' of {dataset.name}.")
    config = model.config
    planned = make_plan(config, options, fast=model.device.type == "cuda")
    found = collected or collect(model, dataset, planned, options, progress, accelerator)
    results, seconds = found.results, found.seconds
    content: dict[str, Any] = {"schema": SCHEMA, "dataset": _describe_data(dataset, found)}
    content |= report_accuracies(results, config, planned, options)
    content["trained_budget"] = list(planned.trained)
    is_halved = len(results["index"]) > 1  # cross-fitting chooses on one half and measures on the other
    if is_halved:
        content["calibration"] = report_calibration(results, choose_calibrated(planned))
    if not config.is_baseline:
        content["stopping"] = compute_stopping_curves(results, config, choose_stopping_budget(planned))
        if is_halved and config.levels == 2 and planned.budgets[-1][0]:
            content["stopping"] |= report_rule(results, config, options)
        content["heat_map"] = report_heat_map(results, planned, config.grid, model.class_names)
        content["typical"] = find_typical_images(results)
        if found.means:
            content["heat_map"]["mean_policy"] = [np.round(mean, 6).tolist() for mean in found.means]
    if planned.equivariance:
        content["equivariance"] = report_equivariance(results, options)
    processes = 1 if accelerator is None else accelerator.num_processes
    if options.timing and processes == 1:  # several would slow one another down
        content["timing"] = _add_timing(model, dataset, results["index"], content["budgets"])
    content["per_image"] = pack_results(results, planned.budgets)
    content["run"] = describe_run(model.device, processes, command) | {
        "model": clean_line(model.source),
        "precision": model.features.precision,
        "seed": options.seed,
        "random_draws": options.draws if "random" in planned.policies else 0,
        "limit": options.limit,
        "batch_size": planned.batch_size,
        "every_cell": planned.is_whole,
        "seconds": round(seconds, 1),
        "images_per_second": round(len(results["index"]) / seconds, 2),
    }
    return content


def _add_timing(
    model: TNet, dataset: ImageDataset, indices: np.ndarray, entries: list[dict[str, Any]]
) -> dict[str, Any]:
    """Complete the entries of the budgets and return how they were timed."""
    images = [dataset[int(indices[at])].image for at in spread_indices(len(indices), MAX_TIMED_IMAGES)]
    timings, about = time_budgets(model, images, [tuple(entry["budget"]) for entry in entries])
    for entry in entries:
        entry.update(timings.get(tuple(entry["budget"]), {}))
    return about


def _describe_data(dataset: ImageDataset, found: Collected) -> dict[str, Any]:
    results = found.results
    about: dict[str, Any] = {
        "name": clean_line(dataset.name),
        "split": clean_line(dataset.split),
        "size": len(results["index"]),
        "classes": len(np.unique(results["label"])),
        # tells whether two files were measured on the same images
        "fingerprint": f"{zlib.crc32(np.sort(results['crc']).astype('>u4').tobytes()):08x}",
    }
    if found.unreadable:
        about["unreadable"] = {
            "count": len(found.unreadable),
            "first": [_strip_folders(s) for s in found.unreadable[:_MAX_NAMED]],
        }
    return about


def _strip_folders(sentence: str) -> str:
    """Return the sentence without the folders of absolute paths."""
    return re.sub(r"(?<![\w.…])(?:/[^/'\"\n]+)+/(?=[^/\s])", "…/", sentence)[:300]


def clean_line(text: str) -> str:
    """Return a name as a line that can be printed and stored."""
    printable = "".join(c if c.isprintable() else " " for c in text).strip()
    return printable[:200] or "unnamed"


@dataclass(frozen=True)
class Collected:
    results: Results  # ordered by index
    means: list[np.ndarray]  # mean location probability per depth; empty for a baseline or if not asked for
    unreadable: list[str]  # one sentence each
    seconds: float  # it took


def join_collected(parts: list[Collected]) -> Collected:
    """Return the measurements of several parts of a data set as one; each image belongs to one part."""
    return Collected(
        join_tables([part.results for part in parts]),
        [np.mean(depth, axis=0) for depth in zip(*(part.means for part in parts), strict=True)],
        [sentence for part in parts for sentence in part.unreadable],
        sum(part.seconds for part in parts),
    )


def collect(
    model: TNet,
    dataset: ImageDataset,
    plan: Plan,
    options: Options,
    progress: Progress | None = None,
    accelerator: Accelerator | None = None,
    indices: list[int] | None = None,
) -> Collected:
    """Measure every image, or those of `indices`, and return all results on every process.

    An error in one process ends all of them with its sentence.
    """
    began = time.perf_counter()
    indices = spread_indices(len(dataset), options.limit) if indices is None else indices
    with evaluation_mode(model), share_indices(indices, accelerator) as mine:

        def stream(what: str, batch_size: int) -> Iterator[Batch]:
            done = 0
            for batch in load_batches(
                dataset, mine, model.config, batch_size, options.workers, skip_unreadable=options.skip_unreadable
            ):
                yield batch
                done += batch.size + len(batch.unreadable)
                if progress is not None:
                    progress(what, done, len(mine))

        means: list[np.ndarray] = []
        if "mean" in plan.policies:
            totals = gather_results(
                lambda: sum_probabilities(model, stream("thumbnails", plan.first_batch)), accelerator
            )
            means = average_probabilities(np.sum(totals, axis=0))
        measurer = Measurer(model, plan, options.seed, options.draws, means)
        parts = gather_results(lambda: _measure_all(measurer, stream("looks", plan.batch_size)), accelerator)
    tables = [table for table, _ in parts if table]
    unreadable = [sentence for _, sentences in parts for sentence in sentences]
    if not tables:
        raise TNetError(f"No image of {dataset.name} could be read: {unreadable[0] if unreadable else 'it has none.'}")
    return Collected(join_tables(tables), means, unreadable, time.perf_counter() - began)


def _measure_all(measurer: Measurer, stream: Iterable[Batch]) -> tuple[Results, list[str]]:
    tables, unreadable = [], []
    for batch in stream:
        unreadable += batch.unreadable
        if batch.size:
            tables.append(measurer(batch))
    return join_tables(tables) if tables else {}, unreadable


def join_tables(tables: list[Results]) -> Results:
    whole = {key: np.concatenate([table[key] for table in tables]) for key in tables[0]}
    order = np.argsort(whole["index"], kind="stable")
    return {key: values[order] for key, values in whole.items()}
