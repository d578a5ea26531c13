"""What the location module says on average, as a policy that is the same for every image.

It tells how much of the learned policy is where objects usually are. Another order of the cells, chosen by the
accuracy it gives, might be better; and the average is over the evaluated images themselves.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import torch

from tnet_core.modeling.tnet import TNet
from training.evaluation.features import look_at
from training.evaluation.stream import Batch
from training.evaluation.tree import Tree

ABOUT = (
    "The same cells for every image, ranked by the mean location probability over the evaluated images themselves, "
    "which a first pass over their thumbnails measures (and over the learned looks of each level but the last)."
)


def sum_probabilities(model: TNet, batches: Iterable[Batch]) -> np.ndarray:
    """Per depth: summed probability of each cell and, last, the number of grids: (depths, n * n + 1).

    The last level is never looked at: only what its grids were scored with is needed.
    """
    tree = Tree((*model.config.budget[:-1], 0))
    total = np.zeros((len(tree.widths), model.config.cells + 1))
    for batch in batches:
        if not batch.size:
            continue
        looks = look_at(model, batch, tree)
        for depth, logits in enumerate(looks.logits):
            probabilities = torch.softmax(logits.double(), dim=2).flatten(0, 1)
            total[depth, :-1] += probabilities.sum(0).cpu().numpy()
            total[depth, -1] += len(probabilities)
    return total


def mean_probabilities(total: np.ndarray) -> list[np.ndarray]:
    """Per depth (n * n,); uniform where no grid was seen."""
    return [row[:-1] / row[-1] if row[-1] else np.full(len(row) - 1, 1 / (len(row) - 1)) for row in total]
