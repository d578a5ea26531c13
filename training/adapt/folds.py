"""Cross-fitted measurements: every labelled photograph by a model that learned without it.

The photographs are divided into parts by the crc32 of their names. For each part a model learns from the others, as the
shipped one does from all but the held-out tenth, and is measured on that part: as they are, and displaced. What is
reported belongs to the way of learning and to all photographs, not to one model; the split's name says so.
"""

from __future__ import annotations

import copy
import zlib
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

import tnet_core as tn
from tnet_core.modeling.tnet import TNet
from training.adapt.photographs import Photographs
from training.adapt.pretrained import AdaptOptions
from training.data.dataset import FileDataset
from training.data.displaced import DisplacedView
from training.data.sample import DatasetView, ImageDataset
from training.evaluation.output import ProgressBar
from training.evaluation.plan import Options, make_plan
from training.evaluation.report import report_accuracies
from training.evaluation.run import Collected, collect, evaluate, join_collected
from training.policy.bank import FeatureBank, join_rows

Learn = Callable[[TNet, dict[str, FeatureBank]], object]  # changes the model
DISPLACED_ABOUT = (
    "The same photographs at 40 to 60 % of the side, anywhere on a canvas made of another one, blurred; measured in "
    "the same way."
)


def find_part(name: str, folds: int) -> int:
    """Return the part that a photograph belongs to, by its name alone."""
    return zlib.crc32(name.encode()) % folds


def learn_folds(
    untouched: TNet, photographs: Photographs, banks: dict[str, FeatureBank], options: AdaptOptions, learn: Learn
) -> list[TNet]:
    """Return one model per part, learned from the photographs of the other parts and from those without labels."""
    names = {"train": photographs.train, "validation": photographs.held_out}
    views = 1 + options.displaced
    models = []
    for part in range(options.folds):
        rows: dict[bool, list[tuple[FeatureBank, np.ndarray]]] = {True: [], False: []}
        for which, dataset in names.items():
            own = np.array([find_part(entry.name, options.folds) == part for entry in dataset.entries] * views)
            more = len(banks[which]) - len(own)  # rows without labels, at the end: always learned from
            left_out = np.concatenate([own, np.zeros(more, bool)])
            for kept_back in (False, True):
                rows[kept_back].append((banks[which], np.flatnonzero(left_out == kept_back)))
        model = copy.deepcopy(untouched)
        learn(model, {"train": join_rows(rows[False]), "validation": join_rows(rows[True])})
        models.append(model.eval())
    return models


def evaluate_folds(
    models: list[TNet],
    shipped: TNet,
    photographs: Photographs,
    options: AdaptOptions,
    command: list[str] | None,
    *,
    quiet: bool,
) -> dict[str, Any]:
    """Return the evaluation of all labelled photographs as they are, with a section 'displaced'.

    Times are those of the model that is shipped.
    """
    dataset = join_photographs(photographs)
    parts = [find_part(entry.name, len(models)) for entry in dataset.entries]
    fast = [tn.optimised(model) for model in models]
    chosen = Options(seed=options.seed, workers=options.workers)
    named = DatasetView(dataset, split=f"{len(models)}-fold cross-fitted, as they are")
    found = _collect_parts(fast, parts, named, chosen, quiet=quiet)
    content = evaluate(tn.optimised(shipped), named, chosen, command=command, collected=found)
    if options.displaced:
        # view 0, which nobody learns from; every cell, to compare few looks with all of them
        moved = DisplacedView(dataset, shipped.config.input_size, 0)
        every = replace(chosen, budget=shipped.config.cells, equivariance=False)
        there = _collect_parts(fast, parts, moved, every, quiet=quiet)
        reported = report_accuracies(there.results, shipped.config, make_plan(shipped.config, every, fast=False), every)
        split = f"{len(models)}-fold cross-fitted, displaced"
        about = {"name": dataset.name, "split": split, "size": len(there.results["index"])}
        content["displaced"] = {"about": DISPLACED_ABOUT, "dataset": about} | reported
    return content


def join_photographs(photographs: Photographs) -> FileDataset:
    """Return all labelled photographs, ordered by name."""
    train = photographs.train
    entries = sorted((*train.entries, *photographs.held_out.entries), key=lambda entry: entry.name)
    return FileDataset(train.name, "all", train.class_names, entries)


def _collect_parts(
    models: list[TNet], parts: list[int], dataset: ImageDataset, options: Options, *, quiet: bool
) -> Collected:
    """Return the measurements of each image by the model of its part."""
    plan = make_plan(models[0].config, options, fast=models[0].device.type == "cuda")
    found = []
    for number, model in enumerate(models):
        own = [index for index, part in enumerate(parts) if part == number]
        if own:  # few photographs may leave a part empty
            with ProgressBar(is_shown=not quiet) as bar:
                found.append(collect(model, dataset, plan, options, bar.update, indices=own))
    return join_collected(found)
