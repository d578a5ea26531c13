"""What learns, in which order: how looks count, then where to look."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from tnet_core.modeling.tnet import TNet
from training.adapt.aggregation import AggregationOptions, positional_shift, train_aggregation
from training.adapt.options import AdaptOptions, Objective
from training.policy.bank import FeatureBank
from training.policy.targets import reinforce
from training.policy.training import PolicyTraining
from training.recipes.recipe import BankSection, OptimSection, PolicySection, Recipe


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
        shift = positional_shift(model)
        banks = {name: bank.moved(shift) for name, bank in banks.items()}
    return train_location(model, banks, options, quiet=quiet)


def train_location(
    model: TNet, banks: dict[str, FeatureBank], options: AdaptOptions, *, quiet: bool = False
) -> dict[str, float]:
    recipe = policy_recipe(options)
    target = reinforce() if options.objective == "reinforce" else None
    with tempfile.TemporaryDirectory() as folder:  # its records; the report is kept
        return PolicyTraining(model, recipe, recipe.bank, banks, Path(folder), quiet=quiet, target=target).run()


def policy_recipe(options: AdaptOptions) -> Recipe:
    return Recipe(
        name="adapt",
        seed=options.seed,
        epochs=options.epochs / 2,
        batch_size=64,
        policy=PolicySection(target=_target(options.objective)),
        bank=BankSection(views=1, looks=options.looks, dropout=0.5),
        optim=OptimSection(method="adamw", lr=1e-3, weight_decay=0.01, schedule="cosine", warmup=0.1),
    )


def _target(objective: Objective) -> Any:
    return "likelihood" if objective == "reinforce" else objective
