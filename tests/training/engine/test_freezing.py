"""Frozen parts neither learn nor drift."""

from __future__ import annotations

import pytest
import torch

import tnet_core as tn
from tests.support.models import TINY
from tnet_core.errors import TNetError
from training.engine.optimiser import WeightAverage, freeze, set_training_mode
from training.recipes.recipe import FreezeSection


def step(model: tn.TNet) -> None:
    optimiser = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.1)
    images = torch.randn(4, 3, 128, 128, generator=torch.Generator().manual_seed(0))  # by chance a layer may be dead
    out = model.forward_train(images, 2)
    (out.logits.square().mean() + out.sequence_log_prob.mean()).backward()
    optimiser.step()


def list_changed(model: tn.TNet, before: dict[str, torch.Tensor]) -> set[str]:
    return {name for name, value in model.state_dict().items() if not torch.equal(value, before[name])}


def test_frozen_stages_keep_weights_and_statistics() -> None:
    model = tn.build(TINY)
    section = FreezeSection(stages=2)
    freeze(model, section)
    set_training_mode(model, section)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    step(model)
    moved = list_changed(model, before)
    frozen = ("features.body.conv_stem", "features.body.bn1", "features.body.blocks.0.", "features.body.blocks.1.")
    assert not [name for name in moved if name.startswith(frozen)]
    assert any(name.startswith("features.body.blocks.2.") and "running_mean" in name for name in moved)
    assert "features.body.conv_head.weight" in moved


def test_fixed_batch_norm_learns_scales_but_keeps_statistics() -> None:
    model = tn.build(TINY)
    section = FreezeSection(batch_norm=True)
    freeze(model, section)
    set_training_mode(model, section)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    step(model)
    moved = list_changed(model, before)
    assert not [name for name in moved if "running_" in name or "num_batches" in name]
    assert "features.body.bn2.weight" in moved


def test_whole_modules_can_be_frozen() -> None:
    model = tn.build(TINY)
    freeze(model, FreezeSection(modules=("features", "classifier")))
    before = {name: value.clone() for name, value in model.state_dict().items()}
    set_training_mode(model, FreezeSection(modules=("features", "classifier")))
    step(model)
    assert {name.partition(".")[0] for name in list_changed(model, before)} == {"location", "positional", "weighting"}


def test_stages_of_other_backbones_follow_their_own_division() -> None:
    config = tn.preset("imagenet-bagnet77")
    model = tn.build(config)
    freeze(model, FreezeSection(stages=1))
    frozen = {name.split(".")[2] for name, p in model.named_parameters() if not p.requires_grad}
    assert frozen == {"part1", "part2"}


@pytest.mark.parametrize(
    ("section", "said"),
    [
        (FreezeSection(stages=9), "freezes 9 stages"),
        (FreezeSection(modules=("features", "classifier", "positional", "location", "weighting")), "nothing is left"),
    ],
)
def test_impossible_freezing_is_refused(section: FreezeSection, said: str) -> None:
    with pytest.raises(TNetError, match=said):
        freeze(tn.build(TINY), section)


def test_freezing_a_module_the_model_lacks_is_refused() -> None:
    plain = tn.build(tn.TNetConfig.from_dict(TINY.to_dict() | {"weighting": False}))
    with pytest.raises(TNetError, match="'weighting'"):
        freeze(plain, FreezeSection(modules=("weighting",)))


def test_average_follows_weights_and_statistics_and_copies_the_baseline() -> None:
    model = tn.build(TINY)
    average = WeightAverage(model, decay=0.9)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(1.0)
        model.features.body.bn1.running_mean.add_(1.0)
        model.reward_baseline.fill_(0.25)
    before = {name: value.clone() for name, value in average.model.state_dict().items()}
    average.update(model, step=1000)
    after = average.model.state_dict()
    for name in ("classifier.linear.weight", "features.body.bn1.running_mean"):
        torch.testing.assert_close(after[name] - before[name], torch.full_like(before[name], 0.1))
    assert float(after["reward_baseline"]) == 0.25


@pytest.mark.slow
def test_average_forgets_the_start_quickly() -> None:
    model = tn.build(TINY)
    average = WeightAverage(model, decay=0.9999)
    with torch.no_grad():
        model.classifier.linear.weight.fill_(3.0)
    for step_number in range(1, 200):
        average.update(model, step_number)
    torch.testing.assert_close(
        average.model.classifier.linear.weight, model.classifier.linear.weight, atol=1e-3, rtol=0
    )
