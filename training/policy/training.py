"""Train the location module alone, from a bank in which the value of every cell is known.

Backbone, classifier, positional and weighting modules stay as they are in the starting checkpoint, so
the result shares them bit for bit and differs in where it looks; with `heads.epochs` all but the backbone
learn. Validation is reported after every epoch and decides nothing: the weights after the last epoch are
what is saved.
"""

from __future__ import annotations

import dataclasses
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

import tnet_core as tn
from tnet_core.errors import TNetError
from tnet_core.modeling.tnet import TNet
from training.data import open_splits
from training.data.augment import Augment
from training.data.loading import AugmentedView, collate, make_loader, unpack
from training.data.sample import ImageDataset
from training.engine.metrics import METRICS_FILE, Metrics
from training.engine.optimiser import compute_rate_factor, make_optimiser, set_rates
from training.engine.run_folder import check_folder, fingerprint_data, make_folder, write_checkpoint, write_recipe
from training.engine.warm_start import warm_start
from training.evaluation.policies import compute_centre_scores
from training.evaluation.stream import load_batches
from training.policy.bank import FeatureBank, check_two_levels, compute_positional_shift, make_bank
from training.policy.heads import reset_heads, train_heads
from training.policy.targets import (
    Target,
    compute_looks_loss,
    make_target,
    measure_accuracies,
    measure_hindsight,
    score_bank,
    score_cells,
    value_bank,
)
from training.recipes.recipe import BankSection, Recipe

_BANK = "bank"  # folder in that of the run, unless the recipe names another; removed at the end
_IMAGES_AT_ONCE = 8  # while the bank is made: each has n * n crops


def train_policy(
    recipe: Recipe,
    out: Path,
    *,
    quiet: bool = False,
    open_data: Callable[[str], ImageDataset] | None = None,
) -> Path:
    """Train as the recipe says; returns the checkpoint folder. `open_data` replaces the recipe's data set."""
    if recipe.policy.target == "none":
        raise TNetError("'policy.target' is none: there is nothing to train the location module towards.")
    if recipe.init.weights == "random":
        raise TNetError("A policy is trained on top of a trained model: name one in 'init' (weights: checkpoint).")
    chosen = recipe.bank
    check_folder(out, resume=False, leftovers=(_BANK, METRICS_FILE, "tensorboard"))
    train_data, validation_data = open_splits(recipe, open_data)
    splits = {"train": train_data, "validation": validation_data}
    make_folder(out)
    model = tn.build(recipe.config, seed=recipe.seed)
    check_two_levels(model)
    origin = warm_start(model, recipe.init)
    if recipe.heads.epochs:
        reset_heads(model)
    kept = Path(chosen.folder) if chosen.folder is not None else out / _BANK
    try:
        banks = {
            which: make_split_bank(
                model, recipe, split, kept / which, chosen.views if which == "train" else 1, quiet=quiet
            )
            for which, split in splits.items()
        }
        report = _train_modules(model, recipe, banks, out, quiet=quiet)
        del banks
    finally:
        if chosen.folder is None:
            shutil.rmtree(kept, ignore_errors=True)
    write_recipe(out, recipe)
    details: dict[str, Any] = {"initial_weights": origin, "bank": {**dataclasses.asdict(chosen), "folder": None}}
    if recipe.heads.epochs:
        details["heads"] = dataclasses.asdict(recipe.heads)
    details["validation"] = report
    return write_checkpoint(out, model.eval(), recipe, splits["train"].class_names, details)


def _train_modules(
    model: TNet, recipe: Recipe, banks: dict[str, FeatureBank], out: Path, *, quiet: bool
) -> dict[str, float]:
    """Train the policy, and before it the heads where the recipe says so; return the last validation."""
    report: dict[str, float] = {}
    placed = banks
    for number in range(recipe.heads.rounds if recipe.heads.epochs else 1):
        if recipe.heads.epochs:
            scores = score_bank(model, placed["train"], recipe.bank) if number else None
            train_heads(model, banks["train"], recipe.heads, recipe.loss, recipe.seed + number, scores, quiet=quiet)
            shift = compute_positional_shift(model)
            placed = {which: bank.with_shift(shift) for which, bank in banks.items()}
        report = PolicyTraining(model, recipe, recipe.bank, placed, out, quiet=quiet).run()
    return report


def make_split_bank(
    model: TNet, recipe: Recipe, dataset: ImageDataset, folder: Path | None, views: int, *, quiet: bool
) -> FeatureBank:
    """Return the bank of a split; rows of all images as they are come first, then those of each augmented view."""
    pixels = dataclasses.asdict(dataclasses.replace(recipe.data, root="", cache=None, workers=0))  # what, not where
    pixels.pop("skip_unreadable")  # the fingerprint knows which images are left
    identity: dict[str, Any] = {
        "name": dataset.name,
        "split": dataset.split,
        **fingerprint_data(dataset),
        "data": pixels,
        "views": views,
    }
    if views > 1:
        identity |= {"augment": dataclasses.asdict(recipe.augment), "seed": recipe.seed}
    stream = _stream_views(recipe, dataset, views)
    return make_bank(model, stream, views * len(dataset), folder=folder, identity=identity, quiet=quiet)


