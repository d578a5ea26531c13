"""Accuracy of a training batch at several budgets, from the features of the step that was just done."""

from __future__ import annotations

import torch
from torch import Tensor

from tnet_core.modeling.tnet import TNet, TrainOutput
from training.evaluation.features import project, subset_logits
from training.evaluation.plan import Tree, learned_ranks


@torch.no_grad()
def batch_accuracy(model: TNet, out: TrainOutput, labels: Tensor) -> dict[tuple[int, ...], float]:
    """Top-1 for every budget up to that of the step; no backbone runs."""
    tree = Tree(tuple(cells.shape[1] for cells in out.selected))
    budgets = list(tree.budgets())
    features = out.features.float()
    masks = tree.masks(learned_ranks(tree, out), budgets)
    right = subset_logits(model, features, project(model, features), masks).argmax(2) == labels.view(-1, 1)
    return dict(zip(budgets, right.float().mean(0).tolist(), strict=True))
