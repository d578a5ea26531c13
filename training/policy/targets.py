"""What a policy is trained towards when the value of every cell is known (see `training.policy.bank`).

Only the ranking of cells matters when looks are taken, so these losses use a sharper softmax than
the official one over unit-length logits, which is nearly flat by construction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor

from tnet_core.errors import TNetError
from tnet_core.modeling.location import normalise_logits
from tnet_core.modeling.tnet import TNet
from training.evaluation.features import project, subset_logits
from training.evaluation.plan import Tree, grid_ranks
from training.policy.bank import FeatureBank, Looked, classes_in
from training.recipes.recipe import BankSection

_CHUNK = 128  # rows valued at once
Measure = Literal["likelihood", "odds"]
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


def cell_values(
    model: TNet, features: Tensor, labels: Tensor, taken: Tensor | None = None, measure: Measure = "likelihood"
) -> Tensor:
    """Worth of each cell as the next look: (B, 1 + n * n, D), looks already taken (B, t) -> (B, n * n).

    Likelihood: log p(label | thumbnail, taken looks, cell). Odds: log p / (1 - p), which does not
    level off where the model is sure, as it is of the images it was trained on. A cell taken
    already adds nothing, so the marginal worth of a look is its value minus that of any such cell.
    Labels are classes (B,) or, for the likelihood, probabilities of the classes (B, classes).
    """
    batch, nodes, _ = features.shape
    seen = torch.zeros((batch, nodes), dtype=torch.bool, device=features.device)
    seen[:, 0] = True
    if taken is not None:
        seen.scatter_(1, taken + 1, True)
    one_more = torch.eye(nodes, dtype=torch.bool, device=features.device)[1:]  # (n * n, nodes)
    logits = subset_logits(model, features, project(model, features), seen[:, None] | one_more)
    return worth(logits, labels, measure)


def worth(logits: Tensor, labels: Tensor, measure: Measure = "likelihood") -> Tensor:
    """How well logits (B, S, classes) speak for the label, see `cell_values`: (B, S)."""
    batch, sets, _ = logits.shape
    every = labels.repeat_interleave(sets, dim=0)
    if measure == "likelihood":
        return -F.cross_entropy(logits.flatten(0, 1), every, reduction="none").view(batch, sets)
    if labels.ndim != 1:
        raise TNetError("Odds need a class per image; use the likelihood for targets that are probabilities.")
    own = F.one_hot(every, logits.shape[2]).bool().view_as(logits)
    others = logits.masked_fill(own, float("-inf")).logsumexp(2)
    return logits[own].view(batch, sets) - others


@torch.no_grad()
def all_values(model: TNet, bank: FeatureBank, options: BankSection) -> Tensor:
    """The value of every cell as a first look: (rows, n * n)."""
    chunks = _chunks(bank, model)
    return torch.cat([cell_values(model, x.features, x.labels, measure=options.measure).cpu() for x in chunks])


@torch.no_grad()
def all_scores(model: TNet, bank: FeatureBank, options: BankSection) -> Tensor:
    return torch.cat([policy_scores(model, looked, options).cpu() for looked in _chunks(bank, model)])


@torch.no_grad()
def accuracies(model: TNet, bank: FeatureBank, scores: Tensor, looks: int) -> list[float]:
    """Top-1 with 0…`looks` looks at the cells of highest score (rows, n * n)."""
    tree = Tree((scores.shape[1],))
    budgets: list[tuple[int, ...]] = [(k,) for k in range(min(looks, scores.shape[1]) + 1)]
    right = torch.zeros(len(budgets), dtype=torch.long)
    for start, looked in zip(range(0, len(bank), _CHUNK), _chunks(bank, model), strict=True):
        ranks = grid_ranks(scores[start : start + _CHUNK]).to(model.device)
        logits = subset_logits(model, looked.features, project(model, looked.features), tree.masks(ranks, budgets))
        right += (logits.argmax(2) == classes_in(looked.labels)[:, None]).sum(0).cpu()
    return (right / len(bank)).tolist()


@torch.no_grad()
def hindsight(model: TNet, bank: FeatureBank) -> float:
    """Top-1 with one look at the best cell: the share of images that some cell gets right."""
    right = 0
    for looked in _chunks(bank, model):
        nodes = looked.features.shape[1]
        pairs = torch.eye(nodes, dtype=torch.bool, device=model.device)[1:]  # (n * n, nodes): each cell …
        pairs[:, 0] = True  # … and the thumbnail
        masks = pairs.expand(len(looked.labels), -1, -1)
        logits = subset_logits(model, looked.features, project(model, looked.features), masks)
        right += int((logits.argmax(2) == classes_in(looked.labels)[:, None]).any(1).sum())
    return right / len(bank)


def _chunks(bank: FeatureBank, model: TNet) -> Iterator[Looked]:
    for start in range(0, len(bank), _CHUNK):
        yield bank.rows(slice(start, start + _CHUNK), model.device)
