"""Small models with random weights, quick enough for property tests."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np
import torch

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
    """A model whose weights are spread enough for looks and classes to differ visibly."""
    model = tn.build(config, seed=seed)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        model.classifier.linear.weight.copy_(torch.randn(model.classifier.linear.weight.shape, generator=generator))
        model.classifier.linear.bias.copy_(torch.randn(model.classifier.linear.bias.shape, generator=generator))
        if model.weighting is not None:
            weight = model.weighting.output.weight
            weight.copy_(8 * torch.randn(weight.shape, generator=generator))
    return model


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
        self._handle = self._model.features.register_forward_hook(
            lambda _, inputs, __: self.batches.append(inputs[0].shape[0])
        )
        return self

    def __exit__(self, *_: object) -> None:
        self._handle.remove()
