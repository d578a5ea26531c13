"""A bias towards the centre that a location module learns to say by itself."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

import tnet_core as tn
from tests.support.models import TINY
from training.policy.bank import FeatureBank
from training.policy.heads import compute_centre_bias, lean_to_centre
from training.policy.targets import score_bank
from training.recipes.recipe import BankSection

CONFIG = replace(TINY, positional="additive", weighting=True, num_classes=5)


def maps_alone(count: int, model: tn.TNet) -> FeatureBank:
    assert model.features.tap is not None
    random = np.random.default_rng(0)
    shape = (count, model.features.tap.channels, CONFIG.grid, CONFIG.grid)
    width = model.features.num_features
    return FeatureBank(
        {
            "features": np.zeros((count, 1, width), np.float16),
            "maps": random.normal(0, 1, shape).astype(np.float16),
            "vectors": random.normal(0, 1, (count, width)).astype(np.float16),
            "labels": np.zeros(count, np.int64),
        }
    )


def test_the_bias_falls_from_the_centre_outwards_and_has_a_spread_of_one() -> None:
    bias = compute_centre_bias(5).reshape(5, 5)
    assert bias.argmax() == 12 and len(bias.unique()) == 6  # distances from the centre
    assert bias.mean().item() == pytest.approx(0, abs=1e-6)
    assert bias.std(correction=0).item() == pytest.approx(1, abs=1e-6)
    torch.testing.assert_close(bias, bias.T.flip(0))


@pytest.mark.slow
def test_scores_become_what_they_were_plus_the_bias_and_nothing_else_changes() -> None:
    model = tn.build(CONFIG, seed=2)
    bank = maps_alone(256, model)
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    scores = score_bank(model, bank, BankSection())
    lean_to_centre(model, bank, 1.5, epochs=600)
    changed = {name for name, tensor in model.state_dict().items() if not torch.equal(tensor, before[name])}
    assert changed and all(name.startswith("location.") for name in changed)
    bias = compute_centre_bias(CONFIG.grid)
    target = scores + 1.5 * scores.std(1, keepdim=True) * bias
    found = score_bank(model, bank, BankSection())
    assert torch.cosine_similarity(found, target).mean() > 0.97
    centre = CONFIG.cells // 2
    assert (found.argmax(1) == centre).float().mean() > 2 * (scores.argmax(1) == centre).float().mean()
    assert (found.argmax(1) != centre).any()  # what stands out is still looked at first


@pytest.mark.slow
def test_leaning_twice_gives_the_same_weights() -> None:
    weights = []
    for _ in range(2):
        model = tn.build(CONFIG, seed=2)
        lean_to_centre(model, maps_alone(64, model), 1.0, epochs=2)
        assert model.location is not None
        weights.append(torch.cat([tensor.flatten() for tensor in model.location.state_dict().values()]))
    torch.testing.assert_close(*weights)
