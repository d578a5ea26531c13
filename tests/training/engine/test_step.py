"""Mixup: blends, and what they are labelled as."""

from __future__ import annotations

import pytest
import torch

import tnet_core as tn
from training.engine.step import Learner, mix_images
from training.objective import compute_terms
from training.recipes.reading import read_recipe

pytestmark = pytest.mark.slow


def test_a_blend_and_its_shares_are_mixed_alike() -> None:
    torch.manual_seed(0)
    labels = torch.tensor([0, 1, 2, 3])
    images = torch.nn.functional.one_hot(labels, 4).float()[:, :, None, None].expand(4, 4, 2, 2)  # a plane per class
    blends, same, shares = mix_images(images, labels, 1.0, 4)
    assert torch.equal(same, labels)
    assert torch.allclose(blends, shares[:, :, None, None].expand_as(blends))
    assert torch.allclose(shares.sum(1), torch.ones(4))
    assert (shares[range(4), labels] >= 0.5).all() and (shares[range(4), labels] < 1).any()


def test_certain_shares_give_the_loss_of_the_labels() -> None:
    recipe = read_recipe("lite0-cub", ["model.config.num_classes=5"])
    model = tn.build(recipe.config, seed=0).train()
    images, labels = torch.rand(2, 3, 448, 448) * 2 - 1, torch.tensor([1, 4])
    out = model.forward_train(images)
    shares = torch.nn.functional.one_hot(labels, 5).float()
    hard = compute_terms(out, labels, 0.5, recipe.loss).total
    assert torch.allclose(compute_terms(out, labels, 0.5, recipe.loss, targets=shares).total, hard)
    even = torch.full((2, 5), 0.2)
    assert not torch.allclose(compute_terms(out, labels, 0.5, recipe.loss, targets=even).total, hard)


def test_the_recipe_switches_it_on_and_the_seed_decides() -> None:
    changes = ["model.config.num_classes=5", "model.config.dropout=0"]
    images, labels = torch.rand(4, 3, 448, 448) * 2 - 1, torch.tensor([0, 1, 2, 3])

    def loss(alpha: float, seed: int) -> float:
        recipe = read_recipe("lite0-cub", [*changes, f"augment.mixup={alpha}", "policy.select=top_k"])
        learner = Learner(tn.build(recipe.config, seed=0).eval(), recipe)
        torch.manual_seed(seed)
        with torch.no_grad():
            return float(learner(images, labels)["loss"])

    assert loss(0.5, 1) == loss(0.5, 1) != loss(0.5, 2)
    assert loss(0, 1) == loss(0, 2)
