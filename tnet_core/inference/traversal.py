"""Traversal: look at the thumbnail, score its grid, look closer, recurse.

**The order of looks**, defined here and nowhere else: level by level; within a level, parents in
their own order; within a grid, as the policy ranks its cells (learned: descending logit, ties to
the lower index). `step` takes one look at a time in that order, `run` takes each level in one
backbone call; both give the same trace. A look forced with `attend` stands where it was taken and
counts towards its grid's budget. With a stopping rule looks are taken one by one, as many as it needs.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from tnet_core.budget import MAX_LEVELS, check_budget, extend_budget
from tnet_core.building import check_model
from tnet_core.errors import TNetError
from tnet_core.imageio.source import ImageSource
from tnet_core.inference.memory import PeakMemory
from tnet_core.inference.policies import rank_cells, resolve
from tnet_core.inference.viewer import Node, Target, Viewer, make_distribution
from tnet_core.modeling.config import Sampling
from tnet_core.modeling.tnet import TNet
from tnet_core.numbers import check_whole
from tnet_core.records import Location, Step, Timing
from tnet_core.sampling.frame import Sampler
from tnet_core.stopping import StoppingRule, StopPoint, choose_rule, compute_probabilities, make_stop
from tnet_core.trace import Trace
from tnet_core.trace.aggregation import Aggregator

_BATCH = 128  # looks per backbone call; a larger level is split to bound memory


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
        stop: StoppingRule | bool | None = None,
    ) -> None:
        check_model(model)
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
            depth = self.config.levels if self.config.is_baseline else self.sampler.depth(MAX_LEVELS)
            self.budget = check_budget(model.config, extend_budget(model.config, budget, depth), depth)
        self.rule = choose_rule(stop, model.stopping, self._depth)
        if self.rule is not None:
            most = min(self.rule.most, self.config.cells)
            self.budget = (most if budget is None else min(most, self.budget[0]),)
        self._nodes: list[Node] = []
        self._children: dict[int, list[int]] = {}  # node -> cells taken in its grid
        self._viewer = Viewer(model, self.sampler)

    # Taking looks ------------------------------------------------------------------------------

    def step(self) -> Step | None:
        """Take the next look of the order above; None when the budget is spent or the rule says to stop."""
        targets = self._list_targets(limit=1)
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
        node = 0 if parent is None else 1 + check_whole(parent, "The look to look into", 0, len(self._nodes) - 2)
        inside = self._nodes[node]
        if check_whole(level, "A level") != self._level(node) + 1:
            raise TNetError(f"A look inside {self._name_node(node)} is of level {self._level(node) + 1}, not {level}.")
        if inside.distribution is None:
            raise TNetError(
                f"{self._name_node(node).capitalize()} has no grid: this traversal has {self._depth} levels."
            )
        index = check_whole(index, "A cell", 0, self.config.cells - 1)
        if index in self._children[node]:
            raise TNetError(f"Cell {index} of {self._name_node(node)} was already looked at.")
        return self._take_one(self._target(node, index))

    def run(self) -> Trace:
        """Take all remaining looks, each level in one backbone call.

        With a stopping rule, its least number of looks in one call, then one by one.
        """
        while targets := self._list_targets(limit=None):
            for start in range(0, len(targets), _BATCH):
                self._process(targets[start : start + _BATCH])
        return self.trace()

    def trace(self) -> Trace:
        """Return what has been seen so far (at least the thumbnail)."""
        if not self._nodes:
            self.step()
        nodes, model = self._nodes, self.model
        crops = [node.crop for node in nodes if node.crop is not None]
        aggregator = self._build_aggregator()
        aggregator.prepare(tuple(range(k + 1)) for k in range(len(nodes)))
        stop = self._find_stop()
        return Trace(
            config=self.config,
            source=model.source,
            class_names=model.class_names,
            image=self.source.info(),
            sampling=self.sampler.mode,
            policy=self.policy_name,
            budget=self.budget if stop is None else (stop.looks,),
            locations=tuple(node.location for node in nodes if node.location is not None),
            distributions=tuple(node.distribution for node in nodes if node.distribution is not None),
            timing=Timing(self._opening, tuple(node.seconds for node in nodes), self._memory.read()),
            pixels_read=tuple(node.pixels_read for node in nodes),
            aggregator=aggregator,
            temperature=None if model.calibration is None else model.calibration.temperature,
            recommended=model.stopping,
            stop=stop,
            seen=None if len(crops) < len(nodes) else tuple(crops),
            precision="float16" if model.device.type == "cuda" else model.features.precision,
        )

    def _build_aggregator(self) -> Aggregator:
        weighting = self.model.weighting
        return Aggregator(
            np.stack([node.feature for node in self._nodes]),
            np.stack([node.projection for node in self._nodes]),
            self._viewer.bias,
            uniform=weighting is None,
            weighting=weighting,
        )

    # What comes next ---------------------------------------------------------------------------

    def _find_stop(self) -> StopPoint | None:
        """Return where the rule ends the looking; None without a rule, or where it goes on."""
        if self.rule is None or not self._nodes:
            return None
        looks, calibration = len(self._nodes) - 1, self.model.calibration
        logits = self._build_aggregator().logits(tuple(range(looks + 1)))
        highest = compute_probabilities(logits, 1.0 if calibration is None else calibration.temperature).max()
        ends = looks >= self.budget[0] or self.rule.is_met(looks, float(highest))
        return make_stop(self.rule, looks, float(highest)) if ends else None

    @property
    def _depth(self) -> int:
        return len(self.budget) + 1

    def _level(self, node: int) -> int:
        location = self._nodes[node].location
        return 1 if location is None else location.level

    def _name_node(self, node: int) -> str:
        return "the thumbnail" if node == 0 else f"look {node - 1}"

    def _list_targets(self, limit: int | None) -> list[Target]:
        """Return the next look (limit 1), or all looks of the next unfinished level."""
        if not self._nodes:
            return [Target(None, 0, self.sampler.whole(), (0, 0, 0))]
        if self.rule is not None:
            if self._find_stop() is not None:
                return []
            limit = limit or max(1, self.rule.least - (len(self._nodes) - 1))
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
                        f"{self._name_node(node)}, but the budget asks for {k}."
                    )
                targets += [self._target(node, cell) for cell in wanted[: max(missing, 0)]]
                if limit is not None and len(targets) >= limit:
                    return targets[:limit]
            if targets:
                return targets
        return []

    def _target(self, node: int, index: int) -> Target:
        above = self._nodes[node].target
        n = self.config.grid
        row, col = divmod(index, n)
        y, x, scale = above.position
        position = (n * y + row, n * x + col, scale + 1)
        return Target(node, index, self.sampler.cell(above.region, index), position)

    # Processing --------------------------------------------------------------------------------

    def _take_one(self, target: Target) -> Step:
        before = self._build_aggregator().logits(tuple(range(len(self._nodes)))) if self._nodes else None
        self._process([target])
        node, aggregator, rows = self._nodes[-1], self._build_aggregator(), tuple(range(len(self._nodes)))
        logits = aggregator.logits(rows)
        assert node.crop is not None  # it was just seen
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

    def _process(self, targets: list[Target]) -> None:
        """Look at the targets and append what is seen of them."""
        began = time.perf_counter()
        viewed = self._viewer.view(
            [target.region for target in targets],
            [target.position for target in targets],
            grids=self._opens_grids(targets),
        )
        seconds = (time.perf_counter() - began) / len(targets)
        nodes = []
        for i, target in enumerate(targets):
            location = self._locate(target)
            grid = None
            if viewed.scores is not None:
                level, path = (1, ()) if location is None else (location.level, location.path)
                position = len(self._nodes) + i - 1
                grid = make_distribution(level, position, path, viewed.scores[i], self.config.grid)
            ranking = [] if grid is None else rank_cells(self._policy, self.policy_name, grid)
            feature, projection = viewed.features[i], viewed.projections[i]
            crop, cost = viewed.crops[i], viewed.pixels_read[i]
            nodes.append(Node(target, location, grid, ranking, crop, cost, seconds, feature, projection))
        self._append(nodes)  # all or none: a policy may fail

    def _append(self, nodes: list[Node]) -> None:
        for node in nodes:
            self._children[len(self._nodes)] = []
            if node.target.parent is not None:
                self._children[node.target.parent].append(node.target.index)
            self._nodes.append(node)

    def _opens_grids(self, targets: list[Target]) -> bool:
        parent = targets[0].parent
        level = 1 if parent is None else self._level(parent) + 1
        return level < self._depth

    def _locate(self, target: Target) -> Location | None:
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


def traverse(
    model: TNet,
    image: Any,
    budget: Sequence[int] | int | None = None,
    policy: Any = "learned",
    levels: int | Literal["auto"] | None = None,
    *,
    sampling: Sampling | None = None,
    stop: StoppingRule | bool | None = None,
) -> Trace:
    """Traverse one image: path, bytes, Pillow image, (H, W, 3) uint8 array, (3, H, W) tensor or `ImageSource`.

    `budget` is looks per grid, one entry per level below the first (default: those of training).
    `levels="auto"` goes down until a cell has no more pixels than the network sees (for native
    sampling of large pictures); levels that the budget does not name take its last entry in training.
    `stop` is a rule that ends the looking, True for the checkpoint's own; `Trace.stop` tells where and why it did.
    """
    return Traversal(model, image, budget, policy, levels, sampling=sampling, stop=stop).run()
