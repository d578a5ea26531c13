"""One step of learning as a module, so that data-parallel wrappers see a single forward call."""

from __future__ import annotations

from dataclasses import fields

import torch
from torch import Tensor, nn

from tnet_core.modeling.tnet import TNet, TrainOutput
from training.mixing import mixed
from training.objective import l2_parameters, learning_rule
from training.recipes.recipe import Recipe
from training.selection import selector

LOGGED = ("joint", "joint_reinforce", "per_feature", "per_feature_reinforce", "l2", "contrastive", "reward")


class Learner(nn.Module):
    """images (B, 3, S, S), labels (B,) -> the loss, its terms and the next reward baseline."""

    def __init__(self, model: TNet, recipe: Recipe) -> None:
        super().__init__()
        self.model = model
        self.loss = recipe.loss
        self._mixup = recipe.augment.mixup
        self._select = selector(recipe.policy, model.config)
        self._l2 = recipe.loss.l2_on
        self.last: TrainOutput | None = None  # of the most recent call, for accuracies that need no backbone

    def forward(self, images: Tensor, labels: Tensor) -> dict[str, Tensor]:
        if self.loss.samples > 1:  # M Monte-Carlo samples: the batch is tiled, normalisers stay 1/b
            images, labels = images.repeat(self.loss.samples, 1, 1, 1), labels.repeat(self.loss.samples)
        targets = None
        if self._mixup:
            images, labels, targets = mixed(images, labels, self._mixup, self.model.config.num_classes)
        baseline = getattr(self.model, "reward_baseline", torch.zeros((), device=images.device))
        out = self.model.forward_train(images, select=self._select)
        decayed = l2_parameters(self.model, self._l2) if self.loss.l2 else []
        terms = learning_rule(out, labels, baseline, self.loss, decayed, targets=targets)
        self.last = _without_graph(out)
        return {
            "loss": terms.total,
            "next_baseline": terms.next_baseline,
            **{name: getattr(terms, name).detach() for name in LOGGED},
        }


def _without_graph(out: TrainOutput) -> TrainOutput:
    """The same numbers; keeping them keeps no activations alive."""

    def detached(value: Tensor | list[Tensor]) -> Tensor | list[Tensor]:
        return [item.detach() for item in value] if isinstance(value, list) else value.detach()

    return TrainOutput(**{f.name: detached(getattr(out, f.name)) for f in fields(out)})  # type: ignore[arg-type]
