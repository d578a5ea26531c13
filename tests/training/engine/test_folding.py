"""Folding batch norms changes how fast a model runs, not what it says or what is saved."""

from __future__ import annotations

import copy

import pytest
import torch

import tnet_core as tn
from tests.support.models import TINY, config_of
from tests.support.models import with_odd_norms as lived
from training.engine.folding import find_pairs, fold_copy, fold_frozen
from training.engine.optimiser import freeze, set_training_mode
from training.recipes.recipe import FreezeSection

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("base", [64, 75, 96])
@pytest.mark.parametrize("backbone", ["tf_efficientnet_lite0", "resnet18", "mobilenetv3_small_050"])
def test_a_folded_copy_says_the_same(backbone: str, base: int) -> None:
    model = lived(config_of(backbone, base))
    images = torch.randn(2, 3, 2 * base, 2 * base)
    with torch.inference_mode():
        expected, found = model.forward_train(images, 3), fold_copy(model).forward_train(images, 3)
    torch.testing.assert_close(found.features, expected.features, rtol=1e-3, atol=1e-3)
    torch.testing.assert_close(found.location_logits[0], expected.location_logits[0], rtol=1e-3, atol=1e-3)


def test_the_original_is_left_alone() -> None:
    model = lived(TINY)
    before = copy.deepcopy(model.state_dict())
    images = torch.randn(1, 3, TINY.input_size, TINY.input_size)
    with torch.inference_mode():
        expected = model(images)
        fold_copy(model)
        assert torch.equal(model(images), expected)
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())


def test_every_batch_norm_of_an_efficientnet_finds_its_convolution() -> None:
    model = tn.build(tn.preset("lite0-cub"))
    body = model.features.body
    norms = [module for module in body.modules() if isinstance(module, torch.nn.BatchNorm2d)]
    pairs = find_pairs(model)
    assert {norm for _, norm in pairs} == set(norms)
    assert not body.training


def test_the_frozen_part_learns_the_same_with_and_without() -> None:
    section = FreezeSection(stages=2)
    images, gradients = torch.randn(3, 3, TINY.input_size, TINY.input_size), []
    for fold in (False, True):
        model = lived(TINY)
        freeze(model, section)
        set_training_mode(model, section)
        names = set(model.state_dict())
        if fold:
            assert fold_frozen(model) > 0
            assert set(model.state_dict()) == names
        torch.manual_seed(0)
        model.forward_train(images, 2).logits.square().sum().backward()
        gradients.append({n: p.grad for n, p in model.named_parameters() if p.grad is not None})
    assert gradients[0].keys() == gradients[1].keys() and gradients[0]
    largest = max(float(g.abs().max()) for g in gradients[0].values())
    for name, gradient in gradients[0].items():
        torch.testing.assert_close(gradients[1][name], gradient, rtol=1e-3, atol=1e-4 * largest)


def test_what_learns_is_never_folded() -> None:
    model = tn.build(TINY)
    model.train()
    assert fold_frozen(model) == 0
    set_training_mode(model, FreezeSection(batch_norm=True))  # statistics fixed, but scales and convolutions learn
    assert fold_frozen(model) == 0


def test_a_copy_of_a_folded_model_is_its_own() -> None:
    """A moving average of the weights is such a copy."""
    model = lived(TINY).requires_grad_(False)
    fold_frozen(model)
    images = torch.randn(1, 3, TINY.base_resolution, TINY.base_resolution)
    with torch.inference_mode():
        torch.testing.assert_close(copy.deepcopy(model).features(images)[1], model.features(images)[1])
