"""Small models with random weights, quick enough for property tests."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor
from torch.nn.modules.batchnorm import _BatchNorm

import tnet_core as tn

TINY = tn.TNetConfig(
    backbone="tf_efficientnet_b0",
    backbone_scale=(0.25, 0.25),
    num_classes=7,
    input_size=128,
    base_resolution=64,
    grid=3,
    cell_fraction=0.5,
    budget=(3,),
    location_block="blocks.2.0",
    location_rows=(1, 3, 5),
)
TINY_3L = replace(TINY, levels=3, budget=(2, 2))


@lru_cache(maxsize=16)
def tiny(config: tn.TNetConfig = TINY, seed: int = 1) -> tn.TNet:
    """A model whose weights are spread enough for looks and classes to differ visibly, also between pictures."""
    model = tn.build(config, seed=seed)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for values in (model.classifier.linear.weight, model.classifier.linear.bias):
            values.copy_(0.4 * torch.randn(values.shape, generator=generator))
        if model.weighting is not None:
            weight = model.weighting.output.weight
            weight.copy_(0.5 * torch.randn(weight.shape, generator=generator))
    _see(model)
    return model


def _see(model: tn.TNet) -> None:
    """Batch norm learns what pictures look like; with its first statistics they vanish from layer to layer."""
    norms = [module for module in model.modules() if isinstance(module, _BatchNorm)]
    momenta = [norm.momentum for norm in norms]
    size = model.config.input_size
    shown = torch.stack([torch.from_numpy(picture(size, size, seed)).permute(2, 0, 1) for seed in range(100, 108)])
    for norm in norms:
        norm.train()
        norm.momentum = None  # the plain mean
        norm.reset_running_stats()
    with torch.no_grad():
        model.forward_train(shown / 127.5 - 1)
    for norm, before in zip(norms, momenta, strict=True):
        norm.eval()
        norm.momentum = before


def picture(height: int = 128, width: int = 128, seed: int = 0) -> np.ndarray:
    """Blocks of random colour: (H, W, 3) uint8."""
    generator = np.random.default_rng(seed)
    blocks = generator.integers(0, 256, (8, 8, 3), dtype=np.uint8)
    rows, cols = np.arange(height) * 8 // height, np.arange(width) * 8 // width
    return blocks[rows][:, cols]


class BackboneCalls:
    """Counts how often a model's backbone runs while the context is open, and on how many images."""

    def __init__(self, model: tn.TNet) -> None:
        self._model = model
        self.batches: list[int] = []

    def __enter__(self) -> BackboneCalls:
        features = self._model.features
        begin = features.begin

        def counted(images: Tensor) -> tuple[Tensor | None, Tensor]:
            self.batches.append(images.shape[0])
            return begin(images)

        features.begin = counted  # type: ignore[method-assign]
        return self

    def __exit__(self, *_: object) -> None:
        del self._model.features.begin
