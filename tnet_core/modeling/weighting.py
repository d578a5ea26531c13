"""Feature weighting module (appendix B.1.6): how much each look counts in the average."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor, nn


class FeatureWeightingModule(nn.Module):
    """Weights that sum to 1 over the N feature vectors of an image.

    The mean of the vectors drives a squeeze-excitation gate; the gated vectors are scored and the
    scores go through a softmax. The average itself is taken over the *ungated* vectors. Weights
    therefore depend on the whole set: leaving a look out changes all the others.
    """

    def __init__(self, num_features: int) -> None:
        super().__init__()
        squeezed = num_features // 4
        self.dense_1 = nn.Linear(num_features, squeezed)
        self.dense_2 = nn.Linear(squeezed, num_features)
        self.output = nn.Linear(num_features, 1)

    def gate(self, mean: Tensor) -> Tensor:
        """Return the gate of each channel: (B, D) -> (B, D)."""
        return self.dense_2(F.silu(self.dense_1(mean))).sigmoid()

    def forward(self, features: Tensor) -> Tensor:
        """Weigh feature vectors: V' (B, N, D) -> weights (B, N)."""
        gate = self.gate(features.mean(1)).unsqueeze(1)  # (B, 1, D)
        return self.output(features * gate).squeeze(2).softmax(1)

    def for_subsets(self, features: Tensor, masks: Tensor) -> Tensor:
        """Weigh many subsets of one image's looks: V' (N, D), masks (S, N) bool -> (S, N).

        Same numbers as `forward` on each subset, without copying the features S times.
        """
        kept = masks.to(features.dtype)
        mean = kept @ features / kept.sum(1, keepdim=True)  # (S, D)
        directions = self.gate(mean) * self.output.weight  # (S, D)
        scores = directions @ features.T + self.output.bias  # (S, N)
        return scores.masked_fill(~masks, float("-inf")).softmax(1)
