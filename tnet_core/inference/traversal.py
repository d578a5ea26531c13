"""Traversal: look at the thumbnail, score its grid, look closer, recurse.

**The order of looks**, defined here and nowhere else: level by level; within a level, parents in
their own order; within a grid, as the policy ranks its cells (learned: descending logit, ties to
the lower index). `step` takes one look at a time in that order, `run` takes each level in one
backbone call; both give the same trace. A look forced with `attend` stands where it was taken and
counts towards its grid's budget.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from tnet_core.budget import MOST_LEVELS, check_budget, extended
from tnet_core.errors import TNetError
from tnet_core.imageio.source import ImageSource
from tnet_core.inference.memory import PeakMemory
from tnet_core.inference.policies import ranked, resolve
from tnet_core.inference.viewer import Features, Position, Viewer
from tnet_core.modeling.config import Sampling
from tnet_core.modeling.tnet import Glance, TNet
from tnet_core.numbers import softmax, whole
from tnet_core.records import Distribution, Location, Step, Timing
from tnet_core.sampling.frame import Region, Sampler
from tnet_core.trace import Trace
from tnet_core.trace.aggregation import Aggregator

_BATCH = 128  # looks per backbone call; a larger level is split to bound memory
_MOST_WAITING = 4 * _BATCH  # looks that wait at their maps, for the same reason
_NOT_YET = np.empty(0, np.float32)  # the features of a look that is not completed


@dataclass(frozen=True)
class _Target:
    """A region to look at next: cell `index` of the grid of node `parent` (None: the thumbnail itself)."""

    parent: int | None
    index: int
    region: Region
    position: Position


@dataclass
class _Node:
    """A processed look; node 0 is the thumbnail."""

    target: _Target
    location: Location | None
    distribution: Distribution | None
    ranking: list[int]  # what the policy wants in this node's grid
    crop: np.ndarray
    pixels_read: int
    seconds: float
    feature: np.ndarray
    projection: np.ndarray


class Traversal:
    """One image and one model, step by step.

    The first `step` is the thumbnail; each further one is a look; None tells the end.
    """

    def __init__(
        self,
        model: TNet,
        image: Any,
        budget: Sequence[int] | int | None = None,
        policy: Any = "learned",
        levels: int | Literal["auto"] | None = None,
        *,
        sampling: Sampling | None = None,
    ) -> None:
        if model.training:
            raise TNetError("The model is in training mode, which changes it while it looks; call model.eval() first.")
        self.model = model
        self.config = model.config
        if levels != "auto":
            self.budget = check_budget(model.config, budget, levels)
        self.policy_name, self._policy = resolve(policy)
        self._memory = PeakMemory(model.device)
        began = time.perf_counter()
        self.source = ImageSource.open(image)
        self._opening = time.perf_counter() - began
        self.sampler = Sampler(self.source, model.config, sampling)
        if levels == "auto":
            depth = self.config.levels if self.config.is_baseline else self.sampler.depth(MOST_LEVELS)
            self.budget = check_budget(model.config, extended(model.config, budget, depth), depth)
        self._nodes: list[_Node] = []
        self._children: dict[int, list[int]] = {}  # node -> cells taken in its grid
        self._viewer = Viewer(model, self.sampler)

    # Taking looks ------------------------------------------------------------------------------

    def step(self) -> Step | None:
        """Take the next look of the order above; None when the budget is spent."""
        targets = self._pending(limit=1)
        if not targets:
            return None
        return self._take_one(targets[0])

    def attend(self, level: int, index: int, parent: int | None = None) -> Step:
        """Override the policy: look now at cell `index` in the grid of look `parent`.

        `parent` is a position among the looks taken so far (None: the thumbnail), `level` that of
        the new look: 2 inside the thumbnail's grid, 3 inside a level-2 look's, …
        """
        if self.config.is_baseline:
            raise TNetError("This model is a baseline that sees the whole image at once: it takes no looks.")
        if not self._nodes:
            self.step()
        node = 0 if parent is None else 1 + whole(parent, "The look to look into", 0, len(self._nodes) - 2)
        inside = self._nodes[node]
        if whole(level, "A level") != self._level(node) + 1:
            raise TNetError(f"A look inside {self._called(node)} is of level {self._level(node) + 1}, not {level}.")
        if inside.distribution is None:
            raise TNetError(f"{self._called(node).capitalize()} has no grid: this traversal has {self._depth} levels.")
        index = whole(index, "A cell", 0, self.config.cells - 1)
        if index in self._children[node]:
            raise TNetError(f"Cell {index} of {self._called(node)} was already looked at.")
        return self._take_one(self._target(node, index))

    def run(self) -> Trace:
        """Take all remaining looks, each level in one backbone call; the looks of all levels end together."""
        first = len(self._nodes)
        waiting: list[Glance] = []
        try:
            while targets := self._pending(limit=None):
                for start in range(0, len(targets), _BATCH):
                    self._process(targets[start : start + _BATCH], waiting)
                    if len(self._nodes) - first >= _MOST_WAITING:
                        first = self._complete(first, waiting)
        finally:  # a policy may fail half-way: what was seen before stays
            self._complete(first, waiting)
        return self.trace()

    def trace(self) -> Trace:
        """What has been seen so far (at least the thumbnail)."""
        if not self._nodes:
            self.step()
        nodes, model = self._nodes, self.model
        aggregator = self._aggregator()
        aggregator.prepare(tuple(range(k + 1)) for k in range(len(nodes)))
        return Trace(
            config=self.config,
            source=model.source,
            class_names=model.class_names,
            image=self.source.info(),
            sampling=self.sampler.mode,
            policy=self.policy_name,
            budget=self.budget,
            locations=tuple(node.location for node in nodes if node.location is not None),
            distributions=tuple(node.distribution for node in nodes if node.distribution is not None),
            timing=Timing(self._opening, tuple(node.seconds for node in nodes), self._memory.read()),
            pixels_read=tuple(node.pixels_read for node in nodes),
            aggregator=aggregator,
            seen=tuple(node.crop for node in nodes),
        )

    def _aggregator(self) -> Aggregator:
        weighting = self.model.weighting
        return Aggregator(
            np.stack([node.feature for node in self._nodes]),
            np.stack([node.projection for node in self._nodes]),
            self._viewer.bias,
            uniform=weighting is None,
            weighting=weighting,
        )

    # What comes next ---------------------------------------------------------------------------

    @property
    def _depth(self) -> int:
        return len(self.budget) + 1

    def _level(self, node: int) -> int:
        location = self._nodes[node].location
        return 1 if location is None else location.level

    def _called(self, node: int) -> str:
        return "the thumbnail" if node == 0 else f"look {node - 1}"

    def _pending(self, limit: int | None) -> list[_Target]:
        """The next look (limit 1), or all looks of the next unfinished level."""
        if not self._nodes:
            return [_Target(None, 0, self.sampler.whole(), (0, 0, 0))]
        for level, k in enumerate(self.budget, start=2):
            targets = []
            for node in range(len(self._nodes)):
                if self._level(node) != level - 1:
                    continue
                taken = self._children[node]
                wanted = [cell for cell in self._nodes[node].ranking if cell not in taken]
                missing = k - len(taken)
                if missing > len(wanted):
                    raise TNetError(
                        f"The policy '{self.policy_name}' names {len(wanted) + len(taken)} cells in the grid of "
                        f"{self._called(node)}, but the budget asks for {k}."
                    )
                targets += [self._target(node, cell) for cell in wanted[: max(missing, 0)]]
                if limit is not None and len(targets) >= limit:
                    return targets[:limit]
            if targets:
                return targets
        return []

    def _target(self, node: int, index: int) -> _Target:
        above = self._nodes[node].target
        n = self.config.grid
        row, col = divmod(index, n)
        y, x, scale = above.position
        position = (n * y + row, n * x + col, scale + 1)
        return _Target(node, index, self.sampler.cell(above.region, index), position)

    # Processing --------------------------------------------------------------------------------

    def _take_one(self, target: _Target) -> Step:
        before = self._aggregator().logits(tuple(range(len(self._nodes)))) if self._nodes else None
        self._process([target])
        node, aggregator, rows = self._nodes[-1], self._aggregator(), tuple(range(len(self._nodes)))
        logits = aggregator.logits(rows)
        return Step(
            number=len(self._nodes) - 1,
            location=node.location,
            crop=node.crop,
            distribution=node.distribution,
            logits=logits,
            change=None if before is None else logits - before,
            weights=aggregator.weights(rows),
            seconds=node.seconds,
        )

    def _process(self, targets: list[_Target], waiting: list[Glance] | None = None) -> None:
        """Append what is seen of the targets; with `waiting`, features may be left to `_complete`."""
        began = time.perf_counter()
        viewed = self._viewer.view(
            [target.region for target in targets],
            [target.position for target in targets],
            grids=self._opens_grids(targets),
            wait=waiting is not None,
        )
        seconds = (time.perf_counter() - began) / len(targets)
        nodes = []
        for i, target in enumerate(targets):
            location = self._locate(target)
            grid = None
            if viewed.scores is not None:
                level, path = (1, ()) if location is None else (location.level, location.path)
                position = len(self._nodes) + i - 1
                grid = _distribution(level, position, path, viewed.scores[i], self.config.grid)
            ranking = [] if grid is None else ranked(self._policy, self.policy_name, grid)
            feature = projection = _NOT_YET
            if isinstance(viewed.features, Features):
                feature, projection = viewed.features.vectors[i], viewed.features.projections[i]
            crop, cost = viewed.crops[i], viewed.pixels_read[i]
            nodes.append(_Node(target, location, grid, ranking, crop, cost, seconds, feature, projection))
        self._append(nodes)
        if waiting is not None and isinstance(viewed.features, Glance):
            waiting.append(viewed.features)

    def _append(self, nodes: list[_Node]) -> None:
        for node in nodes:
            self._children[len(self._nodes)] = []
            if node.target.parent is not None:
                self._children[node.target.parent].append(node.target.index)
            self._nodes.append(node)

    def _complete(self, first: int, waiting: list[Glance]) -> int:
        """Features of the nodes from `first` on, if they wait for them; without them no node stays.

        The number of nodes, none of which waits any more.
        """
        if not waiting:
            return len(self._nodes)
        began = time.perf_counter()
        nodes = self._nodes[first:]
        try:
            features = self._viewer.complete(waiting)
        except BaseException:
            kept, self._nodes, self._children = self._nodes[:first], [], {}
            self._append(kept)
            raise
        seconds = (time.perf_counter() - began) / len(nodes)
        for node, vector, projection in zip(nodes, features.vectors, features.projections, strict=True):
            node.feature, node.projection = vector, projection
            node.seconds += seconds
        waiting.clear()
        return len(self._nodes)

    def _opens_grids(self, targets: list[_Target]) -> bool:
        parent = targets[0].parent
        level = 1 if parent is None else self._level(parent) + 1
        return level < self._depth

    def _locate(self, target: _Target) -> Location | None:
        if target.parent is None:
            return None
        parent, region = self._nodes[target.parent], target.region
        grid = parent.distribution
        assert grid is not None
        row, col = divmod(target.index, self.config.grid)
        return Location(
            level=self._level(target.parent) + 1,
            index=target.index,
            parent=None if target.parent == 0 else target.parent - 1,
            box=self.sampler.box(region),
            pixels=(region.y, region.x, region.h, region.w),
            logit=float(grid.logits[row, col]),
            prob=float(grid.probabilities[row, col]),
            rank=int(grid.ranks[row, col]),
            lift=float(grid.probabilities[row, col]) * grid.cells,
            path=(*grid.path, target.index),
        )


def _distribution(level: int, position: int, path: tuple[int, ...], logits: np.ndarray, n: int) -> Distribution:
    probabilities = softmax(logits).astype(np.float32)
    parent = None if position < 0 else position
    return Distribution(level, parent, path, logits.reshape(n, n), probabilities.reshape(n, n))


def traverse(
    model: TNet,
    image: Any,
    budget: Sequence[int] | int | None = None,
    policy: Any = "learned",
    levels: int | Literal["auto"] | None = None,
    *,
    sampling: Sampling | None = None,
) -> Trace:
    """Traverse one image: path, bytes, Pillow image, (H, W, 3) uint8 array or `ImageSource`.

    `budget` is looks per grid, one entry per level below the first (default: those of training).
    `levels="auto"` goes down until a cell has no more pixels than the network sees (for native
    sampling of large pictures); levels that the budget does not name take its last entry in training.
    """
    return Traversal(model, image, budget, policy, levels, sampling=sampling).run()
