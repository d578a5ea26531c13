"""What a policy is trained towards when the value of every cell is known (see `training.bank`).

Only the ranking of cells matters when looks are taken, so these losses use a sharper softmax than
the official one over unit-length logits, which is nearly flat by construction.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import torch
from torch import Tensor

from tnet_core.modeling.location import normalise_logits
from tnet_core.modeling.tnet import TNet
from training.bank import Looked, cell_values
from training.recipes.recipe import BankSection

Target = Callable[[Tensor, Tensor, Tensor], Tensor]  # scores, values, open cells: (B, n * n) each -> scalar


def policy_scores(model: TNet, looked: Looked, options: BankSection, *, training: bool = False) -> Tensor:
    """Sharpened scores of all cells (B, n * n); their ranking is the model's own."""
    assert model.location is not None
    maps = torch.dropout(looked.maps, options.dropout, training)
    return options.sharpness * normalise_logits(model.location(maps, looked.vectors))


def expected_regret(scores: Tensor, values: Tensor, unseen: Tensor) -> Tensor:
    """Value of the best cell minus the mean value under the policy, sum_c p(c) value(c).

    With the likelihood as value its gradient is that of the expected log-likelihood of the label.
    """
    probabilities = scores.masked_fill(~unseen, float("-inf")).softmax(1)
    best = values.masked_fill(~unseen, float("-inf")).amax(1)
    return (best - (probabilities * values).sum(1)).mean()


def listwise(temperature: float) -> Target:
    """Cross-entropy between a softmax over the values and the policy: ranks all cells, not only the best."""

    def loss(scores: Tensor, values: Tensor, unseen: Tensor) -> Tensor:
        wanted = (values / temperature).masked_fill(~unseen, float("-inf")).softmax(1)
        log_probs = scores.masked_fill(~unseen, float("-inf")).log_softmax(1)
        return -(wanted * log_probs.masked_fill(~unseen, 0.0)).sum(1).mean()

    return loss


def reinforce(decay: float = 0.9) -> Target:
    """The paper's estimator where the value of a look is known: one drawn look per image and a moving baseline.

    Its expectation is the gradient of `expected_regret`; it is here to be compared with. The reward is
    the value itself and not whether the prediction is right.
    """
    baseline: Tensor | None = None

    def loss(scores: Tensor, values: Tensor, unseen: Tensor) -> Tensor:
        nonlocal baseline
        log_probs = scores.masked_fill(~unseen, float("-inf")).log_softmax(1)
        drawn = torch.multinomial(log_probs.detach().exp(), 1)
        reward = values.gather(1, drawn)
        before = reward.mean() if baseline is None else baseline
        baseline = decay * before + (1 - decay) * reward.mean()
        return -((reward - before) * log_probs.gather(1, drawn)).mean()

    return loss


def make_target(kind: Literal["likelihood", "ranking"], options: BankSection) -> Target:
    return expected_regret if kind == "likelihood" else listwise(options.temperature)


def evened(values: Tensor, floor: float) -> Tensor:
    """Values of each image (B, n * n) about their mean, in units of their spread."""
    if not floor:
        return values
    centred = values - values.mean(1, keepdim=True)
    return centred / centred.std(1, keepdim=True).clamp_min(floor)


def looks_loss(
    model: TNet, scores: Tensor, looked: Looked, first: Tensor, target: Target, options: BankSection
) -> Tensor:
    """Mean of the target over looks taken one after the other, as the policy itself would take them.

    `first` (B, n * n) are the values of a first look. Each further look is valued given those that the
    policy has taken by then, so what a second look repeats is worth little.
    """
    unseen = torch.ones_like(scores, dtype=torch.bool)
    taken = torch.zeros((len(scores), 0), dtype=torch.long, device=scores.device)
    parts = []
    for look in range(min(options.looks, scores.shape[1])):
        with torch.no_grad():
            values = first if look == 0 else cell_values(model, looked.features, looked.labels, taken, options.measure)
        parts.append(target(scores, evened(values, options.even_out), unseen))
        chosen = scores.detach().masked_fill(~unseen, float("-inf")).argmax(1, keepdim=True)
        unseen = unseen.scatter(1, chosen, False)
        taken = torch.cat([taken, chosen], dim=1)
    return torch.stack(parts).mean()
