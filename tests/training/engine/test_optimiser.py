"""Rates, groups and the Adam of Keras."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import torch

import tnet_core as tn
from tests.support.models import TINY
from training.engine.optimiser import (
    KerasAdam,
    compute_rate_factor,
    freeze,
    make_optimiser,
    make_parameter_groups,
    set_rates,
)
from training.recipes.recipe import FreezeSection, OptimSection


def test_adam_follows_the_formula_of_keras() -> None:
    generator = np.random.default_rng(0)
    start, gradients = generator.normal(size=4), 1e-6 * generator.normal(size=(6, 4))  # epsilon matters here
    parameter = torch.nn.Parameter(torch.tensor(start))
    optimiser = KerasAdam([{"params": [parameter]}], lr=1e-2, betas=(0.9, 0.999), eps=1e-7)
    value, m, v = start.copy(), np.zeros(4), np.zeros(4)
    for t, gradient in enumerate(gradients, start=1):
        m, v = 0.9 * m + 0.1 * gradient, 0.999 * v + 0.001 * gradient**2
        rate = 1e-2 * math.sqrt(1 - 0.999**t) / (1 - 0.9**t)
        value -= rate * m / (np.sqrt(v) + 1e-7)
        parameter.grad = torch.tensor(gradient)
        optimiser.step()
        np.testing.assert_allclose(parameter.detach().numpy(), value, rtol=1e-10)


def test_keras_and_pytorch_put_epsilon_in_different_places() -> None:
    ours, theirs = (torch.nn.Parameter(torch.ones(3)) for _ in range(2))
    for parameter, kind in ((ours, KerasAdam), (theirs, torch.optim.Adam)):
        optimiser = kind([{"params": [parameter]}], lr=0.1, betas=(0.9, 0.999), eps=1e-7)
        parameter.grad = torch.full((3,), 1e-6)
        optimiser.step()
    assert (ours - theirs).abs().max() > 1e-3


def test_backbone_location_and_rest_have_their_own_rates() -> None:
    model = tn.build(TINY)
    groups = make_parameter_groups(model, OptimSection(lr=1e-3, backbone_lr=1e-4, location_lr=5e-3))
    rates = {group["name"]: group["lr"] for group in groups}
    assert rates == {"backbone": 1e-4, "location": 5e-3, "rest": 1e-3}
    listed = [id(p) for group in groups for p in group["params"]]
    assert sorted(listed) == sorted(id(p) for p in model.parameters())  # each once


def test_what_is_frozen_is_not_optimised() -> None:
    model = tn.build(TINY)
    freeze(model, FreezeSection(modules=("features",)))
    groups = make_parameter_groups(model, OptimSection())
    assert {group["name"] for group in groups} == {"location", "rest"}


def test_only_matrices_decay_and_only_under_adamw() -> None:
    model = tn.build(TINY)
    for method, decays in (("adamw", {0.0, 0.05}), ("adam", {0.0})):
        optimiser = make_optimiser(model, OptimSection(method=method, weight_decay=0.05))
        assert {group["weight_decay"] for group in optimiser.param_groups} == decays
        for group in optimiser.param_groups:
            if group["weight_decay"]:
                assert all(p.ndim > 1 for p in group["params"])


def test_step_schedule_drops_once_after_its_share_of_steps() -> None:
    section = OptimSection(schedule="step", drop_at=0.8, drop_factor=0.1)
    factors = [compute_rate_factor(section, step, 100) for step in range(100)]
    assert factors == [1.0] * 81 + [0.1] * 19  # "more than 80 % of the steps", as in the official code


def test_cosine_schedule_rises_then_falls_to_its_end() -> None:
    section = OptimSection(schedule="cosine", warmup=0.1, final=0.05)
    factors = [compute_rate_factor(section, step, 1000) for step in range(1000)]
    assert factors[0] == pytest.approx(1 / 101)
    assert all(b > a for a, b in itertools.pairwise(factors[:101]))
    assert factors[100] == pytest.approx(1.0)
    assert all(b < a for a, b in itertools.pairwise(factors[100:]))
    assert factors[-1] == pytest.approx(0.05, abs=1e-4)
    assert factors[550] == pytest.approx(0.05 + 0.95 / 2)


def test_rates_scale_from_their_peaks_however_often_they_are_set() -> None:
    optimiser = make_optimiser(tn.build(TINY), OptimSection(lr=1e-3, backbone_lr=1e-4))
    for _ in range(3):
        set_rates(optimiser, 0.5)
    assert {group["lr"] for group in optimiser.param_groups} == {5e-4, 5e-5}
