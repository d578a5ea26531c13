"""The policies that the learned one is compared with: random, centre, mean, surest and oracle.

The first three are rankings of the cells of a grid. The *mean* policy is what the location module says on average;
it tells how much of the learned policy is where objects usually are. Another order of the cells, chosen by the accuracy
it gives, might be better; and the average is over the evaluated images themselves.

The other two look at everything first and then choose which looks to keep, the thumbnail always among them. The
*surest* does not know the label: a set of looks is better if its prediction gives some class more probability. A policy
that sees nothing but the thumbnail cannot be expected to choose better, so this is what the learned one is held to. The
*oracle* knows the label: a set of looks is better if its prediction is right, and among equally right ones if it gives
the true class more probability. That also picks lucky mistakes, so it is a limit and no goal. Two levels: cells are
added one by one, each the best addition to those taken (with one look, exactly the best cell; with more, a lower bound
of the best set). Three levels: the looks inside a cell are ordered the same way given the thumbnail and that cell, then
cells are added together with their first k looks, so with one look at each level it is exactly the best pair.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import torch
from torch import Tensor

from tnet_core.modeling.tnet import TNet
from training.evaluation.features import Looks, Ranker, classify_subsets, look_at
from training.evaluation.plan import Tree
from training.evaluation.stream import Batch

MEAN_ABOUT = (
    "The same cells for every image, ranked by the mean location probability over the evaluated images themselves, "
    "which a first pass over their thumbnails measures (and over the learned looks of each level but the last)."
)
ORACLE_ABOUT = (
    "Chosen with hindsight, greedily: each look is the one that makes the prediction right, or else gives the true "
    "class the most probability. Exactly the best choice with one look per level, a lower bound of it with more."
)
SUREST_ABOUT = (
    "Looks at every cell and keeps, greedily, the looks whose prediction together with the thumbnail is surest "
    "(highest probability of any class, temperature 1), without knowing the label."
)
_RIGHT = 1e6  # a right prediction outweighs any log-likelihood


def compute_centre_scores(n: int) -> np.ndarray:
    """Return scores from the middle outwards, as `tnet_core.inference.policies.centre` has them: (n * n,)."""
    line = np.arange(n) - (n - 1) / 2
    return -(line[:, None] ** 2 + line[None, :] ** 2).ravel()


def make_centre_ranker(n: int) -> Ranker:
    return make_fixed_ranker([compute_centre_scores(n)])


def make_fixed_ranker(scores: list[np.ndarray]) -> Ranker:
    """Return a policy with the same ranking for every image, one per depth (the last one also below)."""

    def rank(paths: Tensor, logits: Tensor, _images: list[int]) -> Tensor:
        chosen = scores[min(paths.shape[2], len(scores) - 1)]
        return torch.from_numpy(chosen).to(logits.device).expand(logits.shape)

    return rank


def make_random_ranker(seed: int, draw: int) -> Ranker:
    """Return a seeded shuffle per image and grid. It depends on the image's place in the data set and on the grid's
    path in the image, so batches, processes and the other looks that are taken do not change it.
    """

    def rank(paths: Tensor, logits: Tensor, images: list[int]) -> Tensor:
        scores = np.empty(logits.shape)
        for place, (index, grids) in enumerate(zip(images, paths.tolist(), strict=True)):
            for parent, path in enumerate(grids):
                # the depth, because trailing zeros do not change a seed
                generator = np.random.default_rng([seed, draw, index, len(path), *path])
                scores[place, parent] = generator.random(logits.shape[2])
        return torch.from_numpy(scores).to(logits.device)

    return rank


def sum_probabilities(model: TNet, batches: Iterable[Batch]) -> np.ndarray:
    """Return return, per depth, the summed probability of each cell and, last, the number of grids: (depths, n * n +
    1).

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


def average_probabilities(total: np.ndarray) -> list[np.ndarray]:
    """Return the mean probability of each cell (n * n,) per depth; uniform where no grid was seen."""
    return [row[:-1] / row[-1] if row[-1] else np.full(len(row) - 1, 1 / (len(row) - 1)) for row in total]