def _stream_views(recipe: Recipe, dataset: ImageDataset, views: int) -> Iterator[tuple[Tensor, Tensor]]:
    config = dataclasses.replace(recipe.config, sampling="official")
    for batch in load_batches(dataset, range(len(dataset)), config, _IMAGES_AT_ONCE, recipe.data.workers):
        assert isinstance(batch.images, Tensor)
        yield batch.images, batch.labels
    places = [(view, index) for view in range(1, views) for index in range(len(dataset))]
    augmented = AugmentedView(dataset, Augment(recipe.augment, config.input_size), recipe.seed)
    workers = recipe.data.workers if places else 0
    loader = make_loader(augmented, workers, collate, batch_size=_IMAGES_AT_ONCE, sampler=places)
    for batch in loader:
        yield unpack(batch)


class PolicyTraining:
    def __init__(
        self,
        model: TNet,
        recipe: Recipe,
        options: BankSection,
        banks: dict[str, FeatureBank],
        out: Path,
        *,
        quiet: bool,
        target: Target | None = None,  # None: as the recipe says
    ) -> None:
        self.model, self.recipe, self.options = model, recipe, options
        self.train, self.validation = banks["train"], banks["validation"]
        self.out, self.quiet = out, quiet
        self.target = target
        self.per_epoch = -(-len(self.train) // recipe.batch_size)
        self.steps = max(1, round(recipe.epochs * self.per_epoch))

    def run(self) -> dict[str, float]:
        """Train, record, and return the last validation."""
        model, recipe, options = self.model.eval(), self.recipe, self.options
        assert model.location is not None
        model.requires_grad_(False)
        model.location.requires_grad_(True)
        optimiser = make_optimiser(model, recipe.optim)
        target = self.target
        if target is None:
            assert recipe.policy.target != "none"
            target = make_target(recipe.policy.target, options)
        first = value_bank(model, self.train, options)
        fixed = self.measure_fixed_policies()
        metrics = Metrics(self.out, self.steps, 0, quiet=self.quiet)
        torch.manual_seed(recipe.seed)
        losses: list[float] = []
        try:
            self._report(metrics, 0, fixed, losses)
            for step in range(self.steps):
                at = self._choose_rows(step)
                looked = self.train.rows(at, model.device)
                set_rates(optimiser, compute_rate_factor(recipe.optim, step, self.steps))
                scores = score_cells(model, looked, options, training=True)
                loss = compute_looks_loss(model, scores, looked, first[at].to(model.device), target, options)
                optimiser.zero_grad()
                loss.backward()
                if recipe.optim.clip_norm is not None:
                    torch.nn.utils.clip_grad_norm_(model.location.parameters(), recipe.optim.clip_norm)
                losses.append(loss.item())
                if not np.isfinite(losses[-1]):
                    raise TNetError(
                        f"The loss is not a number any more at step {step + 1}; use a smaller learning rate."
                    )
                optimiser.step()
                metrics.advance()
                if (step + 1) % self.per_epoch == 0 or step + 1 == self.steps:
                    last = self._report(metrics, step + 1, fixed, losses)
                    losses = []
        finally:
            metrics.close()
        return last

    def _choose_rows(self, step: int) -> Tensor:
        """Return the rows of a step: every epoch has its own order."""
        epoch, position = divmod(step, self.per_epoch)
        order = np.random.default_rng([self.recipe.seed, epoch]).permutation(len(self.train))
        size = self.recipe.batch_size
        return torch.from_numpy(order[position * size : (position + 1) * size])

    def measure_fixed_policies(self) -> dict[str, list[float]]:
        """Return the validation accuracy of what does not learn: the centre, and the best cell with hindsight."""
        n, count = self.model.config.grid, len(self.validation)
        centre = torch.from_numpy(compute_centre_scores(n)).expand(count, n * n)
        return {
            "centre": measure_accuracies(self.model, self.validation, centre, self.options.looks),
            "hindsight": [measure_hindsight(self.model, self.validation)],
        }

    def _report(
        self, metrics: Metrics, step: int, fixed: dict[str, list[float]], losses: list[float]
    ) -> dict[str, float]:
        learned = measure_accuracies(
            self.model, self.validation, score_bank(self.model, self.validation, self.options), self.options.looks
        )
        values = {f"top1_{k}": accuracy for k, accuracy in enumerate(learned)}
        values |= {f"centre_{k}": accuracy for k, accuracy in enumerate(fixed["centre"])}
        values["hindsight_1"] = fixed["hindsight"][0]
        gap = values["hindsight_1"] - values["centre_1"]
        closed = (values["top1_1"] - values["centre_1"]) / gap if gap > 0 else None
        if closed is not None:
            values["gap_closed"] = closed
        metrics.record("validation", step, values | ({"loss": float(np.mean(losses))} if losses else {}))
        shown = ", ".join(f"{100 * accuracy:.1f}" for accuracy in learned)
        metrics.say(
            f"step {step}: top-1 with 0…{len(learned) - 1} looks {shown} %; "
            f"share of the gap between centre and hindsight {'none' if closed is None else f'{100 * closed:.0f} %'}"
        )
        return {name: round(value, 5) for name, value in values.items()}
