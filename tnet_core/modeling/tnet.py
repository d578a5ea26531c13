"""TNet: the modules of the paper's section 3.2 put together as in its section 3.1.

`TNet._traverse` is that walk: the downscaled image, its grid, the choice of locations, crops of them, and again; the
average and the final prediction are `_average` and `classifier`. Section 3 numbers no equation; section 4 learns from
`TrainOutput`, whose fields name the equations that they stand in. Letters are the paper's: F is the map that the
location module reads, V a feature vector, V' the same with its position. Where paper and official code differ, the code
follows the official one and says so. Looks at one image of any size, step by step, are taken by
`tnet_core.inference.traversal` with `look`, `locate` and `weights` below.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from tnet_core.budget import check_budget
from tnet_core.errors import TNetError
from tnet_core.modeling.attached import AttachedMethods
from tnet_core.modeling.config import TNetConfig
from tnet_core.modeling.features import FeatureExtractionModule
from tnet_core.modeling.location import LOG_EPSILON, ContextLocationModule, LocationModule, normalise_logits, top_k
from tnet_core.modeling.positional import PositionalEncodingModule
from tnet_core.modeling.weighting import FeatureWeightingModule
from tnet_core.sampling.grid import cut_cells, resize_batch

if TYPE_CHECKING:
    from tnet_core.stopping import Calibration, StoppingRule

Select = Callable[[Tensor, int], Tensor]  # probabilities (B, n * n), k -> distinct cells (B, k)


@dataclass(frozen=True)
class LookOutput:
    """What the model made of a batch of images at base resolution."""

    map: Tensor | None  # F (B, c, n, n): input of the location module
    vector: Tensor  # V (B, D): before the positional module
    feature: Tensor  # V' (B, D): after it


@dataclass(frozen=True)
class LevelOutput:
    """One processing level of B images: n_l looks each, and the grids that they open."""

    vectors: Tensor  # V (B, n_l, D)
    features: Tensor  # V' (B, n_l, D)
    location_logits: Tensor | None  # (B * n_l, n * n), unit length; None at the last level
    probabilities: Tensor | None  # their softmax
    selected: Tensor | None  # (B * n_l, k) chosen cells, raster order


@dataclass(frozen=True)
class TrainOutput:
    """One batched traversal of B images with n_l looks at level l (n_1 = 1), N in all: what the learning rule needs.

    Rows are image-major, then parent-major, cells in raster order, as in the official code.
    """

    logits: Tensor  # (B, classes) joint prediction, p(y | l, x) of eqs. 1 and 3a
    feature_logits: list[Tensor]  # per level 1..L: (B * n_l, classes) of each feature alone, p(y | l_k, x) of eq. 3b
    log_probs: list[Tensor]  # per level 2..L: (B * n_l,) of each chosen cell, log p(l_k | x) of eq. 3b
    sequence_log_prob: Tensor  # (B,) sum over all chosen cells, log p(l | x) of eqs. 1 and 3a
    representation: Tensor  # (B, D) the comprehensive V', before the classifier's dropout
    vectors: Tensor  # (B, N, D) V of all looks, thumbnail first
    features: Tensor  # (B, N, D) V' of them
    weights: Tensor  # (B, N)
    location_logits: list[Tensor]  # per level 1..L-1: (B * n_l, n * n), unit length
    selected: list[Tensor]  # per level 1..L-1: (B * n_l, k) chosen cells, raster order


class ClassificationModule(nn.Module):
    """Classification module (section 3.2): one linear layer for the joint vector and for every single look."""

    def __init__(self, num_features: int, num_classes: int, dropout: float) -> None:
        super().__init__()
        self.dropout = nn.Dropout(dropout)  # each call draws its own mask
        self.linear = nn.Linear(num_features, num_classes)

    def forward(self, vectors: Tensor) -> Tensor:
        """Return class logits: (B, D) -> (B, classes)."""
        return self.linear(self.dropout(vectors))


class TNet(nn.Module, AttachedMethods):
    """A Traversal Network, or a plain classifier when the configuration is a baseline.

    `class_names`, `calibration` and `stopping` belong to the weights, not to the architecture: they come with a
    checkpoint, and whoever trains further sets them anew.
    """

    reward_baseline: Tensor

    def __init__(self, config: TNetConfig) -> None:
        super().__init__()
        self.features = FeatureExtractionModule(config)
        self.config = replace(config, survey=self.features.survey)
        self.class_names: tuple[str, ...] = ()
        self.calibration: Calibration | None = None  # how sure it is; None: nobody measured it
        self.stopping: StoppingRule | None = None  # recommended
        self.source = "untrained"  # where the weights come from; shown to users and stored in traces
        self.card: object | None = None  # tnet_core.checkpoints.CheckpointCard of a loaded checkpoint
        width = self.features.num_features
        at_classifier = config.dropout if config.dropout_at == "classifier" else 0.0
        self.classifier = ClassificationModule(width, config.num_classes, at_classifier)
        self.positional = PositionalEncodingModule(config.positional, width) if config.positional != "none" else None
        self.location: LocationModule | ContextLocationModule | None = None
        if self.features.tap is not None:
            kind = ContextLocationModule if config.location == "context" else LocationModule
            self.location = kind(self.features.tap.channels, width)
            self.register_buffer("reward_baseline", torch.tensor(0.5))  # b of eq. 1, moved by eq. 2
        self.weighting = FeatureWeightingModule(width) if config.weighting else None

    @property
    def device(self) -> torch.device:
        return self.classifier.linear.weight.device

    def look(self, images: Tensor, positions: Tensor) -> LookOutput:
        """Extract features and encode positions: images (B, 3, b, b) in [-1, 1], positions (B, 3) -> F, V, V'."""
        location_map, vector = self.features(images)
        feature = vector if self.positional is None else self.positional(vector, positions)
        return LookOutput(location_map, vector, feature)

    def locate(self, seen: LookOutput) -> Tensor:
        """Score cells: F (and V) -> unit-length logits (B, n * n). No gradient reaches the backbone from here."""
        if self.location is None or seen.map is None:
            raise TNetError("This model is a baseline without a location module: it takes no looks.")
        return normalise_logits(self.location(seen.map.detach(), seen.vector.detach()).float())

    def weights(self, features: Tensor) -> Tensor:
        """Return the weights of the average over all looks: V' (B, N, D) -> (B, N), rows sum to 1."""
        if self.weighting is None:
            batch, count, _ = features.shape
            return features.new_full((batch, count), 1.0 / count)
        return self.weighting(features)

    def forward(self, images: Tensor, budget: Sequence[int] | int | None = None) -> Tensor:
        """Classify a batch as in section 3.1: images (B, 3, S, S) in [-1, 1] -> joint logits (B, classes)."""
        levels = self._traverse(images, budget, None, top_k)
        features = torch.cat([level.features for level in levels], dim=1)  # (B, N, D)
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
        return self._conclude(self._traverse(images, budget, levels, select))

    def _traverse(
        self, images: Tensor, budget: Sequence[int] | int | None, levels: int | None, select: Select
    ) -> list[LevelOutput]:
        """Look, choose locations, look closer (section 3.1); one output per level, empty below a budget of 0."""
        _check_batch(images)
        config, batch = self.config, images.shape[0]
        positions = images.new_zeros((batch, 3), dtype=torch.long)  # (y, x, scale), appendix B.1.5
        outputs: list[LevelOutput] = []
        for k in (*check_budget(config, budget, levels), None):
            if images.shape[0] == 0:
                outputs.append(_repeat_empty(outputs[-1], k))
                continue
            # Level 1 sees the whole image downscaled, each further level the crops that were chosen above: V, V' and F.
            seen = self.look(resize_batch(images, config.base_resolution), positions)
            vectors, features = (rows.view(batch, -1, rows.shape[1]) for rows in (seen.vector, seen.feature))
            if k is None:
                outputs.append(LevelOutput(vectors, features, None, None, None))
                break
            # The importance of K = n * n candidate locations, of which k are taken without replacement.
            logits = self.locate(seen)  # (B * n_l, n * n)
            probabilities = logits.softmax(1)
            cells = select(probabilities, k)  # (B * n_l, k)
            outputs.append(LevelOutput(vectors, features, logits, probabilities, cells))
            images, positions = self._descend(images, positions, cells)
        return outputs

    def _descend(self, images: Tensor, positions: Tensor, cells: Tensor) -> tuple[Tensor, Tensor]:
        """Crop the chosen cells and tell where they are: (B, 3, h, w), (B, 3), (B, k) -> the next level's."""
        n = self.config.grid
        above = positions.repeat_interleave(cells.shape[1], dim=0)  # (B * k, 3)
        rows, cols = cells.flatten() // n, cells.flatten() % n
        below = torch.stack([n * above[:, 0] + rows, n * above[:, 1] + cols, above[:, 2] + 1], dim=1)
        return cut_cells(images, cells, n, self.config.cell_fraction), below

    def _average(self, features: Tensor) -> tuple[Tensor, Tensor]:
        """Average V' (B, N, D) of all levels -> weights (B, N), the comprehensive V' (B, D)."""
        weights = self.weights(features)
        return weights, (weights.unsqueeze(2) * features).sum(1)

    def _conclude(self, levels: list[LevelOutput]) -> TrainOutput:
        features = torch.cat([level.features for level in levels], dim=1)  # (B, N, D)
        weights, representation = self._average(features)
        logits, log_probs, selected = [], [], []
        for level in levels[:-1]:
            assert level.location_logits is not None and level.probabilities is not None and level.selected is not None
            logits.append(level.location_logits)
            selected.append(level.selected)
            log_probs.append((level.probabilities.gather(1, level.selected) + LOG_EPSILON).log().flatten())
        sequence = features.new_zeros(len(features))
        for chosen in log_probs:
            sequence = sequence + chosen.view(len(features), -1).sum(1)
        return TrainOutput(
            logits=self.classifier(representation),
            feature_logits=[self.classifier(level.features.flatten(0, 1)) for level in levels],
            log_probs=log_probs,
            sequence_log_prob=sequence,
            representation=representation,
            vectors=torch.cat([level.vectors for level in levels], dim=1),
            features=features,
            weights=weights,
            location_logits=logits,
            selected=selected,
        )


def _repeat_empty(above: LevelOutput, k: int | None) -> LevelOutput:
    """Return a level below a budget of 0, where nothing was looked at."""
    vectors, features = above.vectors[:, :0], above.features[:, :0]
    if k is None:
        return LevelOutput(vectors, features, None, None, None)
    assert above.location_logits is not None and above.probabilities is not None and above.selected is not None
    return LevelOutput(
        vectors, features, above.location_logits[:0], above.probabilities[:0], above.selected.new_zeros((0, k))
    )


def _check_batch(images: object) -> None:
    if not isinstance(images, Tensor) or images.ndim != 4 or images.shape[1] != 3 or images.shape[0] == 0:
        found = tuple(images.shape) if isinstance(images, Tensor) else type(images).__name__
        raise TNetError(f"A batch of images must be a tensor (B, 3, S, S) with B > 0, not {found}.")
    if not images.is_floating_point():
        raise TNetError(f"A batch of images must hold floating-point values in [-1, 1], not {images.dtype}.")
