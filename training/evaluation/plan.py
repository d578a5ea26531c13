"""What to measure and how much of it fits: options, the plan made of them, and the tree of looks it takes.

The tree of looks is shared by a batch of images. Looks are numbered thumbnail first, then level by level, parents in
order, cells in raster order: the order of `TrainOutput.features`. A policy is a *rank* per look, its place among the
looks of its own grid (0: first choice), so the looks of every smaller budget follow from the ranks alone.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from tnet_core.budget import check_budget
from tnet_core.errors import TNetError
from tnet_core.modeling.config import TNetConfig
from tnet_core.modeling.tnet import TrainOutput
from training.recipes.recipe import MAX_WORKERS

POLICIES = ("learned", "random", "centre", "mean", "surest", "oracle")
_NEED_EVERYTHING = ("surest", "oracle")  # policies that choose among looks at all cells
_MAX_WHOLE_TREE = 101  # looks: up to here every cell of every image is looked at, and policies share the looks
_MAX_PARTIAL_TREE = 200  # per image and policy, where they do not


@dataclass(frozen=True)
class Options:
    budget: int | tuple[int, ...] | None = None  # largest looks per grid; None: 10 or as many as there are
    policies: tuple[str, ...] = POLICIES
    limit: int | None = None  # at most this many images, evenly spread
    seed: int = 0  # of the random policy and of the bootstrap
    draws: int = 5  # of the random policy, averaged
    resamples: int = 10_000  # of the bootstrap
    confidence: float = 0.95
    batch_size: int | None = None  # images per batch; None: by the number of looks
    workers: int = 2  # loader processes
    skip_unreadable: bool = False
    equivariance: bool = True  # whether looks follow content that is moved (thumbnails only)
    timing: bool = True  # time per image of some budgets, one image at a time

    def __post_init__(self) -> None:
        for name in self.policies:
            if name not in POLICIES:
                raise TNetError(f"There is no policy '{name}' to compare; known are {', '.join(POLICIES)}.")
        if "learned" not in self.policies:
            raise TNetError("The learned policy is always measured; keep 'learned' among the policies.")
        if self.limit is not None and self.limit < 1:
            raise TNetError("The limit must be at least 1 image.")
        if self.batch_size is not None and self.batch_size < 1:
            raise TNetError("A batch must have at least 1 image.")
        for name, least, most in (
            ("seed", 0, 2**63 - 1), ("workers", 0, MAX_WORKERS), ("draws", 1, 1000), ("resamples", 1, 100_000),
        ):  # fmt: skip
            if not least <= getattr(self, name) <= most:
                raise TNetError(f"--{name} is {getattr(self, name)}, but must lie in {least}…{most}.")


@dataclass(frozen=True)
class Plan:
    """How a model is measured."""

    tree: Tree  # looks taken per image
    budgets: list[tuple[int, ...]]
    trained: tuple[int, ...]  # the budget of training, or what was measured of it
    is_whole: bool  # all cells of all images are looked at
    policies: tuple[str, ...]
    left_out: dict[str, str]  # policy -> why it is not measured
    batch_size: int
    first_batch: int  # of the pass that measures the mean policy
    equivariance: bool


def make_plan(config: TNetConfig, options: Options, *, fast: bool = False) -> Plan:
    """Return how a model is measured; `fast` says that the device likes large batches."""
    limits = _choose_limits(config, options.budget)
    everything = Tree((config.cells,) * len(limits))
    fits = everything.nodes <= _MAX_WHOLE_TREE
    left_out: dict[str, str] = {}
    policies = options.policies
    if config.is_baseline:
        policies = ("learned",)
    elif not (fits and config.levels <= 3):
        reason = (
            f"A tree of {everything.nodes} looks per image is too large to know the worth of every cell "
            f"(at most {_MAX_WHOLE_TREE} and three levels)."
        )
        left_out = {name: reason for name in _NEED_EVERYTHING if name in policies}
        policies = tuple(name for name in policies if name not in left_out)
    is_whole = fits and len(set(policies)) > 1  # the learned looks alone need not be shared
    tree = everything if is_whole else Tree(limits)
    if not is_whole and tree.nodes > _MAX_PARTIAL_TREE:
        raise TNetError(f"A budget of {tree.nodes - 1} looks per image is too large to measure; use a smaller one.")
    crops = 16 if config.is_baseline else 1024 if fast else 160
    return Plan(
        tree=tree,
        budgets=list(Tree(limits).budgets()),
        trained=tuple(min(a, b) for a, b in zip(config.budget, limits, strict=True)),
        is_whole=is_whole,
        policies=policies,
        left_out=left_out,
        batch_size=options.batch_size or max(1, crops // tree.nodes),
        first_batch=options.batch_size or max(1, min(32, crops // (1 + sum(Tree(config.budget[:-1]).counts)))),
        equivariance=options.equivariance and not config.is_baseline,
    )


def _choose_limits(config: TNetConfig, budget: int | tuple[int, ...] | None) -> tuple[int, ...]:
    """Return the largest budget measured. One number means as many in every grid, up to its cells."""
    if config.is_baseline:
        return ()
    below = config.levels - 1
    if isinstance(budget, tuple) and len(budget) > 1:
        return check_budget(config, budget, None)
    if budget is None and below > 1 and Tree((config.cells,) * below).nodes > _MAX_WHOLE_TREE:
        return config.budget
    one = 10 if budget is None else budget[0] if isinstance(budget, tuple) else budget
    if one < 0:
        raise TNetError(f"A budget of {one} looks is not possible.")
    return (min(one, config.cells),) * below


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
        """Return every budget up to the widths, smallest first."""
        yield from itertools.product(*(range(k + 1) for k in self.widths))

    def make_masks(self, ranks: Tensor, budgets: list[tuple[int, ...]]) -> Tensor:
        """Return which looks each budget takes, the thumbnail among them: ranks (B, N - 1) -> (B, S, N) bool."""
        batch, count = ranks.shape[0], len(budgets)
        limits = torch.tensor(budgets, dtype=ranks.dtype, device=ranks.device)  # (S, levels below the first)
        levels = [torch.ones((batch, count, 1), dtype=torch.bool, device=ranks.device)]
        for depth, (width, level) in enumerate(zip(self.widths, self._split_levels(ranks), strict=True)):
            above = levels[-1].unsqueeze(3)  # (B, S, parents, 1): a look needs its parent
            taken = level.view(batch, 1, above.shape[2], width) < limits[:, depth].view(1, count, 1, 1)
            levels.append((above & taken).flatten(2))
        return torch.cat(levels, dim=2)

    def _split_levels(self, values: Tensor) -> tuple[Tensor, ...]:
        """Return one tensor per level below the first, of values (B, N - 1)."""
        return tuple(values.split(self.counts, dim=1)) if self.widths else ()

    def compute_order(self, ranks: Tensor, budget: tuple[int, ...]) -> Tensor:
        """Return when each look is taken in a traversal with this budget: (B, N - 1) -> (B, N - 1) from 0.

        The order of `tnet_core.inference.traversal`: level by level, parents in their own order. Looks that
        the budget leaves out come last of all (at N).
        """
        batch = ranks.shape[0]
        taken = self._split_levels(self.make_masks(ranks, [budget])[:, 0, 1:])
        above = ranks.new_zeros((batch, 1))  # order of the parents within their level
        levels, before = [ranks[:, :0]], 0
        for width, limit, level, kept in zip(self.widths, budget, self._split_levels(ranks), taken, strict=True):
            within = (above.unsqueeze(2) * limit + level.view(batch, above.shape[1], width)).flatten(1)
            levels.append((within + before).masked_fill(~kept, self.nodes))
            before += Tree(budget[: len(levels) - 1]).counts[-1]
            above = within
        return torch.cat(levels, dim=1)


def rank_cells(scores: Tensor) -> Tensor:
    """Return the place of each cell in its grid by descending score, ties to the lower index: (G, k) -> (G, k)."""
    return scores.argsort(dim=1, descending=True, stable=True).argsort(dim=1)


def rank_learned(tree: Tree, out: TrainOutput) -> Tensor:
    """Return the network's own order of the looks it took: (B, N - 1)."""
    batch = out.features.shape[0]
    levels = [
        rank_cells(logits.gather(1, cells)).reshape(batch, count)
        for logits, cells, count in zip(out.location_logits, out.selected, tree.counts, strict=True)
    ]
    return torch.cat(levels, dim=1) if levels else out.features.new_zeros((batch, 0), dtype=torch.long)
