"""TNet: the modules put together, and the batched forward that training and evaluation use.

Step-by-step processing of one image lives in `tnet_core.inference.traversal`; both call `look`, `locate` and
`weights` below, so there is one model and two ways to drive it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tnet_core.budget import check_budget
from tnet_core.errors import TNetError
from tnet_core.modeling.classification import ClassificationModule
from tnet_core.modeling.config import TNetConfig
from tnet_core.modeling.features import FeatureExtractionModule
from tnet_core.modeling.location import LOG_EPSILON, ContextLocationModule, LocationModule, normalise_logits, top_k
from tnet_core.modeling.positional import PositionalEncodingModule
from tnet_core.modeling.weighting import FeatureWeightingModule
from tnet_core.sampling.grid import official_axis

PORTION = 4 * 224 * 224  # pixels that a CPU's backbone takes at a time
TOGETHER = 12  # looks that its part behind the location map takes at a time
Select = Callable[[Tensor, int], Tensor]  # probabilities (B, n * n), k -> distinct cells (B, k)


@dataclass(frozen=True)
class LookOutput:
    """What the backbone made of a batch of images at base resolution."""

    map: Tensor | None  # F (B, c, n, n): input of the location module
    vector: Tensor  # V (B, D): before the positional module
    feature: Tensor  # V' (B, D): after it


@dataclass(frozen=True)
class Glance:
    """A look up to its location map; `TNet.complete` does the rest."""

    map: Tensor | None  # F (B, c, n, n)
    carried: Tensor  # (B, …): what the rest of the backbone starts from
    positions: Tensor  # (B, 3)


@dataclass(frozen=True)
class TrainOutput:
    """One batched traversal of B images with n_l looks at level l (n_1 = 1), N in all.

    Rows are image-major, then parent-major, cells in raster order, as in the official code.
    """

    logits: Tensor  # (B, classes) joint prediction
    feature_logits: list[Tensor]  # per level 1..L: (B * n_l, classes) prediction of each feature alone
    log_probs: list[Tensor]  # per level 2..L: (B * n_l,) log-probability of each chosen cell
    sequence_log_prob: Tensor  # (B,) sum over all chosen cells
    representation: Tensor  # (B, D) aggregated vector, before the classifier's dropout
    vectors: Tensor  # (B, N, D) V of all looks, thumbnail first
    features: Tensor  # (B, N, D) V' of them
    weights: Tensor  # (B, N)
    location_logits: list[Tensor]  # per level 1..L-1: (B * n_l, n * n), unit length
    selected: list[Tensor]  # per level 1..L-1: (B * n_l, k) chosen cells, raster order


@dataclass(frozen=True)
class _Looks:
    """What `TrainOutput` is made of; lists per level."""

    vectors: list[Tensor] = field(default_factory=list)  # (B, n_l, D)
    features: list[Tensor] = field(default_factory=list)  # (B, n_l, D)
    location_logits: list[Tensor] = field(default_factory=list)
    probabilities: list[Tensor] = field(default_factory=list)
    selected: list[Tensor] = field(default_factory=list)

    def add(self, batch: int, vector: Tensor, feature: Tensor) -> None:
        """A level: V and V' (B * n_l, D)."""
        self.vectors.append(vector.view(batch, -1, vector.shape[1]))
        self.features.append(feature.view(batch, -1, feature.shape[1]))

    def fill(self, looks_per_grid: Sequence[int]) -> None:
        """Levels below a budget of 0, where nothing was looked at."""
        first = self.features[0]
        for k in looks_per_grid[len(self.selected) :]:
            self.location_logits.append(self.location_logits[0][:0])
            self.probabilities.append(self.probabilities[0][:0])
            self.selected.append(self.selected[0].new_zeros((0, k)))
        for _ in range(len(looks_per_grid) + 1 - len(self.features)):
            self.vectors.append(first[:, :0])
            self.features.append(first[:, :0])


