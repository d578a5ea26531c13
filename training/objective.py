"""The learning rule: equations 1 to 3 of the paper and its contrastive term, as the official code computes them.

Where the official code departs from the paper:

- the per-feature cross-entropy counts the thumbnail's vector too and divides by Q, the number of
  vectors; the per-feature REINFORCE leaves the thumbnail out and divides by Q - 1;
- the moving average of the reward mixes joint and per-feature rewards by lambda_r;
- with M Monte-Carlo samples the batch is tiled to B = M b rows, but sums are divided by b;
- L2 is the full sum of squares and covers biases.

Terms are computed in float32 at least, whatever the precision of the forward pass.
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
from tnet_core.modeling.tnet import TNet, TrainOutput
from training.recipes.recipe import LossSection


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


def learning_rule(
    out: TrainOutput,
    labels: Tensor,
    baseline: float | Tensor,
    loss: LossSection,
    parameters: Sequence[Tensor] = (),
    *,
    targets: Tensor | None = None,
) -> Terms:
    """All terms for one batch (equation 3): labels (B,), reward baseline before it, parameters under L2.

    `targets` (B, classes) take the labels' place in the cross-entropies, for images that show several classes.

    A plain classifier, or a TNet that was run on thumbnails alone, has no policy to train: its
    cross-entropy counts in full.
    """
    batch = out.logits.shape[0]
    if labels.shape != (batch,):
        raise TNetError(f"Labels of shape {tuple(labels.shape)} do not fit a batch of {batch} images: give one each.")
    images = batch / loss.samples  # b
    cap = len(out.feature_logits) if loss.per_feature_levels is None else loss.per_feature_levels  # T
    feature_logits = _by_image(out.feature_logits[:cap], batch)  # (B, Q, classes)
    log_probs = _by_image(out.log_probs[: cap - 1] or [out.logits.new_zeros(0)], batch)  # (B, Q - 1)
    joint_rewards = rewards(_wide(out.logits), labels)  # (B,)
    look_rewards = rewards(feature_logits[:, 1:], labels)  # (B, Q - 1)
    before = torch.as_tensor(baseline).detach().to(joint_rewards)

    share = loss.lambda_c if out.log_probs else 1.0
    wanted = labels if targets is None else targets.to(joint_rewards)
    joint_policy, look_policy = loss.lambda_f * loss.lambda_r, loss.lambda_f * (1 - loss.lambda_r)
    smoothing = loss.label_smoothing
    zero = before.new_zeros(())
    return Terms(
        joint=share * cross_entropy(_wide(out.logits), wanted, images, smoothing),
        joint_reinforce=joint_policy * reinforce(_wide(out.sequence_log_prob), joint_rewards, before, images),
        per_feature=(1 - share) * per_feature_cross_entropy(feature_logits, wanted, images, smoothing),
        per_feature_reinforce=look_policy * per_feature_reinforce(log_probs, look_rewards, before, images),
        l2=loss.l2 * sum_of_squares(parameters) if loss.l2 else zero,
        contrastive=loss.contrastive * contrast(out.representation, labels, loss.margin) if loss.contrastive else zero,
        reward=joint_rewards.mean(),
        next_baseline=moved_baseline(before, joint_rewards, look_rewards, loss),
    )


def rewards(logits: Tensor, labels: Tensor) -> Tensor:
    """R: 1 where the likeliest class is the label, else 0. (B, …, classes), (B,) -> (B, …)."""
    likeliest = logits.detach().argmax(-1)
    return (likeliest == _like(labels, likeliest)).to(logits.dtype)


def cross_entropy(logits: Tensor, targets: Tensor, images: float, smoothing: float = 0.0) -> Tensor:
    """First term of equation 1: -log p(y | looks), summed over (B, classes), divided by the images.

    Targets are labels (B,) or probabilities (B, classes).
    """
    return F.cross_entropy(logits, targets, reduction="sum", label_smoothing=smoothing) / images


def reinforce(log_probs: Tensor, reward: Tensor, baseline: Tensor, images: float) -> Tensor:
    """Second term of equation 1: -(R - b) log p(looks), summed over all entries, divided by the images."""
    return -((reward - baseline) * log_probs).sum() / images


def per_feature_cross_entropy(logits: Tensor, targets: Tensor, images: float, smoothing: float = 0.0) -> Tensor:
    """First term of equation 3b: every vector classifies alone, (B, Q, classes) with the thumbnail's first."""
    count = logits.shape[1]
    every = targets.repeat_interleave(count, dim=0)
    return cross_entropy(logits.flatten(0, 1), every, images, smoothing) / count


def per_feature_reinforce(log_probs: Tensor, reward: Tensor, baseline: Tensor, images: float) -> Tensor:
    """Second term of equation 3b: every look earns its own reward, (B, Q - 1); zero without looks."""
    return reinforce(log_probs, reward, baseline, images) / max(1, log_probs.shape[1])


def contrast(vectors: Tensor, labels: Tensor, margin: float) -> Tensor:
    """Contrastive term (appendix, training on CUB-200-2011), averaged over all ordered pairs, also with oneself.

    Vectors (B, D) of one class are pulled together, those of different classes pushed below a
    cosine of `margin`.
    """
    with torch.autocast(vectors.device.type, enabled=False):  # or the product would fall back to half precision
        unit = F.normalize(_wide(vectors) + 1e-10, dim=1, eps=1e-6)
        cosine = unit @ unit.T  # (B, B)
        same = labels[:, None] == labels[None, :]
        return torch.where(same, 1 - cosine, (cosine - margin).clamp_min(0)).mean()


def sum_of_squares(parameters: Sequence[Tensor]) -> Tensor:
    """L2: the full sum, not half of it."""
    if not parameters:
        raise TNetError("The recipe asks for L2, but no parameters to apply it to were given.")
    return torch.stack([_wide(p).square().sum() for p in parameters]).sum()


def moved_baseline(before: Tensor, joint: Tensor, looks: Tensor, loss: LossSection) -> Tensor:
    """Equation 2 with the official mix of rewards: joint (B,), looks (B, Q - 1); no looks: the joint one alone."""
    mixed = joint.mean()
    if looks.shape[1]:
        mixed = loss.lambda_r * mixed + (1 - loss.lambda_r) * looks.mean()
    return loss.baseline_decay * before + (1 - loss.baseline_decay) * mixed


def l2_parameters(model: TNet, which: Literal["new", "all"]) -> list[nn.Parameter]:
    """What L2 runs over: trainable parameters outside batch norms, of the whole model or of all but its backbone."""
    found: dict[nn.Parameter, None] = {}  # a set that keeps the order
    for name, module in model.named_modules():
        backbone = name == "features" or name.startswith("features.")
        if not isinstance(module, _NormBase) and not (backbone and which == "new"):
            found.update((p, None) for p in module.parameters(recurse=False) if p.requires_grad)
    return list(found)


def _wide(values: Tensor) -> Tensor:
    """Half precision becomes float32; double precision stays."""
    return values if values.dtype == torch.float64 else values.float()


def _by_image(levels: Sequence[Tensor], batch: int) -> Tensor:
    """Levels of image-major rows (B * n_l, …) side by side: (B, sum of n_l, …)."""
    return torch.cat([_wide(level).unflatten(0, (batch, level.shape[0] // batch)) for level in levels], dim=1)


def _like(labels: Tensor, looks: Tensor) -> Tensor:
    """The label of every vector: (B,), (B, …) -> (B, …)."""
    return labels.view(-1, *[1] * (looks.ndim - 1)).expand_as(looks)
