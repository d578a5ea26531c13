"""A preference for the middle of the picture, learned by a location module that knows already what cells are worth.

Photographers put what matters into the middle. Displaced views say far more about where to look than photographs as
they are, so a policy that learned from both follows content and has forgotten this. Its scores of every picture get a
bias towards the centre here, in units of their own spread, and the module learns to say the sum by itself: nothing but
its weights changes, and a cell far from the centre is still looked at first where it stands out enough.
"""

from __future__ import annotations

import copy

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from tnet_core.modeling.location import normalise_logits
from tnet_core.modeling.tnet import TNet
from training.evaluation.policies import compute_centre_scores
from training.policy.bank import FeatureBank

_BATCH = 128
_RATE = 1e-3


def compute_centre_bias(grid: int) -> Tensor:
    """Return a bias that falls evenly from one distance from the centre to the next: (n * n,), mean 0, spread 1."""
    ranks = np.unique(compute_centre_scores(grid), return_inverse=True)[1].astype(np.float32)
    return torch.from_numpy((ranks - ranks.mean()) / ranks.std())


def lean_to_centre(model: TNet, bank: FeatureBank, strength: float, *, epochs: int = 6, seed: int = 0) -> None:
    """Add `strength` times the bias to the scores of every picture, in units of their spread, by learning them."""
    assert model.location is not None
    teacher, student = copy.deepcopy(model.location), model.location.requires_grad_(True)
    bias = strength * compute_centre_bias(model.config.grid).to(model.device)
    optimiser = torch.optim.AdamW(student.parameters(), _RATE)
    steps = epochs * -(-len(bank) // _BATCH)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, steps)
    order = np.random.default_rng(seed)
    for _ in range(epochs):
        for rows in np.array_split(order.permutation(len(bank)), -(-len(bank) // _BATCH)):
            maps, vectors = (
                torch.from_numpy(np.array(values[np.sort(rows)], np.float32)).to(model.device)
                for values in (bank.maps, bank.vectors)
            )
            with torch.no_grad():
                known = teacher(maps, vectors)
                target = normalise_logits(known + known.std(1, keepdim=True) * bias)
            loss = 1 - F.cosine_similarity(normalise_logits(student(maps, vectors)), target).mean()
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            schedule.step()
    model.requires_grad_(False)
