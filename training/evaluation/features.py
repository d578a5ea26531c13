"""Looks of a batch of images at a whole tree, and the logits of any set of them without a backbone.

Everything a policy, a budget or a set needs afterwards is a re-aggregation of these features.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from tnet_core.errors import TNetError
from tnet_core.inference.traversal import traverse
from tnet_core.modeling.config import TNetConfig
from tnet_core.modeling.location import top_k
from tnet_core.modeling.tnet import TNet
from tnet_core.records import Box, Distribution
from tnet_core.sampling.grid import divide_officially
from tnet_core.trace import Trace
from tnet_core.trace.aggregation import NOT_FINITE
from training.evaluation.plan import Tree, rank_cells
from training.evaluation.stream import Batch

# (paths of the grids (B, parents, depth): the cells from the thumbnail down to each, unit logits
# (B, parents, n * n), images by index) -> scores, larger is looked at sooner
Ranker = Callable[[Tensor, Tensor, list[int]], Tensor]
_MAX_ELEMENTS = 1 << 23  # of the largest temporary; more sets are processed in parts


def rank_as_learned(_paths: Tensor, logits: Tensor, _images: list[int]) -> Tensor:
    """Return the network's own ranking."""
    return logits


@dataclass(frozen=True)
class Looks:
    """B images, N looks each (thumbnail first), in the order of `Tree`."""

    tree: Tree
    images: list[int]
    features: Tensor  # (B, N, D) V'
    projections: Tensor  # (B, N, classes) without bias
    logits: list[Tensor]  # per depth: (B, parents, n * n) unit length
    cells: list[Tensor]  # per depth: (B, parents, width) the cells looked at, in raster order
    boxes: list[list[Box]]  # of each image, of the first level's looks: normalised x0, y0, x1, y1

    def rank(self, ranker: Ranker) -> Tensor:
        """Return the place of each look in its grid: (B, N - 1)."""
        batch = len(self.images)
        placed = [self.features.new_zeros((batch, 0), dtype=torch.long)]
        paths = _make_first_path(batch)
        for depth, (logits, cells) in enumerate(zip(self.logits, self.cells, strict=True)):
            scores = ranker(paths, logits, self.images).gather(2, cells)
            placed.append(rank_cells(scores.flatten(0, 1)).reshape(batch, self.tree.counts[depth]))
            paths = _extend_paths(paths, cells)
        return torch.cat(placed, dim=1)


def _make_first_path(batch: int) -> Tensor:
    """Return the path of the thumbnail's grid, which has none above: (B, 1, 0)."""
    return torch.zeros((batch, 1, 0), dtype=torch.long)


def _extend_paths(paths: Tensor, cells: Tensor) -> Tensor:
    """Return paths of the next level's grids (B, parents * k, depth + 1) from those above and cells (B, parents, k)."""
    taken = cells.cpu().unsqueeze(3)
    return torch.cat([paths.unsqueeze(2).expand(-1, -1, taken.shape[2], -1), taken], dim=3).flatten(1, 2)


def look_at(model: TNet, batch: Batch, tree: Tree, ranker: Ranker = rank_as_learned) -> Looks:
    """Take the looks that `ranker` wants, as many per grid as `tree` is wide (all cells: the whole tree)."""
    if isinstance(batch.images, Tensor):
        return _look_official(model, batch, batch.images, tree, ranker)
    return _look_native(model, batch, batch.images, tree, ranker)


def _look_official(model: TNet, batch: Batch, images: Tensor, tree: Tree, ranker: Ranker) -> Looks:
    size, paths = batch.size, _make_first_path(batch.size)

    def select(probabilities: Tensor, k: int) -> Tensor:
        nonlocal paths
        scores = ranker(paths, probabilities.log().view(*paths.shape[:2], -1), batch.indices)
        cells = top_k(scores.flatten(0, 1), k)
        paths = _extend_paths(paths, cells.view(*paths.shape[:2], k))
        return cells

    out = model.forward_train(
        images.to(model.device), tree.widths, select=top_k if ranker is rank_as_learned else select
    )
    features = out.features.float()
    parents = (1, *tree.counts)
    return Looks(
        tree=tree,
        images=batch.indices,
        features=features,
        projections=project_features(model, features),
        logits=[v.reshape(size, p, v.shape[1]) for p, v in zip(parents, out.location_logits, strict=False)],
        cells=[v.reshape(size, p, v.shape[1]) for p, v in zip(parents, out.selected, strict=False)],
        boxes=[
            [compute_grid_boxes(model.config)[cell] for cell in row] for row in out.selected[0].tolist()
        ] if out.selected else [[] for _ in range(size)],
    )  # fmt: skip


