"""Which parameters learn and how: freezing, groups with their own rate, optimisers, schedules, moving average."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import Any

import torch
from timm.models import group_parameters
from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm

from tnet_core.errors import TNetError
from tnet_core.modeling.tnet import TNet
from training.recipes.recipe import FreezeSection, OptimSection


def make_contiguous(model: TNet) -> None:
    """Undo the channels-last layout that models are built with."""
    for parameter in model.parameters():
        # a clone, since a 1x1 weight counts as contiguous in either layout and would keep its strides
        parameter.data = parameter.data.clone(memory_format=torch.contiguous_format)


class KerasAdam(torch.optim.Adam):
    """Adam with the epsilon of Keras, which is added before bias correction.

    Keras: lr sqrt(1 - b2^t) / (1 - b1^t) * m / (sqrt(v) + eps). PyTorch adds eps after correcting v,
    so the same rule needs eps / sqrt(1 - b2^t); it matters in the first thousand steps.
    """

    def __init__(self, params: Any, lr: float, betas: tuple[float, float], eps: float) -> None:
        super().__init__(params, lr=lr, betas=betas, eps=eps)
        for group in self.param_groups:
            group["keras_eps"] = eps

    def step(self, closure: Callable[[], float] | None = None) -> Any:
        for group in self.param_groups:
            taken = next((int(self.state[p]["step"]) for p in group["params"] if self.state.get(p)), 0)
            group["eps"] = group["keras_eps"] / math.sqrt(1 - group["betas"][1] ** (taken + 1))
        return super().step(closure)


def make_parameter_groups(model: TNet, section: OptimSection) -> list[dict[str, Any]]:
    """Return learning parameters in up to six groups: backbone, location and the rest, with and without decay."""
    rates = {
        "backbone": section.lr if section.backbone_lr is None else section.backbone_lr,
        "location": section.lr if section.location_lr is None else section.location_lr,
        "rest": section.lr,
    }
    groups: dict[tuple[str, bool], list[nn.Parameter]] = {}
    for name, parameter in model.named_parameters():
        if not parameter.requires_grad:
            continue
        root = name.partition(".")[0]
        kind = {"features": "backbone", "location": "location"}.get(root, "rest")
        # Decaying scales, shifts and biases only moves them off their optimum.
        groups.setdefault((kind, parameter.ndim > 1), []).append(parameter)
    return [
        {
            "params": parameters,
            "lr": rates[kind],
            "peak_lr": rates[kind],
            "name": kind,
            "weight_decay": section.weight_decay if decays and section.method == "adamw" else 0.0,
        }
        for (kind, decays), parameters in sorted(groups.items())
    ]


def make_optimiser(model: TNet, section: OptimSection) -> torch.optim.Optimizer:
    groups = make_parameter_groups(model, section)
    if section.method == "adamw":
        return torch.optim.AdamW(groups, lr=section.lr, betas=section.betas, eps=section.epsilon)
    return KerasAdam(groups, lr=section.lr, betas=section.betas, eps=section.epsilon)


def compute_rate_factor(section: OptimSection, step: int, steps: int) -> float:
    """Return the share of the peak learning rate at `step` (from 0) of `steps`.

    "step": constant, then multiplied once by `drop_factor`, when more than `drop_at` of the steps
    are done. "cosine": a linear rise over `warmup` of the steps, then half a cosine down to `final`.
    """
    if section.schedule == "constant":
        return 1.0
    if section.schedule == "step":
        return section.drop_factor if step > section.drop_at * steps else 1.0
    rising = section.warmup * steps
    if step < rising:
        return (step + 1) / (rising + 1)
    progress = (step - rising) / max(1.0, steps - rising)
    return section.final + (1 - section.final) * 0.5 * (1 + math.cos(math.pi * min(1.0, progress)))


def set_rates(optimiser: torch.optim.Optimizer, factor: float) -> None:
    for group in optimiser.param_groups:
        group["lr"] = group["peak_lr"] * factor


# What learns ------------------------------------------------------------------------------------------


def freeze(model: TNet, section: FreezeSection) -> None:
    """Exclude what the recipe names from learning."""
    for name in section.modules:
        module = getattr(model, name, None)
        if module is None:
            raise TNetError(f"The recipe freezes the module '{name}', which this model does not have.")
        module.requires_grad_(False)
    if section.stages:
        for parameter in _find_first_stages(model.features.body, section.stages):
            parameter.requires_grad_(False)
    if not any(parameter.requires_grad for parameter in model.parameters()):
        raise TNetError("The recipe freezes every parameter: nothing is left to learn.")


def set_training_mode(model: TNet, section: FreezeSection) -> None:
    """Set training mode except where nothing learns: there statistics stay and nothing is dropped.

    A frozen convolution followed by moving statistics would change its output while "frozen".
    """
    model.train()
    for module in model.modules():
        parameters = list(module.parameters())
        frozen = bool(parameters) and not any(parameter.requires_grad for parameter in parameters)
        if frozen or (section.batch_norm and isinstance(module, _BatchNorm)):
            module.eval()


def _find_first_stages(body: nn.Module, count: int) -> list[nn.Parameter]:
    """Return parameters of the stem and the first `count` stages, by timm's own division of its models."""
    matcher = getattr(body, "group_matcher", None)
    if callable(matcher):
        groups = group_parameters(body, matcher(coarse=True), return_values=False)
    else:  # BagNet-77: its parts in order
        groups = {}
        for name, _ in body.named_parameters():
            groups.setdefault(list(dict(body.named_children())).index(name.partition(".")[0]), []).append(name)
    ordered = [groups[key] for key in sorted(groups)]
    if count >= len(ordered):
        raise TNetError(f"The recipe freezes {count} stages, but the backbone has {len(ordered) - 1} after its stem.")
    table = dict(body.named_parameters())
    return [table[name] for names in ordered[: count + 1] for name in names]


# The moving average -----------------------------------------------------------------------------------


class WeightAverage:
    """Average of parameters and batch-norm statistics, which is what gets measured and saved.

    The reward baseline and counters are copied.
    """

    def __init__(self, model: TNet, decay: float) -> None:
        self.decay = decay
        self.model = copy.deepcopy(model).eval().requires_grad_(False)

    @torch.no_grad()
    def update(self, model: TNet, step: int) -> None:
        """Take up the weights after step `step` (from 1); early on a shorter memory forgets the random start."""
        decay = min(self.decay, (1 + step) / (10 + step))
        ours, theirs = self.model.state_dict(), model.state_dict()
        for name, value in theirs.items():
            if value.is_floating_point() and value.ndim > 0:
                ours[name].lerp_(value, 1 - decay)
            else:
                ours[name].copy_(value)
