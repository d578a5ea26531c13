"""The tree of looks that a batch of images shares, and which of them a smaller budget would take.

Looks are numbered thumbnail first, then level by level, parents in order, cells in raster order: the
order of `TrainOutput.features`. A policy is a *rank* per look, its place among the looks of its own
grid (0: first choice), so the looks of every smaller budget follow from the ranks alone.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from tnet_core.modeling.tnet import TrainOutput


@dataclass(frozen=True)
class Tree:
    widths: tuple[int, ...]  # looks per grid, one entry per level below the first

    @cached_property
    def counts(self) -> tuple[int, ...]:
        """Looks at each level below the first."""
        return tuple(itertools.accumulate(self.widths, lambda above, k: above * k))

    @property
    def nodes(self) -> int:
        """All looks and the thumbnail."""
        return 1 + sum(self.counts)

    @property
    def grids(self) -> int:
        """Images whose grid was scored: all but those of the last level."""
        return 1 + sum(self.counts[:-1]) if self.widths else 0

    def budgets(self) -> Iterator[tuple[int, ...]]:
        """Every budget up to the widths, smallest first."""
        yield from itertools.product(*(range(k + 1) for k in self.widths))

    def masks(self, ranks: Tensor, budgets: list[tuple[int, ...]]) -> Tensor:
        """Which looks each budget takes, the thumbnail among them: ranks (B, N - 1) -> (B, S, N) bool."""
        batch, count = ranks.shape[0], len(budgets)
        limits = torch.tensor(budgets, dtype=ranks.dtype, device=ranks.device)  # (S, levels below the first)
        levels = [torch.ones((batch, count, 1), dtype=torch.bool, device=ranks.device)]
        for depth, (width, level) in enumerate(zip(self.widths, self._levels(ranks), strict=True)):
            above = levels[-1].unsqueeze(3)  # (B, S, parents, 1): a look needs its parent
            wanted = level.view(batch, 1, above.shape[2], width) < limits[:, depth].view(1, count, 1, 1)
            levels.append((above & wanted).flatten(2))
        return torch.cat(levels, dim=2)

    def _levels(self, values: Tensor) -> tuple[Tensor, ...]:
        """One tensor per level below the first, of values (B, N - 1)."""
        return tuple(values.split(self.counts, dim=1)) if self.widths else ()

    def order(self, ranks: Tensor, budget: tuple[int, ...]) -> Tensor:
        """When each look is taken in a traversal with this budget: (B, N - 1) -> (B, N - 1) from 0.

        The order of `tnet_core.inference.traversal`: level by level, parents in their own order. Looks that
        the budget leaves out come last of all (at N).
        """
        batch = ranks.shape[0]
        taken = self._levels(self.masks(ranks, [budget])[:, 0, 1:])
        above = ranks.new_zeros((batch, 1))  # order of the parents within their level
        levels, before = [ranks[:, :0]], 0
        for width, limit, level, kept in zip(self.widths, budget, self._levels(ranks), taken, strict=True):
            within = (above.unsqueeze(2) * limit + level.view(batch, above.shape[1], width)).flatten(1)
            levels.append((within + before).masked_fill(~kept, self.nodes))
            before += Tree(budget[: len(levels) - 1]).counts[-1]
            above = within
        return torch.cat(levels, dim=1)


def grid_ranks(scores: Tensor) -> Tensor:
    """Place of each cell in its grid by descending score, ties to the lower index: (G, k) -> (G, k)."""
    return scores.argsort(dim=1, descending=True, stable=True).argsort(dim=1)


def learned_ranks(tree: Tree, out: TrainOutput) -> Tensor:
    """The network's own order of the looks it took: (B, N - 1)."""
    batch = out.features.shape[0]
    levels = [
        grid_ranks(logits.gather(1, cells)).reshape(batch, count)
        for logits, cells, count in zip(out.location_logits, out.selected, tree.counts, strict=True)
    ]
    return torch.cat(levels, dim=1) if levels else out.features.new_zeros((batch, 0), dtype=torch.long)
