"""Values that no training run can have, each refused in one sentence that names the key."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any

import tnet_core as tn
from tnet_core.errors import TNetError
from training.recipes.recipe import Recipe

MODULES = ("features", "classifier", "positional", "location", "weighting")  # that can be frozen whole


@dataclass(frozen=True)
class _Range:
    low: float
    high: float = math.inf
    low_open: bool = False  # the bound itself is not allowed
    high_open: bool = False

    def holds(self, value: float) -> bool:
        above = value > self.low if self.low_open else value >= self.low
        return above and (value < self.high if self.high_open else value <= self.high)

    def __str__(self) -> str:
        least = f"more than {self.low:.15g}" if self.low_open else f"at least {self.low:.15g}"
        if self.high == math.inf:
            return least
        return f"{least} and {'less than' if self.high_open else 'at most'} {self.high:.15g}"


_POSITIVE = _Range(0, low_open=True)
_NOT_NEGATIVE = _Range(0)
_COUNT = _Range(1)
_SHARE = _Range(0, 1)
_SHARE_BELOW_1 = _Range(0, 1, high_open=True)
_SHARE_ABOVE_0 = _Range(0, 1, low_open=True)

_RANGES: dict[str, _Range] = {
    "seed": _Range(0, 2**32, high_open=True),
    "epochs": _POSITIVE,
    "batch_size": _COUNT,
    "accumulate": _COUNT,
    "ema": _SHARE_BELOW_1,
    "validate_every": _NOT_NEGATIVE,
    "validation_images": _COUNT,
    "save_minutes": _NOT_NEGATIVE,
    "data.holdout": _NOT_NEGATIVE,
    "data.shorter_side": _COUNT,
    "data.workers": _NOT_NEGATIVE,
    "data.needles.canvas": _COUNT,
    "data.needles.classes": _Range(2),
    "data.needles.needles": _COUNT,
    "data.needles.distractors": _NOT_NEGATIVE,
    "data.needles.glyph": _COUNT,
    "data.needles.clutter": _NOT_NEGATIVE,
    "data.needles.train_size": _COUNT,
    "data.needles.validation_size": _COUNT,
    "augment.min_area": _SHARE_ABOVE_0,
    "augment.aspect": _POSITIVE,
    "augment.translate": _SHARE_BELOW_1,
    "augment.rotate": _Range(0, 180),
    "augment.mixup": _NOT_NEGATIVE,
    "loss.lambda_f": _NOT_NEGATIVE,
    "loss.lambda_c": _SHARE,
    "loss.lambda_r": _SHARE,
    "loss.samples": _COUNT,
    "loss.baseline_decay": _SHARE,
    "loss.contrastive": _NOT_NEGATIVE,
    "loss.margin": _Range(-1, 1),
    "loss.l2": _NOT_NEGATIVE,
    "loss.label_smoothing": _SHARE_BELOW_1,
    "policy.temperature": _POSITIVE,
    "policy.discount": _NOT_NEGATIVE,
    "bank.views": _COUNT,
    "bank.looks": _COUNT,
    "bank.sharpness": _POSITIVE,
    "bank.temperature": _POSITIVE,
    "bank.even_out": _NOT_NEGATIVE,
    "bank.dropout": _SHARE_BELOW_1,
    "heads.epochs": _NOT_NEGATIVE,
    "heads.rounds": _COUNT,
    "heads.batch_size": _COUNT,
    "heads.sets": _COUNT,
    "heads.most": _NOT_NEGATIVE,
    "heads.alone": _NOT_NEGATIVE,
    "heads.closeness": _NOT_NEGATIVE,
    "heads.dropout": _SHARE_BELOW_1,
    "heads.lr": _POSITIVE,
    "heads.weight_decay": _NOT_NEGATIVE,
    "freeze.stages": _NOT_NEGATIVE,
    "optim.lr": _POSITIVE,
    "optim.backbone_lr": _NOT_NEGATIVE,
    "optim.location_lr": _NOT_NEGATIVE,
    "optim.betas": _SHARE_BELOW_1,
    "optim.epsilon": _POSITIVE,
    "optim.weight_decay": _NOT_NEGATIVE,
    "optim.clip_norm": _POSITIVE,
    "optim.drop_at": _SHARE,
    "optim.drop_factor": _SHARE_ABOVE_0,
    "optim.warmup": _SHARE_BELOW_1,
    "optim.final": _SHARE,
}


def check_recipe(recipe: Recipe) -> None:
    """Refuse a recipe that cannot be trained as written."""
    for key, allowed in _RANGES.items():
        value = _get_value(recipe, key)
        for number in value if isinstance(value, tuple) else (value,):
            if number is not None and not allowed.holds(number):
                raise TNetError(f"'{key}' is {number}, but must be {allowed}.")
    _check_run(recipe)
    _check_start(recipe)
    _check_model(recipe)
    _check_optimiser(recipe)


def _check_run(recipe: Recipe) -> None:
    # The name becomes the name of a folder.
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", recipe.name):
        raise TNetError(f"'name' is {recipe.name!r:.60}, but must be letters, digits, '.', '_' and '-'.")
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


def _get_value(recipe: Recipe, key: str) -> Any:
    value: Any = recipe
    for part in key.split("."):
        value = getattr(value, part)
    return value
