"""Re-aggregation of a batch: logits of many sets of looks per image, without a backbone."""

from __future__ import annotations

import torch
from torch import Tensor

from tnet_core.errors import TNetError
from tnet_core.modeling.tnet import TNet
from tnet_core.trace.aggregation import NOT_FINITE

_ELEMENTS = 1 << 23  # of the largest temporary; more sets are processed in parts


def project(model: TNet, features: Tensor) -> Tensor:
    """Class scores of each look alone, without bias: V' (B, N, D) -> (B, N, classes)."""
    return features @ model.classifier.linear.weight.to(features.dtype).T


def subset_weights(model: TNet, features: Tensor, masks: Tensor) -> Tensor:
    """Weights of the looks in each set: V' (B, N, D), masks (B, S, N) bool -> (B, S, N), zero outside.

    The same numbers as `FeatureWeightingModule.for_subsets`, for a batch of images.
    """
    kept = masks.to(features.dtype)
    sizes = kept.sum(2, keepdim=True)
    if model.weighting is None:
        return kept / sizes
    mean = kept @ features / sizes  # (B, S, D)
    directions = model.weighting.gate(mean) * model.weighting.output.weight
    scores = directions @ features.transpose(1, 2) + model.weighting.output.bias
    return scores.masked_fill(~masks, float("-inf")).softmax(2)


def subset_logits(model: TNet, features: Tensor, projections: Tensor, masks: Tensor) -> Tensor:
    """Joint logits of each set; no set may be empty: -> (B, S, classes)."""
    batch, _, width = features.shape
    step = max(1, _ELEMENTS // (batch * max(width, projections.shape[2])))
    bias = model.classifier.linear.bias
    parts = [subset_weights(model, features, some) @ projections + bias for some in masks.split(step, dim=1)]
    logits = torch.cat(parts, dim=1)
    if not bool(torch.isfinite(logits).all()):
        raise TNetError(NOT_FINITE)
    return logits