def compute_grid_boxes(config: TNetConfig) -> list[Box]:
    """Return the cells of the first grid in official sampling, clipped to the image."""
    side, n = config.input_size, config.grid
    axis = divide_officially(side, n, config.cell_fraction)
    spans = [(max(start, 0) / side, min(start + axis.cell, side) / side) for start in axis.starts]
    spans = [(min(low, 1.0), max(high, 0.0)) for low, high in spans]
    return [(x0, y0, x1, y1) for y0, y1 in spans for x0, x1 in spans]


def _look_native(model: TNet, batch: Batch, images: list[np.ndarray], tree: Tree, ranker: Ranker) -> Looks:
    """Run one traversal per image and put its looks into the order of the tree."""
    parts = []
    for index, image in zip(batch.indices, images, strict=True):

        def policy(grid: Distribution, index: int = index) -> list[int]:
            logits = torch.from_numpy(grid.logits).reshape(1, 1, -1)
            path = torch.tensor(grid.path, dtype=torch.long).reshape(1, 1, -1)
            return ranker(path, logits, [index]).flatten().sort(descending=True, stable=True).indices.tolist()

        parts.append(_sort_looks(traverse(model, image, tree.widths, policy), tree))
    features = torch.from_numpy(np.stack([part["features"] for part in parts])).to(model.device)
    depths = range(len(tree.widths))
    return Looks(
        tree=tree,
        images=batch.indices,
        features=features,
        projections=torch.from_numpy(np.stack([part["projections"] for part in parts])).to(model.device),
        logits=[torch.stack([part["logits"][d] for part in parts]).to(model.device) for d in depths],
        cells=[torch.stack([part["cells"][d] for part in parts]).to(model.device) for d in depths],
        boxes=[part["boxes"] for part in parts],
    )


def _sort_looks(trace: Trace, tree: Tree) -> dict[str, Any]:
    """Return looks of one trace: level by level, parents in order, cells in raster order."""
    looks = sorted(range(len(trace.locations)), key=lambda p: (trace.locations[p].level, trace.locations[p].path))
    rows = [0, *(position + 1 for position in looks)]
    grids = sorted(trace.distributions, key=lambda grid: (grid.level, grid.path))
    logits, cells = [], []
    parents = (1, *tree.counts)
    for depth, width in enumerate(tree.widths):
        level = [torch.from_numpy(grid.logits.ravel()) for grid in grids if grid.level == depth + 1]
        empty = torch.zeros((0, trace.config.cells))
        logits.append(torch.stack(level) if level else empty)
        indices = [trace.locations[p].index for p in looks if trace.locations[p].level == depth + 2]
        cells.append(torch.tensor(indices, dtype=torch.long).reshape(parents[depth], width))
    first = [trace.locations[p].box for p in looks if trace.locations[p].level == 2]
    return {
        "features": trace.features[rows], "projections": trace.projections[rows],
        "logits": logits, "cells": cells, "boxes": first,
    }  # fmt: skip


def project_features(model: TNet, features: Tensor) -> Tensor:
    """Return class scores of each look alone, without bias: V' (B, N, D) -> (B, N, classes)."""
    return features @ model.classifier.linear.weight.to(features.dtype).T


def weigh_subsets(model: TNet, features: Tensor, masks: Tensor) -> Tensor:
    """Return weights of the looks in each set: V' (B, N, D), masks (B, S, N) bool -> (B, S, N), zero outside.

    The same numbers as `FeatureWeightingModule.for_subsets`, for a batch of images.
    """
    kept = masks.to(features.dtype)
    sizes = kept.sum(2, keepdim=True)
    if model.weighting is None:
        return kept / sizes
    mean = kept @ features / sizes  # (B, S, D)
    directions = model.weighting.gate(mean) * model.weighting.output.weight
    scores = directions @ features.transpose(1, 2) + model.weighting.output.bias
    return scores.masked_fill(~masks, float("-inf")).softmax(2)


def classify_subsets(model: TNet, features: Tensor, projections: Tensor, masks: Tensor) -> Tensor:
    """Return joint logits of each set; no set may be empty: -> (B, S, classes)."""
    batch, _, width = features.shape
    step = max(1, _MAX_ELEMENTS // (batch * max(width, projections.shape[2])))
    bias = model.classifier.linear.bias
    parts = [weigh_subsets(model, features, some) @ projections + bias for some in masks.split(step, dim=1)]
    logits = torch.cat(parts, dim=1)
    if not bool(torch.isfinite(logits).all()):
        raise TNetError(NOT_FINITE)
    return logits


def find_hits(logits: Tensor, labels: Tensor) -> Tensor:
    """Whether the class of each image comes first, and among the first five: -> (B, S, 2) bool."""
    best = logits.topk(min(5, logits.shape[2]), dim=2).indices == labels.view(-1, 1, 1)
    first = logits.argmax(2) == labels.view(-1, 1)  # the lower class wins a tie, as in a trace
    return torch.stack([first, first | best.any(2)], dim=2)
