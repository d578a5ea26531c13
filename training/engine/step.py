"""One optimisation step: forward, learning rule and backward, in parts and shared among processes."""

from __future__ import annotations

import math
from dataclasses import fields

import torch
import torch.nn.functional as F
from accelerate import Accelerator
from accelerate.utils import DataLoaderConfiguration
from torch import Tensor, nn
from torch.distributions import Beta

from tnet_core.errors import TNetError
from tnet_core.modeling.tnet import TNet, TrainOutput
from training.engine.optimiser import compute_rate_factor, set_rates
from training.objective import compute_terms, make_selector, select_l2_parameters
from training.recipes.recipe import Recipe

LOGGED = ("joint", "joint_reinforce", "per_feature", "per_feature_reinforce", "l2", "contrastive", "reward")


class Learner(nn.Module):
    """Images (B, 3, S, S), labels (B,) -> the loss, its terms and the next reward baseline.

    One step of learning as a module, so that data-parallel wrappers see a single forward call.
    """

    def __init__(self, model: TNet, recipe: Recipe) -> None:
        super().__init__()
        self.model = model
        self.loss = recipe.loss
        self._mixup = recipe.augment.mixup
        self._select = make_selector(recipe.policy, model.config)
        self._l2 = recipe.loss.l2_on
        self.last: TrainOutput | None = None  # of the most recent call, for accuracies that need no backbone

    def forward(self, images: Tensor, labels: Tensor) -> dict[str, Tensor]:
        if self.loss.samples > 1:  # M Monte-Carlo samples: the batch is tiled, normalisers stay 1/b
            images, labels = images.repeat(self.loss.samples, 1, 1, 1), labels.repeat(self.loss.samples)
        targets = None
        if self._mixup:
            images, labels, targets = mix_images(images, labels, self._mixup, self.model.config.num_classes)
        baseline = getattr(self.model, "reward_baseline", torch.zeros((), device=images.device))
        out = self.model.forward_train(images, select=self._select)
        decayed = select_l2_parameters(self.model, self._l2) if self.loss.l2 else []
        terms = compute_terms(out, labels, baseline, self.loss, decayed, targets=targets)
        self.last = _detach(out)
        return {
            "loss": terms.total,
            "next_baseline": terms.next_baseline,
            **{name: getattr(terms, name).detach() for name in LOGGED},
        }


def _detach(out: TrainOutput) -> TrainOutput:
    """Return the same numbers without their graph; keeping them keeps no activations alive."""

    def detach(value: Tensor | list[Tensor]) -> Tensor | list[Tensor]:
        return [item.detach() for item in value] if isinstance(value, list) else value.detach()

    return TrainOutput(**{f.name: detach(getattr(out, f.name)) for f in fields(out)})  # type: ignore[arg-type]


def mix_images(images: Tensor, labels: Tensor, alpha: float, classes: int) -> tuple[Tensor, Tensor, Tensor]:
    """Lay each image over another; return the blends, the label of the stronger image, the shares of all classes.

    Mixup, which is not in the official code, keeps a network from knowing a small data set by heart: no blend is seen
    twice. (B, 3, S, S), (B,) -> the same, and (B, classes). Shares of the stronger image are at least a half, so the
    label that rewards are given for stays that of the image itself.
    """
    share = Beta(alpha, alpha).sample((len(images),)).to(images)
    share = torch.maximum(share, 1 - share)
    other = torch.randperm(len(images), device=images.device)
    blends = torch.lerp(images[other], images, share[:, None, None, None])
    one_hot = F.one_hot(labels, classes).to(images.dtype)
    return blends, labels, torch.lerp(one_hot[other], one_hot, share[:, None])


def make_accelerator(recipe: Recipe) -> Accelerator:
    """Return what moves tensors and gradients between devices and processes; refuse a batch they cannot share."""
    if recipe.precision == "fp16" and not torch.cuda.is_available():
        raise TNetError("'precision' is fp16, which needs a GPU; use bf16 or no.")
    accelerator = Accelerator(
        cpu=not torch.cuda.is_available(),
        mixed_precision=recipe.precision,
        gradient_accumulation_steps=recipe.accumulate,
        step_scheduler_with_optimizer=False,
        dataloader_config=DataLoaderConfiguration(split_batches=True),
        rng_types=[],  # nothing to synchronise: every choice is a function of the seed
    )
    parts = recipe.accumulate * accelerator.num_processes
    if recipe.batch_size % parts:
        raise TNetError(
            f"A batch of {recipe.batch_size} images cannot be shared among {accelerator.num_processes} "
            f"processes in {recipe.accumulate} parts; make batch_size a multiple of {parts}."
        )
    return accelerator


class OptimisationStep:
    """Forward, backward and update of a step in `recipe.accumulate` parts; `learner` and `optimiser` as prepared."""

    def __init__(
        self,
        recipe: Recipe,
        accelerator: Accelerator,
        learner: nn.Module,
        optimiser: torch.optim.Optimizer,
        steps: int,
    ) -> None:
        self._recipe, self._accelerator, self._steps = recipe, accelerator, steps
        self._learner, self._optimiser = learner, optimiser
        self._values: list[Tensor] = []  # of the parts of the current step
        self.gradient_norm = 0.0  # of the last step

    def add_part(self, images: Tensor, labels: Tensor, step: int) -> bool:
        """Do forward and backward of one part after `step` whole steps; return True when it completed a step."""
        torch.manual_seed(self._seed(step))
        set_rates(self._optimiser, compute_rate_factor(self._recipe.optim, step, self._steps))
        with self._accelerator.accumulate(self._learner):
            found = self._learner(images, labels)
            logged = [found[name].detach().float() for name in ("loss", "next_baseline", *LOGGED)]
            self._values.append(torch.stack(logged))
            self._accelerator.backward(found["loss"])
            is_complete = bool(self._accelerator.sync_gradients)
            if is_complete:
                limit = self._recipe.optim.clip_norm or math.inf
                self.gradient_norm = float(self._accelerator.clip_grad_norm_(self._learner.parameters(), limit))
            # Gradients that are not numbers would spoil weights that are still good. In half
            # precision they are expected now and then, and the loss scaler leaves the step out.
            if self._accelerator.scaler is not None or math.isfinite(self.gradient_norm):
                self._optimiser.step()
            self._optimiser.zero_grad()
        return is_complete

    def _seed(self, step: int) -> int:
        """Return the seed of dropout and exploration: another one for every part of every step on every process."""
        number = (step * self._recipe.accumulate + len(self._values)) * self._accelerator.num_processes
        return (self._recipe.seed * 0x9E3779B1 + number + self._accelerator.process_index) % 2**63

    def finish(self, *, stop: bool) -> tuple[dict[str, float], bool]:
        """Return means over parts and processes, the new reward baseline among them, and whether any asks to stop."""
        mean = torch.stack(self._values).mean(0)
        self._values = []
        total = self._accelerator.reduce(torch.cat([mean, mean.new_tensor([float(stop)])]), "mean")
        names = ("loss", "baseline", *LOGGED)
        return dict(zip(names, total[:-1].tolist(), strict=True)), bool(total[-1] > 0)

    def find_nonfinite(self, loss: float) -> str:
        """Return 'loss' or 'gradient' if that is not a number any more, else an empty text."""
        if not math.isfinite(loss):
            return "loss"
        is_scaled = self._accelerator.scaler is not None
        return "" if is_scaled or math.isfinite(self.gradient_norm) else "gradient"
