"""The learning rule: equations 1 to 3 of the paper and its contrastive term, as the official code computes them.

Where the official code departs from the paper:

- the per-feature cross-entropy counts the thumbnail's vector too and divides by Q, the number of
  vectors; the per-feature REINFORCE leaves the thumbnail out and divides by Q - 1;
- the moving average of the reward mixes joint and per-feature rewards by lambda_r;
- with M Monte-Carlo samples the batch is tiled to B = M b rows, but sums are divided by b;
- L2 is the full sum of squares and covers biases.

Terms are computed in float32 at least, whatever the precision of the forward pass.

How looks are chosen while training is part of the rule: the official top k, and two ways beyond it. Each is a
`Select`: probabilities (G, n * n) of G grids and k -> k distinct cells of each grid, (G, k) in raster order. They go
to `TNet.forward_train(select=…)`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _NormBase

from tnet_core.errors import TNetError
from tnet_core.modeling.config import TNetConfig
from tnet_core.modeling.location import top_k
from tnet_core.modeling.tnet import Select, TNet, TrainOutput
from tnet_core.sampling.grid import divide_officially
from training.recipes.recipe import LossSection, PolicySection


@dataclass(frozen=True)
class Terms:
    """The parts of the loss, weighted, and the reward of one batch: scalar tensors."""

    joint: Tensor
    joint_reinforce: Tensor
    per_feature: Tensor
    per_feature_reinforce: Tensor
    l2: Tensor
    contrastive: Tensor
    reward: Tensor  # share of images whose joint prediction is right; no gradient
    next_baseline: Tensor  # moving average of the reward after this batch, for the next step; no gradient

    @property
    def total(self) -> Tensor:
        reinforce_terms = self.joint_reinforce + self.per_feature_reinforce
        return self.joint + self.per_feature + reinforce_terms + self.l2 + self.contrastive


def compute_terms(
    out: TrainOutput,
    labels: Tensor,
    baseline: float | Tensor,
    loss: LossSection,
    parameters: Sequence[Tensor] = (),
    *,
    targets: Tensor | None = None,
) -> Terms:
    """Return all terms for one batch (equation 3): labels (B,), reward baseline before it, parameters under L2.

    `targets` (B, classes) take the labels' place in the cross-entropies, for images that show several classes.

    A plain classifier, or a TNet that was run on thumbnails alone, has no policy to train: its
    cross-entropy counts in full.
    """
    batch = out.logits.shape[0]
    if labels.shape != (batch,):
        raise TNetError(f"Labels of shape {tuple(labels.shape)} do not fit a batch of {batch} images: give one each.")
    images = batch / loss.samples  # b
    cap = len(out.feature_logits) if loss.per_feature_levels is None else loss.per_feature_levels  # T
    feature_logits = _group_by_image(out.feature_logits[:cap], batch)  # (B, Q, classes)
    log_probs = _group_by_image(out.log_probs[: cap - 1] or [out.logits.new_zeros(0)], batch)  # (B, Q - 1)
    joint_rewards = compute_rewards(_widen(out.logits), labels)  # (B,)
    look_rewards = compute_rewards(feature_logits[:, 1:], labels)  # (B, Q - 1)
    before = torch.as_tensor(baseline).detach().to(joint_rewards)

    share = loss.lambda_c if out.log_probs else 1.0
    expected = labels if targets is None else targets.to(joint_rewards)
    joint_policy, look_policy = loss.lambda_f * loss.lambda_r, loss.lambda_f * (1 - loss.lambda_r)
    smoothing = loss.label_smoothing
    zero = before.new_zeros(())
    return Terms(
        joint=share * cross_entropy(_widen(out.logits), expected, images, smoothing),
        joint_reinforce=joint_policy * reinforce(_widen(out.sequence_log_prob), joint_rewards, before, images),
        per_feature=(1 - share) * per_feature_cross_entropy(feature_logits, expected, images, smoothing),
        per_feature_reinforce=look_policy * per_feature_reinforce(log_probs, look_rewards, before, images),
        l2=loss.l2 * sum_of_squares(parameters) if loss.l2 else zero,
        contrastive=loss.contrastive * contrast(out.representation, labels, loss.margin) if loss.contrastive else zero,
        reward=joint_rewards.mean(),
        next_baseline=update_baseline(before, joint_rewards, look_rewards, loss),
    )


def compute_rewards(logits: Tensor, labels: Tensor) -> Tensor:
    """Return R: 1 where the likeliest class is the label, else 0. (B, …, classes), (B,) -> (B, …)."""
    likeliest = logits.detach().argmax(-1)
    return (likeliest == _expand_labels(labels, likeliest)).to(logits.dtype)


def cross_entropy(logits: Tensor, targets: Tensor, images: float, smoothing: float = 0.0) -> Tensor:
    """Return the first term of equation 1: -log p(y | looks), summed over (B, classes), divided by the images.

    Targets are labels (B,) or probabilities (B, classes).
    """
    return F.cross_entropy(logits, targets, reduction="sum", label_smoothing=smoothing) / images


def reinforce(log_probs: Tensor, reward: Tensor, baseline: Tensor, images: float) -> Tensor:
    """Return the second term of equation 1: -(R - b) log p(looks), summed over all entries, divided by the images."""
    return -((reward - baseline) * log_probs).sum() / images


def per_feature_cross_entropy(logits: Tensor, targets: Tensor, images: float, smoothing: float = 0.0) -> Tensor:
    """Return the first term of equation 3b: every vector classifies alone, (B, Q, classes), the thumbnail first."""
    count = logits.shape[1]
    every = targets.repeat_interleave(count, dim=0)
    return cross_entropy(logits.flatten(0, 1), every, images, smoothing) / count


def per_feature_reinforce(log_probs: Tensor, reward: Tensor, baseline: Tensor, images: float) -> Tensor:
    """Return the second term of equation 3b: every look earns its own reward, (B, Q - 1); zero without looks."""
    return reinforce(log_probs, reward, baseline, images) / max(1, log_probs.shape[1])


def contrast(vectors: Tensor, labels: Tensor, margin: float) -> Tensor:
    """Return the contrastive term (appendix, training on CUB-200-2011), averaged over all ordered pairs,
    also with oneself.

    Vectors (B, D) of one class are pulled together, those of different classes pushed below a
    cosine of `margin`.
    """
    with torch.autocast(vectors.device.type, enabled=False):  # or the product would fall back to half precision
        unit = F.normalize(_widen(vectors) + 1e-10, dim=1, eps=1e-6)
        cosine = unit @ unit.T  # (B, B)
        same = labels[:, None] == labels[None, :]
        return torch.where(same, 1 - cosine, (cosine - margin).clamp_min(0)).mean()


def sum_of_squares(parameters: Sequence[Tensor]) -> Tensor:
    """Return L2 as the full sum, not half of it."""
    if not parameters:
        raise TNetError("The recipe asks for L2, but no parameters to apply it to were given.")
    return torch.stack([_widen(p).square().sum() for p in parameters]).sum()


def update_baseline(before: Tensor, joint: Tensor, looks: Tensor, loss: LossSection) -> Tensor:
    """Return equation 2 with the official mix of rewards: joint (B,), looks (B, Q - 1), or the joint one alone."""
    mixed = joint.mean()
    if looks.shape[1]:
        mixed = loss.lambda_r * mixed + (1 - loss.lambda_r) * looks.mean()
    return loss.baseline_decay * before + (1 - loss.baseline_decay) * mixed


def select_l2_parameters(model: TNet, which: Literal["new", "all"]) -> list[nn.Parameter]:
    """Return trainable parameters outside batch norms, of the whole model or of all but its backbone."""
    found: dict[nn.Parameter, None] = {}  # a set that keeps the order
    for name, module in model.named_modules():
        backbone = name == "features" or name.startswith("features.")
        if not isinstance(module, _NormBase) and not (backbone and which == "new"):
            found.update((p, None) for p in module.parameters(recurse=False) if p.requires_grad)
    return list(found)


def _widen(values: Tensor) -> Tensor:
    """Return half precision as float32; double precision stays."""
    return values if values.dtype == torch.float64 else values.float()


def _group_by_image(levels: Sequence[Tensor], batch: int) -> Tensor:
    """Put levels of image-major rows (B * n_l, …) side by side: (B, sum of n_l, …)."""
    return torch.cat([_widen(level).unflatten(0, (batch, level.shape[0] // batch)) for level in levels], dim=1)


def _expand_labels(labels: Tensor, looks: Tensor) -> Tensor:
    """Return the label of every vector: (B,), (B, …) -> (B, …)."""
    return labels.view(-1, *[1] * (looks.ndim - 1)).expand_as(looks)


# Which looks are taken while training -----------------------------------------------------------------


def make_selector(policy: PolicySection, config: TNetConfig) -> Select:
    """Return the way of choosing looks that a recipe asks for."""
    if policy.select == "gumbel":
        return lambda probabilities, k: gumbel_top_k(probabilities, k, policy.temperature)
    if policy.select == "spread":
        overlap = compute_overlap(config.input_size, config.grid, config.cell_fraction)
        return lambda probabilities, k: select_spread(probabilities, k, overlap, policy.discount)
    return top_k


def gumbel_top_k(
    probabilities: Tensor, k: int, temperature: float = 1.0, generator: torch.Generator | None = None
) -> Tensor:
    """Sample k cells one after the other without replacement, from p^(1 / temperature) renormalised.

    Cells with the k largest values of log p / temperature + Gumbel noise are such a sample. Without
    a generator the noise comes from torch's own, so a seeded run repeats itself.
    """
    smallest = torch.finfo(torch.float32).tiny
    noise = torch.empty_like(probabilities, dtype=torch.float32).exponential_(generator=generator)
    scores = probabilities.detach().float().clamp_min(smallest).log() / temperature
    return top_k(scores - noise.clamp_min(smallest).log(), k)


def select_spread(probabilities: Tensor, k: int, overlap: Tensor, discount: float) -> Tensor:
    """Choose cells greedily that do not show the same pixels twice.

    A cell's probability is multiplied by 1 - discount * share, where share is the part of it that
    the cell taken already covers; `overlap` (n * n, n * n) holds these parts. Discount 0 is top k.
    """
    scores = probabilities.detach().float().clone()  # (G, n * n)
    shared = overlap.to(scores)
    chosen = []
    for _ in range(k):
        best = scores.max(1, keepdim=True).indices  # (G, 1)
        chosen.append(best)
        scores *= (1 - discount * shared[best.squeeze(1)]).clamp_min(0)
        scores.scatter_(1, torch.cat(chosen, 1), -1.0)  # below every score: no cell is taken twice
    if not chosen:
        return torch.zeros((len(scores), 0), dtype=torch.long, device=scores.device)
    return torch.cat(chosen, 1).sort(1).values


def compute_overlap(side: int, n: int, fraction: float) -> Tensor:
    """Return the part of each cell's area that each other cell covers: (n * n, n * n), ones on the diagonal."""
    axis = divide_officially(side, n, fraction)
    starts = torch.tensor(axis.starts, dtype=torch.float32)
    along = (axis.cell - (starts[:, None] - starts[None, :]).abs()).clamp_min(0) / axis.cell  # (n, n)
    return torch.kron(along, along)  # cell r * n + c: rows first
