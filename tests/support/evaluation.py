"""A small data set and models whose looks and predictions differ from image to image."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np
import torch

import tnet_core as tn
from tests.support.models import TINY, TINY_3L
from training.data.sample import Sample
from training.evaluation.stream import Batch, EvaluationView, collate_samples

NAMES = ("amber", "blue", "coral", "denim", "ebony", "fawn", "green")
TWO, THREE = TINY, TINY_3L
NATIVE = replace(TINY, sampling="native")
THREE_NATIVE = replace(TINY_3L, sampling="native")
PLAIN = replace(
    TINY, levels=1, budget=(), location="none", positional="none", weighting=False,
    location_block=None, location_rows=None,
)  # fmt: skip
COUNT = 28


def canvas(seed: int) -> np.ndarray:
    """Grey noise with one colourful patch: (H, W, 3) uint8, sides that differ from image to image."""
    generator = np.random.default_rng(seed)
    height, width = 96 + 5 * (seed % 7), 128 + 3 * (seed % 5)
    image = generator.integers(90, 130, (height, width, 3), dtype=np.uint8)
    y, x = generator.integers(0, height - 40), generator.integers(0, width - 40)
    image[y : y + 40, x : x + 40] = generator.integers(0, 256, (40, 40, 3), dtype=np.uint8)
    image[y + 8 : y + 32, x + 8 : x + 32] = generator.integers(0, 256, 3, dtype=np.uint8)
    return image


class Canvases:
    """In memory, four per class, one box each."""

    name, split, class_names = "canvases", "test", NAMES

    def __init__(self, count: int = COUNT) -> None:
        self.labels = [index % len(NAMES) for index in range(count)]

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, index: int) -> Sample:
        box = np.array([[0.1, 0.2, 0.6, 0.5 + 0.01 * index]], dtype=np.float32)
        return Sample(canvas(index), self.labels[index], f"{NAMES[self.labels[index]]}/image{index}", box)


@lru_cache(maxsize=8)
def varied(config: tn.TNetConfig, seed: int = 1) -> tn.TNet:
    """A model with random weights but fitting batch-norm statistics: no class and no cell always wins."""
    model = tn.build(config, seed=seed)
    images = batch_of(Canvases(), replace(config, sampling="official")).images
    assert isinstance(images, torch.Tensor)
    generator = torch.Generator().manual_seed(seed)
    looks = (2,) * (config.levels - 1)
    with torch.no_grad():
        for module in model.modules():
            if isinstance(module, torch.nn.BatchNorm2d):
                module.momentum = 0.5
        model.train()
        for _ in range(4):
            model.forward_train(images, looks)
        model.eval()
        linear = model.classifier.linear
        linear.weight.copy_(torch.randn(linear.weight.shape, generator=generator))
        linear.bias.zero_()
        if model.weighting is not None:
            weight = model.weighting.output.weight
            weight.copy_(torch.randn(weight.shape, generator=generator))
        logits = model.forward_train(images, looks).logits
        linear.weight.mul_(2 / logits.std(0).mean())
        linear.bias.sub_(model.forward_train(images, looks).logits.mean(0))
    model.class_names = NAMES
    return model


def batch_of(dataset: Canvases, config: tn.TNetConfig) -> Batch:
    views = EvaluationView(dataset, range(len(dataset)), config)
    return collate_samples([views[index] for index in range(len(dataset))])
