"""What learns from the banks, in which order: how looks count, then where to look.

Positional and weighting modules learn so that a few looks together say what the target says. Both start without effect:
positions add nothing, weights are a plain average. The classifier is frozen and knows only the features of its own
backbone, so what positions add is held close to nothing in units of each feature's spread.
"""

from __future__ import annotations

import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from tqdm import tqdm

from tnet_core.errors import TNetError
from tnet_core.modeling.tnet import TNet
from training.adapt.pretrained import AdaptOptions, Objective
from training.engine.optimiser import compute_rate_factor, make_optimiser, set_rates
from training.evaluation.features import weigh_subsets
from training.evaluation.plan import rank_cells
from training.policy.bank import FeatureBank, compute_positional_shift, measure_spread
from training.policy.targets import compute_worth, make_reinforce
from training.policy.training import PolicyTraining
from training.recipes.recipe import BankSection, OptimSection, PolicySection, Recipe

_SPREAD_ROWS = 512  # images from which the spread of features is taken


def learn(
    model: TNet, banks: dict[str, FeatureBank], options: AdaptOptions, *, quiet: bool = False
) -> dict[str, float]:
    """Train weighting, positional and location modules on banks 'train' and 'validation' of the untouched model.

    How looks count is learned first, from sets of looks at random, since it decides what a look is
    worth; then where to look. The location module learns the images by heart within a few epochs, so
    its round is short and half of its map is dropped. Returns the last numbers of that round; they
    decide nothing.
    """
    if options.aggregation:
        aggregation = AggregationOptions(epochs=options.epochs)
        train_aggregation(model, banks["train"], aggregation, options.seed, quiet=quiet)
        shift = compute_positional_shift(model)
        banks = {name: bank.with_shift(shift) for name, bank in banks.items()}
    return train_location(model, banks, options, quiet=quiet)


def train_location(
    model: TNet, banks: dict[str, FeatureBank], options: AdaptOptions, *, quiet: bool = False
) -> dict[str, float]:
    recipe = make_policy_recipe(options)
    target = make_reinforce() if options.objective == "reinforce" else None
    with tempfile.TemporaryDirectory() as folder:  # its records; the report is kept
        return PolicyTraining(model, recipe, recipe.bank, banks, Path(folder), quiet=quiet, target=target).run()


def make_policy_recipe(options: AdaptOptions) -> Recipe:
    return Recipe(
        name="adapt",
        seed=options.seed,
        epochs=options.epochs / 2,
        batch_size=64,
        policy=PolicySection(target=_choose_target(options.objective)),
        bank=BankSection(views=1, looks=options.looks, dropout=0.5),
        optim=OptimSection(method="adamw", lr=1e-3, weight_decay=0.01, schedule="cosine", warmup=0.1),
    )


def _choose_target(objective: Objective) -> Any:
    return "likelihood" if objective == "reinforce" else objective


@dataclass(frozen=True)
class AggregationOptions:
    epochs: float = 10.0
    batch_size: int = 64  # images per step
    sets: int = 8  # of looks per image and step, drawn at random
    most: int = 10  # looks in a set: 0 … most, equally often
    closeness: float = 30.0  # weight of the squared shift by positions, in units of each feature's spread
    lr: float = 1e-3
    weight_decay: float = 0.05

    @property
    def optim(self) -> OptimSection:
        return OptimSection(
            method="adamw", lr=self.lr, weight_decay=self.weight_decay, schedule="cosine", warmup=0.1
        )  # fmt: skip


def train_aggregation(model: TNet, bank: FeatureBank, options: AggregationOptions, seed: int, *, quiet: bool) -> None:
    """Change those two modules alone. The bank must have been made before positions added anything."""
    assert model.positional is not None and model.weighting is not None
    model.eval().requires_grad_(False)
    model.positional.requires_grad_(True)
    model.weighting.requires_grad_(True)
    optimiser = make_optimiser(model, options.optim)
    spread = measure_spread(bank).to(model.device)
    per_epoch = -(-len(bank) // options.batch_size)
    steps = max(1, round(options.epochs * per_epoch))
    generator = torch.Generator().manual_seed(seed)
    bar = tqdm(range(steps), desc="aggregation", unit="step", disable=quiet, file=sys.stderr)
    for step in bar:
        epoch, position = divmod(step, per_epoch)
        order = np.random.default_rng([seed, epoch]).permutation(len(bank))
        rows = torch.from_numpy(order[position * options.batch_size : (position + 1) * options.batch_size])
        set_rates(optimiser, compute_rate_factor(options.optim, step, steps))
        looked = bank.rows(rows, model.device)
        shift = compute_positional_shift(model)
        masks = _draw_sets(len(rows), model.config.cells, options, generator).to(model.device)
        features = looked.features + shift
        # averaged before the classifier: fewer sets than looks, so fewer vectors to classify
        logits = model.classifier(weigh_subsets(model, features, masks) @ features)
        loss = -compute_worth(logits, looked.labels).mean() + options.closeness * (shift / spread).square().mean()
        optimiser.zero_grad()
        loss.backward()
        if not bool(torch.isfinite(loss)):
            raise TNetError(f"The loss of the aggregation is not a number any more at step {step + 1}.")
        optimiser.step()
        bar.set_postfix(loss=f"{loss.item():.3f}", refresh=False)
    model.requires_grad_(False)


def _draw_sets(count: int, cells: int, options: AggregationOptions, generator: torch.Generator) -> Tensor:
    """Return sets of looks with the thumbnail: (B, sets, 1 + n * n) bool."""
    scores = torch.rand((count * options.sets, cells), generator=generator)
    sizes = torch.randint(0, min(options.most, cells) + 1, (count * options.sets, 1), generator=generator)
    taken = (rank_cells(scores) < sizes).view(count, options.sets, cells)
    return torch.cat([torch.ones((count, options.sets, 1), dtype=torch.bool), taken], dim=2)