class Surest:
    """Choose the looks that make the network surest. Needs the looks at all cells, of two or three levels."""

    def __init__(self, model: TNet, looks: Looks) -> None:
        self._model, self._looks = model, looks
        self._batch, self._nodes = len(looks.images), looks.tree.nodes
        self._cells, self._device = looks.tree.widths[0], looks.features.device

    def make_masks(self, budgets: list[tuple[int, ...]]) -> Tensor:
        """Return the chosen looks of each budget, the thumbnail among them: (B, S, N) bool."""
        most = max(budget[0] for budget in budgets)
        inner = [budget[1] if len(budget) > 1 else 0 for budget in budgets]
        orders = self._order_inner_looks(max(inner))
        nested = {k: self._grow_sets(self._mask_branches(orders, k), most) for k in sorted(set(inner))}
        return torch.stack([nested[k][:, budget[0]] for k, budget in zip(inner, budgets, strict=True)], dim=1)

    def _value_sets(self, masks: Tensor) -> Tensor:
        """Return the worth of each set: (B, S, N) -> (B, S) float64."""
        logits = classify_subsets(self._model, self._looks.features, self._looks.projections, masks)
        return self._value_predictions(logits.double().log_softmax(2))

    def _value_predictions(self, likelihoods: Tensor) -> Tensor:
        """Return the worth of each prediction: (B, S, classes) logarithms of probabilities -> (B, S)."""
        return likelihoods.amax(2)

    def _mask_thumbnail(self) -> Tensor:
        mask = torch.zeros((self._batch, self._nodes), dtype=torch.bool, device=self._looks.features.device)
        mask[:, 0] = True
        return mask

    def _mask_branches(self, orders: Tensor | None, k: int) -> Tensor:
        """Return what taking a cell means: the cell and its first k inner looks: (B, cells, N) bool."""
        taken = torch.zeros((self._batch, self._cells, self._nodes), dtype=torch.bool, device=self._device)
        cells = torch.arange(self._cells, device=taken.device)
        taken[:, cells, 1 + cells] = True
        if orders is not None and k:
            taken.scatter_(2, orders[:, :, :k], True)
        return taken

    def _grow_sets(self, branches: Tensor, most: int) -> Tensor:
        """Add the best branch again and again: (B, 1 + most, N), the sets of 0 … most branches."""
        sets = [self._mask_thumbnail()]
        used = torch.zeros((self._batch, self._cells), dtype=torch.bool, device=branches.device)
        rows = torch.arange(self._batch, device=branches.device)
        for _ in range(most):
            values = self._value_sets(sets[-1].unsqueeze(1) | branches).masked_fill(used, -float("inf"))
            best = values.argmax(1)
            used[rows, best] = True
            sets.append(sets[-1] | branches[rows, best])
        return torch.stack(sets, dim=1)

    def _order_inner_looks(self, most: int) -> Tensor | None:
        """Return the first `most` looks inside each cell, best first, as node numbers: (B, cells, most)."""
        if len(self._looks.tree.widths) == 1 or most == 0:
            return None
        width, device = self._looks.tree.widths[1], self._device
        start = 1 + self._cells
        children = start + torch.arange(self._cells * width, device=device).view(1, self._cells, width)
        children = children.expand(self._batch, -1, -1)
        taken = self._mask_thumbnail().unsqueeze(1) | self._mask_branches(None, 0)  # (B, cells, N)
        used = torch.zeros((self._batch, self._cells, width), dtype=torch.bool, device=device)
        order = []
        for _ in range(most):
            with_each = taken.unsqueeze(2).repeat(1, 1, width, 1)
            with_each.scatter_(3, children.unsqueeze(3), True)
            values = self._value_sets(with_each.flatten(1, 2)).view(used.shape).masked_fill(used, -float("inf"))
            best = values.argmax(2, keepdim=True)
            used.scatter_(2, best, True)
            chosen = children.gather(2, best)  # (B, cells, 1)
            taken = taken.scatter(2, chosen, True)
            order.append(chosen)
        return torch.cat(order, dim=2)


class Oracle(Surest):
    """Choose the looks that make the prediction right, with the labels known."""

    def __init__(self, model: TNet, looks: Looks, labels: Tensor) -> None:
        super().__init__(model, looks)
        self._labels = labels.to(self._device)

    def _value_predictions(self, likelihoods: Tensor) -> Tensor:
        labels = self._labels.view(-1, 1, 1).expand(-1, likelihoods.shape[1], 1)
        right = likelihoods.argmax(2) == self._labels.view(-1, 1)
        return _RIGHT * right + likelihoods.gather(2, labels).squeeze(2)
