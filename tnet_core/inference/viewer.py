"""What a model makes of regions of one image: features, class projections, scores of their grids.

`Viewer` knows no tree of looks; that is `tnet_core.inference.traversal`. A look is viewed at once, or up to the scores
of its grid (`model.glances`), which is all that the next level needs; then `complete` gives the features of all levels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from tnet_core.errors import TNetError
from tnet_core.modeling.tnet import Glance, TNet
from tnet_core.sampling.frame import Region, Sampler, to_bytes
from tnet_core.sampling.reader import Views, fetch, reader_for
from tnet_core.trace.aggregation import NOT_FINITE

Position = tuple[int, int, int]  # y, x, scale of the positional encoding


@dataclass(frozen=True)
class Features:
    """Of N looks."""

    vectors: np.ndarray  # (N, D) float32, V'
    projections: np.ndarray  # (N, classes) float32, without bias


@dataclass(frozen=True)
class Viewed:
    """B regions, as far as they were processed."""

    crops: list[np.ndarray]  # (b, b, 3) uint8
    pixels_read: tuple[int, ...]
    scores: np.ndarray | None  # (B, n * n) unit-length location logits, where grids were asked for
    features: Features | Glance  # a glance: still to be completed


class Viewer:
    """One model and one image."""

    def __init__(self, model: TNet, sampler: Sampler) -> None:
        self.model = model
        self.bias = model.classifier.linear.bias.detach().float().cpu().numpy()
        self._projector = model.classifier.linear.weight.detach()
        self._reader = reader_for(sampler, self._projector)

    def view(self, regions: Sequence[Region], positions: Sequence[Position], *, grids: bool, wait: bool) -> Viewed:
        """`grids`: score the grids of these regions. `wait`: leave the rest to `complete`, if the model can."""
        views = self._reader.read(regions, positions)
        model = self.model
        with torch.inference_mode(), torch.autocast("cuda", enabled=model.device.type == "cuda"):
            glances = wait and model.glances
            seen = (model.glance if glances else model.look)(views.images, views.positions)
            unit = model.locate(seen) if grids else None  # (B, n * n)
        wanted = [] if isinstance(seen, Glance) else self._projected(seen.feature)
        arrays = self._fetched(wanted, unit, views)  # the one place of a level where the CPU waits
        scores = None if unit is None else arrays[len(wanted)]
        crops = list(arrays[-1]) if not views.values else [to_bytes(values) for values in views.values]
        features = seen if isinstance(seen, Glance) else Features(*arrays[:2])
        _check_finite([self.bias, *arrays[: len(wanted)], *([] if scores is None else [scores])])
        return Viewed(crops, views.pixels_read, scores, features)

    def complete(self, glances: Sequence[Glance]) -> Features:
        """The features of all these looks, in their order."""
        with torch.inference_mode():
            features = Features(*fetch(self._projected(self.model.complete(glances)[1])))
        _check_finite([features.vectors, features.projections])
        return features

    @torch.inference_mode()
    def _projected(self, feature: Tensor) -> list[Tensor]:
        feature = feature.float()
        return [feature, feature @ self._projector.float().T]  # (B, D), (B, classes)

    @torch.inference_mode()
    def _fetched(self, wanted: list[Tensor], unit: Tensor | None, views: Views) -> list[np.ndarray]:
        more = [] if unit is None else [unit]
        shown = [] if views.values else [views.as_bytes()]
        asked = [*wanted, *more, *shown]
        return fetch(asked) if asked else []


def _check_finite(arrays: Sequence[np.ndarray]) -> None:
    if not all(np.isfinite(values).all() for values in arrays):
        raise TNetError(NOT_FINITE)
