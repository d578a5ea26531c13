"""The policies that are compared, as rankings of the cells of a grid."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from training.evaluation.features import Ranker


def centre_scores(n: int) -> np.ndarray:
    """From the middle outwards, as `tnet_core.inference.policies.centre`: (n * n,)."""
    line = np.arange(n) - (n - 1) / 2
    return -(line[:, None] ** 2 + line[None, :] ** 2).ravel()


def centre(n: int) -> Ranker:
    return fixed([centre_scores(n)])


def fixed(scores: list[np.ndarray]) -> Ranker:
    """The same ranking for every image, one per depth (the last one also below)."""

    def rank(paths: Tensor, logits: Tensor, _images: list[int]) -> Tensor:
        chosen = scores[min(paths.shape[2], len(scores) - 1)]
        return torch.from_numpy(chosen).to(logits.device).expand(logits.shape)

    return rank


def random(seed: int, draw: int) -> Ranker:
    """A seeded shuffle per image and grid; it depends on the image's place in the data set and on the
    grid's path in the image, so batches, processes and the other looks that are taken do not change it."""

    def rank(paths: Tensor, logits: Tensor, images: list[int]) -> Tensor:
        scores = np.empty(logits.shape)
        for place, (index, grids) in enumerate(zip(images, paths.tolist(), strict=True)):
            for parent, path in enumerate(grids):
                # the depth, because trailing zeros do not change a seed
                generator = np.random.default_rng([seed, draw, index, len(path), *path])
                scores[place, parent] = generator.random(logits.shape[2])
        return torch.from_numpy(scores).to(logits.device)

    return rank