class TNet(nn.Module):
    """A Traversal Network, or a plain classifier when the configuration is a baseline.

    `class_names` belongs to the weights, not to the architecture: it comes with a checkpoint.
    """

    reward_baseline: Tensor

    def __init__(self, config: TNetConfig) -> None:
        super().__init__()
        self.config = config
        self.class_names: tuple[str, ...] = ()
        self.source = "untrained"  # where the weights come from; shown to users and stored in traces
        self.card: object | None = None  # tnet_core.checkpoints.CheckpointCard of a loaded checkpoint
        self.features = FeatureExtractionModule(config)
        width = self.features.num_features
        at_classifier = config.dropout if config.dropout_at == "classifier" else 0.0
        self.classifier = ClassificationModule(width, config.num_classes, at_classifier)
        self.positional = PositionalEncodingModule(config.positional, width) if config.positional != "none" else None
        self.location: LocationModule | ContextLocationModule | None = None
        if self.features.tap is not None:
            kind = ContextLocationModule if config.location == "context" else LocationModule
            self.location = kind(self.features.tap.channels, width)
            # Moving average of the reward (REINFORCE baseline); part of the checkpoint.
            self.register_buffer("reward_baseline", torch.tensor(0.5))
        self.weighting = FeatureWeightingModule(width) if config.weighting else None

    @property
    def device(self) -> torch.device:
        return self.classifier.linear.weight.device

    def look(self, images: Tensor, positions: Tensor) -> LookOutput:
        """Backbone and positional module: images (B, 3, b, b) in [-1, 1], positions (B, 3)."""
        count = math.ceil(images.shape[0] / self._portion(images))
        if count > 1:
            parts = zip(images.tensor_split(count), positions.tensor_split(count), strict=True)  # of equal size
            return _joined([self._look(*part) for part in parts])
        return self._look(images, positions)

    def _look(self, images: Tensor, positions: Tensor) -> LookOutput:
        location_map, vector = self.features(images)
        return LookOutput(location_map, vector, self._placed(vector, positions))

    def _placed(self, vectors: Tensor, positions: Tensor) -> Tensor:
        return vectors if self.positional is None else self.positional(vectors, positions)

    def _portion(self, images: Tensor) -> int:
        """How many images the backbone takes at a time, at most.

        On a CPU, outputs of large batches leave the cache and are memory that the system hands out anew each
        time: in portions the same looks take down to half the time. While learning, batch norm sees the whole level.
        """
        if images.device.type != "cpu" or self.training or torch.is_grad_enabled():
            return max(images.shape[0], 1)
        return max(PORTION // (images.shape[2] * images.shape[3]), 1)

    @property
    def glances(self) -> bool:
        """Whether a look can wait at its location map (`glance`): what it says is not needed to look further.

        The last layers of a backbone have small maps and many weights. They run best on many looks at once,
        so those of all levels go through them together. True of optimised copies on a CPU.
        """
        return self.features.stops and not self.training and not isinstance(self.location, ContextLocationModule)

    def glance(self, images: Tensor, positions: Tensor) -> Glance:
        """The first part of `look`, up to the location map."""
        count = max(math.ceil(images.shape[0] / self._portion(images)), 1)
        parts = [self.features.begin(part) for part in images.tensor_split(count)]
        maps = [location_map for location_map, _ in parts if location_map is not None]
        return Glance(_cat(maps) if maps else None, _cat([carried for _, carried in parts]), positions)

    def complete(self, glances: Sequence[Glance]) -> tuple[Tensor, Tensor]:
        """The second part: V and V' (N, D) of the looks of all these, in their order."""
        carried = _cat([glance.carried for glance in glances])  # (N, …)
        count = max(math.ceil(carried.shape[0] / TOGETHER), 1)
        vectors = _cat([self.features.finish(part) for part in carried.tensor_split(count)])
        return vectors, self._placed(vectors, _cat([glance.positions for glance in glances]))

    def locate(self, seen: LookOutput | Glance) -> Tensor:
        """Unit-length location logits (B, n * n). No gradient reaches the backbone from here."""
        if self.location is None or seen.map is None:
            raise TNetError("This model is a baseline without a location module: it takes no looks.")
        vector = seen.vector.detach() if isinstance(seen, LookOutput) else None
        return normalise_logits(self.location(seen.map.detach(), vector).float())

    def weights(self, features: Tensor) -> Tensor:
        """Weights of the average over all looks: V' (B, N, D) -> (B, N), rows sum to 1."""
        if self.weighting is None:
            batch, count, _ = features.shape
            return features.new_full((batch, count), 1.0 / count)
        return self.weighting(features)

    def forward(self, images: Tensor, budget: Sequence[int] | int | None = None) -> Tensor:
        """Joint logits (B, classes); see `forward_train`."""
        features = torch.cat(self._looks(images, budget, None, top_k).features, dim=1)  # (B, N, D)
        return self.classifier(self._average(features)[1])

    def forward_train(
        self,
        images: Tensor,
        budget: Sequence[int] | int | None = None,
        *,
        levels: int | None = None,
        select: Select = top_k,
    ) -> TrainOutput:
        """Traverse a batch: images (B, 3, S, S) in [-1, 1], looks per grid for each level below the first.

        One backbone call per level, so batch norm sees each level on its own in training, as in the
        official code. `select` replaces the official top-k choice (exploration, other policies).
        """
        return self._conclude(self._looks(images, budget, levels, select))

    def _looks(self, images: Tensor, budget: Sequence[int] | int | None, levels: int | None, select: Select) -> _Looks:
        _check_batch(images)
        looks_per_grid = check_budget(self.config, budget, levels)
        batch = images.shape[0]
        level_images, positions = images, images.new_zeros((batch, 3), dtype=torch.long)
        waiting: list[Glance] = []
        waits = self.glances and not torch.is_grad_enabled()
        looks = _Looks()
        for k in (*looks_per_grid, None):
            at_base = self._to_base(level_images)
            seen = self.glance(at_base, positions) if waits else self.look(at_base, positions)
            if isinstance(seen, Glance):
                waiting.append(seen)
            else:
                looks.add(batch, seen.vector, seen.feature)
            if k is None:
                break
            unit = self.locate(seen)  # (B * n_l, n * n)
            probabilities = unit.softmax(1)
            cells = select(probabilities, k)  # (B * n_l, k)
            looks.location_logits.append(unit)
            looks.probabilities.append(probabilities)
            looks.selected.append(cells)
            if k == 0:
                break
            level_images, positions = self._descend(level_images, positions, cells)
        if waiting:
            counts = [len(glance.positions) for glance in waiting]
            for level in zip(*(rows.split(counts) for rows in self.complete(waiting)), strict=True):
                looks.add(batch, *level)
        looks.fill(looks_per_grid)
        return looks

    def _average(self, features: Tensor) -> tuple[Tensor, Tensor]:
        """V' (B, N, D) -> weights (B, N), representation (B, D)."""
        weights = self.weights(features)
        return weights, (weights.unsqueeze(2) * features).sum(1)

    def _conclude(self, looks: _Looks) -> TrainOutput:
        stacked = torch.cat(looks.features, dim=1)  # (B, N, D)
        batch = stacked.shape[0]
        weights, representation = self._average(stacked)
        chosen = [p.gather(1, cells) for p, cells in zip(looks.probabilities, looks.selected, strict=True)]
        log_probs = [(p + LOG_EPSILON).log().flatten() for p in chosen]
        sequence = stacked.new_zeros(batch)
        for level in log_probs:
            sequence = sequence + level.view(batch, -1).sum(1)
        return TrainOutput(
            logits=self.classifier(representation),
            feature_logits=[self.classifier(level.flatten(0, 1)) for level in looks.features],
            log_probs=log_probs,
            sequence_log_prob=sequence,
            representation=representation,
            vectors=torch.cat(looks.vectors, dim=1),
            features=stacked,
            weights=weights,
            location_logits=looks.location_logits,
            selected=looks.selected,
        )

    def _to_base(self, images: Tensor) -> Tensor:
        base = self.config.base_resolution
        return reduced(images, base)

    def _descend(self, images: Tensor, positions: Tensor, cells: Tensor) -> tuple[Tensor, Tensor]:
        """Cut the chosen cells out of the current images: (B, 3, h, w), (B, 3), (B, k) -> next level.

        Only chosen cells are copied; the official code cuts all n * n of them first.
        """
        n, fraction = self.config.grid, self.config.cell_fraction
        rows, cols = (official_axis(side, n, fraction) for side in images.shape[2:])
        margins = (cols.pad_before, cols.pad_after, rows.pad_before, rows.pad_after)
        padded = F.pad(images, margins) if any(margins) else images  # padding by nothing would copy it all
        # A view (B, 3, n, n, cell, cell); indexing copies what was asked for.
        windows = padded.unfold(2, rows.cell, rows.stride).unfold(3, cols.cell, cols.stride)
        parents = torch.arange(images.shape[0], device=images.device).repeat_interleave(cells.shape[1])
        r, c = cells.flatten() // n, cells.flatten() % n
        crops = windows[parents, :, r, c]  # (B * k, 3, cell, cell)
        above = positions[parents]
        below = torch.stack([n * above[:, 0] + r, n * above[:, 1] + c, above[:, 2] + 1], dim=1)
        return crops, below


def _joined(parts: list[LookOutput]) -> LookOutput:
    maps = [part.map for part in parts if part.map is not None]
    return LookOutput(
        _cat(maps) if maps else None, _cat([part.vector for part in parts]), _cat([part.feature for part in parts])
    )


def _cat(parts: list[Tensor]) -> Tensor:
    return parts[0] if len(parts) == 1 else torch.cat(parts)


def _check_batch(images: object) -> None:
    if not isinstance(images, Tensor) or images.ndim != 4 or images.shape[1] != 3 or images.shape[0] == 0:
        found = tuple(images.shape) if isinstance(images, Tensor) else type(images).__name__
        raise TNetError(f"A batch of images must be a tensor (B, 3, S, S) with B > 0, not {found}.")
    if not images.is_floating_point():
        raise TNetError(f"A batch of images must hold floating-point values in [-1, 1], not {images.dtype}.")


def reduced(images: Tensor, side: int) -> Tensor:
    """Resize a batch bilinearly without antialiasing, as the official code does: (B, 3, H, W) -> (B, 3, side, side).

    Where an axis shrinks by a whole number, an output pixel is one pixel, or the mean of two neighbours: slices
    of the images then take an eighth of the time of a general resize. They may share the images' memory.
    """
    height, width = images.shape[2:]
    if height % side or width % side:
        return F.interpolate(images, (side, side), mode="bilinear", align_corners=False, antialias=False)
    return _every(_every(images, 2, height // side), 3, width // side)


def _every(images: Tensor, axis: int, step: int) -> Tensor:
    """The value at the middle of every `step` pixels."""
    if step == 1:
        return images
    whole = slice(None)
    first, second = ((whole,) * axis + (slice(at, None, step),) for at in ((step - 1) // 2, step // 2))
    return images[first] if step % 2 else (images[first] + images[second]) / 2
