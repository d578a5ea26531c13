"""Small models with random weights, quick enough for property tests."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np
import torch
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
        count = lambda _, given: self.batches.append(given[0].shape[0])  # noqa: E731
        self._hook = self._model.features.register_forward_pre_hook(count)
        return self

    def __exit__(self, *_: object) -> None:
        self._hook.remove()


def with_odd_norms(config: tn.TNetConfig) -> tn.TNet:
    """Return a model whose batch norms have seen something, so that folding them wrongly shows."""
    model = tn.build(config)
    generator = torch.Generator().manual_seed(0)
    for module in model.modules():
        if isinstance(module, torch.nn.BatchNorm2d):
            for values, low, high in ((module.running_mean, -0.5, 0.5), (module.running_var, 0.5, 2.0)):
                assert values is not None
                values.uniform_(low, high, generator=generator)
            with torch.no_grad():
                module.weight.uniform_(0.5, 1.5, generator=generator)
                module.bias.uniform_(-0.5, 0.5, generator=generator)
    return model


def config_of(backbone: str, base: int) -> tn.TNetConfig:
    return tn.TNetConfig(backbone=backbone, num_classes=5, input_size=2 * base, base_resolution=base, grid=3,
                         cell_fraction=0.5, budget=(2,))  # fmt: skip


def lived(config: tn.TNetConfig) -> tn.TNet:
    """Return a model whose batch norms keep what an image says alive up to the last layer, unlike untrained ones."""
    model = with_odd_norms(config).train()
    side = config.base_resolution
    for module in model.modules():
        if isinstance(module, torch.nn.BatchNorm2d):
            module.momentum = 1.0
    with torch.no_grad():
        model.features.body(torch.randn(16, 3, side, side, generator=torch.Generator().manual_seed(1)))
    return model.eval()
