"""What learns, in which order: how looks count, then where to look first, then where to look next."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from tnet_core.tnet import TNet
from training.adapt.aggregation import AggregationOptions, positional_shift, train_aggregation
from training.adapt.options import AdaptOptions, Objective
from training.bank import FeatureBank
from training.policy_targets import reinforce
from training.policy_training import PolicyTraining
from training.recipe import BankSection, OptimSection, PolicySection, Recipe


def learn(model: TNet, banks: dict[str, FeatureBank], options: AdaptOptions, *, quiet: bool = False) -> dict[str, Any]:
    """Train weighting, positional and location modules on banks 'train' and 'validation' of the untouched model.

    How looks count is learned first, from sets of looks at random, since it decides what a look is
    worth. Then the location module learns to choose one look, and at last to choose several, each
    given those before it, which costs more per image. Returns the last numbers of each round; they
    decide nothing.
    """
    if options.aggregation:
        aggregation = AggregationOptions(epochs=options.epochs / 3)
        train_aggregation(model, banks["train"], aggregation, options.seed, quiet=quiet)
        shift = positional_shift(model)
        banks = {name: bank.moved(shift) for name, bank in banks.items()}
    report: dict[str, Any] = {"one_look": train_location(model, banks, options, 1, options.epochs, quiet=quiet)}
    if options.budget > 1:
        epochs = options.epochs / 6
        report["looks"] = train_location(model, banks, options, options.budget, epochs, quiet=quiet)
    return report


def train_location(
    model: TNet, banks: dict[str, FeatureBank], options: AdaptOptions, looks: int, epochs: float, *, quiet: bool = False
) -> dict[str, float]:
    recipe = policy_recipe(options, looks, epochs)
    target = reinforce() if options.objective == "reinforce" else None
    with tempfile.TemporaryDirectory() as folder:  # its records; the report is kept
        return PolicyTraining(model, recipe, recipe.bank, banks, Path(folder), quiet=quiet, target=target).run()


def policy_recipe(options: AdaptOptions, looks: int, epochs: float) -> Recipe:
    return Recipe(
        name="adapt",
        seed=options.seed,
        epochs=epochs,
        batch_size=64,
        policy=PolicySection(target=_target(options.objective)),
        bank=BankSection(views=1, looks=looks),
        optim=OptimSection(method="adamw", lr=1e-3, weight_decay=0.01, schedule="cosine", warmup=0.1),
    )


def _target(objective: Objective) -> Any:
    return "likelihood" if objective == "reinforce" else objective
