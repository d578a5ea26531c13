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
from training.evaluation.features import classify_subsets, project_features
from training.evaluation.plan import Tree, rank_cells
from training.policy.bank import BankRows, FeatureBank, pick_classes
from training.recipes.recipe import BankSection

_CHUNK_ROWS = 128  # rows valued at once
Measure = Literal["likelihood", "odds"]
Target = Callable[[Tensor, Tensor, Tensor], Tensor]  # scores, values, open cells: (B, n * n) each -> scalar


def score_cells(model: TNet, looked: BankRows, options: BankSection, *, training: bool = False) -> Tensor:
    """Return sharpened scores of all cells (B, n * n); their ranking is the model's own."""
    assert model.location is not None
    maps = torch.dropout(looked.maps, options.dropout, training)
    return options.sharpness * normalise_logits(model.location(maps, looked.vectors))


def expected_regret(scores: Tensor, values: Tensor, unseen: Tensor) -> Tensor:
    """Return the value of the best cell minus the mean value under the policy, sum_c p(c) value(c).

    With the likelihood as value its gradient is that of the expected log-likelihood of the label.
    """
    probabilities = scores.masked_fill(~unseen, float("-inf")).softmax(1)
    best = values.masked_fill(~unseen, float("-inf")).amax(1)
    return (best - (probabilities * values).sum(1)).mean()


def make_listwise(temperature: float) -> Target:
    """Return the cross-entropy between a softmax over the values and the policy: ranks all cells, not only the best."""

    def loss(scores: Tensor, values: Tensor, unseen: Tensor) -> Tensor:
        expected = (values / temperature).masked_fill(~unseen, float("-inf")).softmax(1)
        log_probs = scores.masked_fill(~unseen, float("-inf")).log_softmax(1)
        return -(expected * log_probs.masked_fill(~unseen, 0.0)).sum(1).mean()

    return loss


def make_reinforce(decay: float = 0.9) -> Target:
    """Return the paper's estimator for known values of looks: one drawn look per image and a moving baseline.

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
    return expected_regret if kind == "likelihood" else make_listwise(options.temperature)


def even_out(values: Tensor, floor: float) -> Tensor:
    """Return values of each image (B, n * n) about their mean, in units of their spread."""
    if not floor:
        return values
    centred = values - values.mean(1, keepdim=True)
    return centred / centred.std(1, keepdim=True).clamp_min(floor)


def compute_looks_loss(
    model: TNet, scores: Tensor, looked: BankRows, first: Tensor, target: Target, options: BankSection
) -> Tensor:
    """Return the mean of the target over looks taken one after the other, as the policy itself would take them.

    `first` (B, n * n) are the values of a first look. Each further look is valued given those that the
    policy has taken by then, so what a second look repeats is worth little.
    """
    unseen = torch.ones_like(scores, dtype=torch.bool)
    taken = torch.zeros((len(scores), 0), dtype=torch.long, device=scores.device)
    parts = []
    for look in range(min(options.looks, scores.shape[1])):
        with torch.no_grad():
            values = first if look == 0 else value_cells(model, looked.features, looked.labels, taken, options.measure)
        parts.append(target(scores, even_out(values, options.even_out), unseen))
        chosen = scores.detach().masked_fill(~unseen, float("-inf")).argmax(1, keepdim=True)
        unseen = unseen.scatter(1, chosen, False)
        taken = torch.cat([taken, chosen], dim=1)
    return torch.stack(parts).mean()


def value_cells(
    model: TNet, features: Tensor, labels: Tensor, taken: Tensor | None = None, measure: Measure = "likelihood"
) -> Tensor:
    """Return the worth of each cell as the next look: (B, 1 + n * n, D), looks already taken (B, t) -> (B, n * n).

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
    logits = classify_subsets(model, features, project_features(model, features), seen[:, None] | one_more)
    return compute_worth(logits, labels, measure)


def compute_worth(logits: Tensor, labels: Tensor, measure: Measure = "likelihood") -> Tensor:
    """Return how well logits (B, S, classes) speak for the label, see `value_cells`: (B, S)."""
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
def value_bank(model: TNet, bank: FeatureBank, options: BankSection) -> Tensor:
    """Return the value of every cell as a first look: (rows, n * n)."""
    chunks = _read_chunks(bank, model)
    return torch.cat([value_cells(model, x.features, x.labels, measure=options.measure).cpu() for x in chunks])


@torch.no_grad()
def score_bank(model: TNet, bank: FeatureBank, options: BankSection) -> Tensor:
    return torch.cat([score_cells(model, looked, options).cpu() for looked in _read_chunks(bank, model)])


@torch.no_grad()
def measure_accuracies(model: TNet, bank: FeatureBank, scores: Tensor, looks: int) -> list[float]:
    """Return top-1 with 0…`looks` looks at the cells of highest score (rows, n * n)."""
    tree = Tree((scores.shape[1],))
    budgets: list[tuple[int, ...]] = [(k,) for k in range(min(looks, scores.shape[1]) + 1)]
    right = torch.zeros(len(budgets), dtype=torch.long)
    for start, looked in zip(range(0, len(bank), _CHUNK_ROWS), _read_chunks(bank, model), strict=True):
        ranks = rank_cells(scores[start : start + _CHUNK_ROWS]).to(model.device)
        logits = classify_subsets(
            model, looked.features, project_features(model, looked.features), tree.make_masks(ranks, budgets)
        )
        right += (logits.argmax(2) == pick_classes(looked.labels)[:, None]).sum(0).cpu()
    return (right / len(bank)).tolist()


@torch.no_grad()
def measure_hindsight(model: TNet, bank: FeatureBank) -> float:
    """Return top-1 with one look at the best cell: the share of images that some cell gets right."""
    right = 0
    for looked in _read_chunks(bank, model):
        nodes = looked.features.shape[1]
        pairs = torch.eye(nodes, dtype=torch.bool, device=model.device)[1:]  # (n * n, nodes): each cell …
        pairs[:, 0] = True  # … and the thumbnail
        masks = pairs.expand(len(looked.labels), -1, -1)
        logits = classify_subsets(model, looked.features, project_features(model, looked.features), masks)
        right += int((logits.argmax(2) == pick_classes(looked.labels)[:, None]).any(1).sum())
    return right / len(bank)


def _read_chunks(bank: FeatureBank, model: TNet) -> Iterator[BankRows]:
    for start in range(0, len(bank), _CHUNK_ROWS):
        yield bank.rows(slice(start, start + _CHUNK_ROWS), model.device)
