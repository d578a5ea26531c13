"""What a model makes of regions of one image: features, class projections, scores of their grids.

`Viewer` knows no tree of looks; that is `tnet_core.inference.traversal`, which keeps a `Node` of each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from tnet_core.errors import TNetError
from tnet_core.modeling.tnet import TNet
from tnet_core.numbers import softmax
from tnet_core.records import Distribution, Location
from tnet_core.sampling.frame import Region, Sampler, to_bytes
from tnet_core.sampling.reader import choose_reader, fetch
from tnet_core.trace.aggregation import NOT_FINITE

Position = tuple[int, int, int]  # y, x, scale of the positional encoding


@dataclass(frozen=True)
class Viewed:
    """Features and scores of B regions."""

    crops: list[np.ndarray]  # (b, b, 3) uint8
    pixels_read: tuple[int, ...]
    scores: np.ndarray | None  # (B, n * n) unit-length location logits, where grids are scored
    features: np.ndarray  # (B, D) float32, V'
    projections: np.ndarray  # (B, classes) float32, without bias


class Viewer:
    """One model and one image."""

    def __init__(self, model: TNet, sampler: Sampler) -> None:
        self.model = model
        self.bias = model.classifier.linear.bias.detach().float().cpu().numpy()
        self._projector = model.classifier.linear.weight.detach()
        self._reader = choose_reader(sampler, self._projector)

    def view(self, regions: Sequence[Region], positions: Sequence[Position], *, grids: bool) -> Viewed:
        """Look at some regions; with `grids`, score the cells of each."""
        views = self._reader.read(regions, positions)
        model = self.model
        with torch.inference_mode():
            with torch.autocast("cuda", enabled=model.device.type == "cuda"):
                seen = model.look(views.images, views.positions)
                scored = [model.locate(seen)] if grids else []  # (B, n * n)
            feature = seen.feature.float()
            projections = feature @ self._projector.float().T  # (B, classes)
            as_bytes = [] if views.values else [views.as_bytes()]
            arrays = fetch([feature, projections, *scored, *as_bytes])  # the one place where the CPU waits for a GPU
        crops = [to_bytes(values) for values in views.values] if views.values else list(arrays[-1])
        found = arrays[: 2 + len(scored)]
        _check_finite([self.bias, *found])
        return Viewed(crops, views.pixels_read, found[2] if grids else None, found[0], found[1])


def _check_finite(arrays: Sequence[np.ndarray]) -> None:
    if not all(np.isfinite(values).all() for values in arrays):
        raise TNetError(NOT_FINITE)


@dataclass(frozen=True)
class Target:
    """A region to look at next: cell `index` of the grid of node `parent` (None: the thumbnail itself)."""

    parent: int | None
    index: int
    region: Region
    position: Position


@dataclass
class Node:
    """A processed look; node 0 is the thumbnail."""

    target: Target
    location: Location | None
    distribution: Distribution | None
    ranking: list[int]  # what the policy wants in this node's grid
    crop: np.ndarray | None  # None: seen in a trace without pixels
    pixels_read: int
    seconds: float
    feature: np.ndarray
    projection: np.ndarray


def make_distribution(level: int, position: int, path: tuple[int, ...], logits: np.ndarray, n: int) -> Distribution:
    """Return what the location module said about the grid of the look at `position` (negative: the thumbnail)."""
    probabilities = softmax(logits).astype(np.float32)
    parent = None if position < 0 else position
    return Distribution(level, parent, path, logits.reshape(n, n), probabilities.reshape(n, n))
