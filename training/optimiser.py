"""Optimisers, groups of parameters with their own rate, and schedules as functions of the step."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from tnet_core.modeling.tnet import TNet
from training.recipes.recipe import OptimSection


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


def parameter_groups(model: TNet, section: OptimSection) -> list[dict[str, Any]]:
    """Learning parameters in up to six groups: backbone, location and the rest, each with and without decay."""
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
    groups = parameter_groups(model, section)
    if section.method == "adamw":
        return torch.optim.AdamW(groups, lr=section.lr, betas=section.betas, eps=section.epsilon)
    return KerasAdam(groups, lr=section.lr, betas=section.betas, eps=section.epsilon)


def rate_factor(section: OptimSection, step: int, steps: int) -> float:
    """Share of the peak learning rate at `step` (from 0) of `steps`.

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
