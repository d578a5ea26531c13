"""The policy that knows the answer: how much better the looks could have been chosen.

A set of looks is better if its prediction is right, and among equally right ones if it gives the
true class more probability. Two levels: cells are added one by one, each the best addition to those
taken (with one look, exactly the best cell; with more, a lower bound of the best set). Three levels:
the looks inside a cell are ordered the same way given the thumbnail and that cell, then cells are
added together with their first k looks, so with one look at each level it is exactly the best pair.
"""

from __future__ import annotations

import torch
from torch import Tensor

from tnet_core.modeling.tnet import TNet
from training.evaluation.aggregate import subset_logits
from training.evaluation.features import Looks

ABOUT = (
    "Chosen with hindsight, greedily: each look is the one that makes the prediction right, or else gives the true "
    "class the most probability. Exactly the best choice with one look per level, a lower bound of it with more."
)
_RIGHT = 1e6  # a right prediction outweighs any log-likelihood


class Oracle:
    """Needs the looks at all cells, of two or three levels."""

    def __init__(self, model: TNet, looks: Looks, labels: Tensor) -> None:
        self._model, self._looks, self._labels = model, looks, labels.to(looks.features.device)
        self._batch, self._nodes = len(looks.images), looks.tree.nodes
        self._cells = looks.tree.widths[0]

    def masks(self, budgets: list[tuple[int, ...]]) -> Tensor:
        """The chosen looks of each budget, the thumbnail among them: (B, S, N) bool."""
        most = max(budget[0] for budget in budgets)
        inner = [budget[1] if len(budget) > 1 else 0 for budget in budgets]
        orders = self._inner_orders(max(inner))
        nested = {k: self._nested(self._branches(orders, k), most) for k in sorted(set(inner))}
        return torch.stack([nested[k][:, budget[0]] for k, budget in zip(inner, budgets, strict=True)], dim=1)

    def _value(self, masks: Tensor) -> Tensor:
        """(B, S, N) -> (B, S) float64."""
        logits = subset_logits(self._model, self._looks.features, self._looks.projections, masks).double()
        labels = self._labels.view(-1, 1, 1).expand(-1, masks.shape[1], 1)
        likelihood = logits.log_softmax(2).gather(2, labels).squeeze(2)
        right = logits.argmax(2) == self._labels.view(-1, 1)
        return _RIGHT * right + likelihood

    def _thumbnail(self) -> Tensor:
        mask = torch.zeros((self._batch, self._nodes), dtype=torch.bool, device=self._looks.features.device)
        mask[:, 0] = True
        return mask

    def _branches(self, orders: Tensor | None, k: int) -> Tensor:
        """What taking a cell means: the cell and its first k inner looks: (B, cells, N) bool."""
        taken = torch.zeros((self._batch, self._cells, self._nodes), dtype=torch.bool, device=self._labels.device)
        cells = torch.arange(self._cells, device=taken.device)
        taken[:, cells, 1 + cells] = True
        if orders is not None and k:
            taken.scatter_(2, orders[:, :, :k], True)
        return taken

    def _nested(self, branches: Tensor, most: int) -> Tensor:
        """Add the best branch again and again: (B, 1 + most, N), the sets of 0 … most branches."""
        sets = [self._thumbnail()]
        used = torch.zeros((self._batch, self._cells), dtype=torch.bool, device=branches.device)
        rows = torch.arange(self._batch, device=branches.device)
        for _ in range(most):
            values = self._value(sets[-1].unsqueeze(1) | branches).masked_fill(used, -float("inf"))
            best = values.argmax(1)
            used[rows, best] = True
            sets.append(sets[-1] | branches[rows, best])
        return torch.stack(sets, dim=1)

    def _inner_orders(self, most: int) -> Tensor | None:
        """The first `most` looks inside each cell, best first, as node numbers: (B, cells, most)."""
        if len(self._looks.tree.widths) == 1 or most == 0:
            return None
        width, device = self._looks.tree.widths[1], self._labels.device
        start = 1 + self._cells
        children = start + torch.arange(self._cells * width, device=device).view(1, self._cells, width)
        children = children.expand(self._batch, -1, -1)
        taken = self._thumbnail().unsqueeze(1) | self._branches(None, 0)  # (B, cells, N)
        used = torch.zeros((self._batch, self._cells, width), dtype=torch.bool, device=device)
        order = []
        for _ in range(most):
            with_each = taken.unsqueeze(2).repeat(1, 1, width, 1)
            with_each.scatter_(3, children.unsqueeze(3), True)
            values = self._value(with_each.flatten(1, 2)).view(used.shape).masked_fill(used, -float("inf"))
            best = values.argmax(2, keepdim=True)
            used.scatter_(2, best, True)
            chosen = children.gather(2, best)  # (B, cells, 1)
            taken = taken.scatter(2, chosen, True)
            order.append(chosen)
        return torch.cat(order, dim=2)
