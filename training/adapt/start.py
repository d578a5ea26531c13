"""The model to adapt: a pretrained backbone with its own classifier, and modules that change nothing yet."""

from __future__ import annotations

from dataclasses import dataclass

import timm
from timm.models import PretrainedCfg

import tnet_core as tn
from tnet_core.errors import TNetError
from tnet_core.modeling.config import TNetConfig
from tnet_core.modeling.tnet import TNet
from training.adapt.classes import Classes, classes_of
from training.adapt.options import AdaptOptions
from training.adapt.tap import with_late_map
from training.engine.warm_start import warm_start
from training.recipes.recipe import InitSection


@dataclass(frozen=True)
class Start:
    model: TNet
    classes: Classes
    full_resolution: int  # side of the whole image when the backbone classifies it by itself
    origin: str  # a sentence: where the weights come from
    licence: str  # of the pretrained weights, as timm states it


def start(options: AdaptOptions) -> Start:
    """With any looks at all the model says what the plain average of its features says."""
    about = _pretrained(options)
    config = config_of(options, about)
    model = tn.build(config, seed=options.seed)
    init = InitSection(weights=options.weights, tag=options.tag, classifier=True, even_weights=True)  # type: ignore[arg-type]
    origin = warm_start(model, init)
    classes = classes_of(about)
    model.class_names = classes.names
    model.source = origin
    side = options.full_resolution or min(max(about.input_size[-1], config.base_resolution), config.input_size)
    if not config.base_resolution <= side <= config.input_size:
        raise TNetError(
            f"--full-resolution is {side}, but must lie in {config.base_resolution}…{config.input_size}, from the "
            "resolution of a look to that of the input."
        )
    return Start(model, classes, side, origin, about.license or "")


def config_of(options: AdaptOptions, about: PretrainedCfg) -> TNetConfig:
    side = options.base_resolution or round(options.input_size * options.cell_fraction)
    config = TNetConfig(
        backbone=options.backbone, num_classes=about.num_classes, input_size=options.input_size, base_resolution=side,
        grid=options.grid, cell_fraction=options.cell_fraction, budget=(options.budget,), positional="additive",
        weighting=True, mean=about.mean, std=about.std,
    )  # fmt: skip
    return with_late_map(config)


def _pretrained(options: AdaptOptions) -> PretrainedCfg:
    name = f"{options.backbone}.{options.tag}" if options.tag else options.backbone
    if options.backbone not in timm.list_models(options.backbone):
        near = timm.list_models(f"*{options.backbone.strip('*')[:12]}*")[:3]
        hint = f"; similar: {', '.join(near)}" if near else ""
        raise TNetError(f"timm has no classifier '{options.backbone:.60}'{hint}.")
    try:
        about = timm.models.get_pretrained_cfg(name)
    except RuntimeError:  # an unknown tag
        about = None
    if about is None or not about.num_classes:
        offered = ", ".join(timm.list_pretrained(f"{options.backbone}.*")) or "none"
        raise TNetError(f"timm has no pretrained weights '{name:.80}'; of this backbone there are: {offered}.")
    if about.label_offset:
        raise TNetError(f"The classifier of '{name}' has classes that are to be left out, which is not possible here.")
    return about
