"""A moving average of the weights, which is what gets measured and saved."""

from __future__ import annotations

import copy

import torch

from tnet_core.modeling.tnet import TNet


class WeightAverage:
    """Average of parameters and batch-norm statistics; the reward baseline and counters are copied."""

    def __init__(self, model: TNet, decay: float) -> None:
        self.decay = decay
        self.model = copy.deepcopy(model).eval().requires_grad_(False)

    @torch.no_grad()
    def update(self, model: TNet, step: int) -> None:
        """After optimisation step `step` (from 1). Early on a shorter memory forgets the random start."""
        decay = min(self.decay, (1 + step) / (10 + step))
        ours, theirs = self.model.state_dict(), model.state_dict()
        for name, value in theirs.items():
            if value.is_floating_point() and value.ndim > 0:
                ours[name].lerp_(value, 1 - decay)
            else:
                ours[name].copy_(value)
