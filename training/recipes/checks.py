"""Values that no training run can have together, each refused in one sentence that names the key."""

from __future__ import annotations

import tnet_core as tn
from tnet_core.errors import TNetError
from training.recipes.recipe import Recipe

MODULES = ("features", "classifier", "positional", "location", "weighting")  # that can be frozen whole


def check_recipe(recipe: Recipe) -> None:
    """Refuse a recipe whose values are each possible, but cannot be trained together."""
    _check_run(recipe)
    _check_start(recipe)
    _check_model(recipe)
    _check_optimiser(recipe)


def _check_run(recipe: Recipe) -> None:
    if recipe.batch_size % recipe.accumulate:
        raise TNetError(f"'batch_size' ({recipe.batch_size}) must be divisible by 'accumulate' ({recipe.accumulate}).")
    if recipe.data.holdout == 1:
        raise TNetError("'data.holdout' is 1, which leaves nothing to train on; it must be 0 or at least 2.")
    if recipe.augment.aspect[0] > recipe.augment.aspect[1]:
        raise TNetError(f"'augment.aspect' is {list(recipe.augment.aspect)}, but must be [least, largest].")
    if recipe.data.needles.glyph >= recipe.data.needles.canvas:
        raise TNetError("'data.needles.glyph' must be smaller than 'data.needles.canvas'.")
    for name in recipe.freeze.modules:
        if name not in MODULES:
            raise TNetError(f"'freeze.modules' names '{name:.40}', but there are only {', '.join(MODULES)}.")


def _check_start(recipe: Recipe) -> None:
    init = recipe.init
    if init.weights == "checkpoint" and not init.checkpoint:
        raise TNetError("'init.checkpoint' is missing; 'init.weights' is 'checkpoint', so name one.")
    if init.weights != "checkpoint" and init.checkpoint:
        raise TNetError(f"'init.checkpoint' has no effect while 'init.weights' is '{init.weights}'; drop one of them.")
    if init.tag is not None and init.weights != "timm":
        raise TNetError(f"'init.tag' names weights of timm, but 'init.weights' is '{init.weights}'.")
    if init.classifier and init.weights not in ("timm", "wheel"):
        raise TNetError(f"'init.classifier' applies to the weights of timm and wheel, not to '{init.weights}'.")


def _check_model(recipe: Recipe) -> None:
    if recipe.model.preset and recipe.model.preset not in tn.presets():
        raise TNetError(f"'model.preset' is '{recipe.model.preset:.60}'; known are: {', '.join(tn.presets())}.")
    config, levels = recipe.config, recipe.loss.per_feature_levels
    if levels is not None and config.is_baseline:
        raise TNetError("'loss.per_feature_levels' has no meaning for a baseline, which has one level.")
    if levels is not None and not 2 <= levels <= config.levels:
        raise TNetError(
            f"'loss.per_feature_levels' is {levels}, but must lie in 2…{config.levels}, the model's levels."
        )
    for name in recipe.freeze.modules:
        absent = {"positional": config.positional == "none", "weighting": not config.weighting}
        if (config.is_baseline and name == "location") or absent.get(name, False):
            raise TNetError(f"'freeze.modules' names '{name}', which this model does not have.")
    if config.is_baseline and recipe.policy.target != "none":
        raise TNetError("'policy.target' has no meaning for a baseline, which takes no looks.")
    if recipe.heads.epochs and recipe.policy.target == "none":
        raise TNetError("'heads.epochs' learns heads on a feature bank, which only a 'policy.target' makes.")
    if recipe.heads.epochs and (config.positional != "additive" or not config.weighting):
        raise TNetError("'heads.epochs' needs a model with additive positions and a weighting module.")
    if recipe.policy.target != "none" and recipe.init.weights == "random":
        raise TNetError("'policy.target' trains the location module of a trained model: name one in 'init'.")


def _check_optimiser(recipe: Recipe) -> None:
    optim = recipe.optim
    if optim.weight_decay and optim.method != "adamw":
        raise TNetError(f"'optim.weight_decay' needs 'optim.method' adamw, not {optim.method}; for L2 use 'loss.l2'.")
    for key in ("warmup", "final"):
        if getattr(optim, key) and optim.schedule != "cosine":
            raise TNetError(f"'optim.{key}' belongs to the schedule cosine, but 'optim.schedule' is {optim.schedule}.")
