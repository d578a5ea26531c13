"""Adaptation on a feature bank with planted evidence: what learns, what stays, and what it gains."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest
import torch

import tnet_core as tn
from tests.support.models import TINY, picture
from training.adapt.adapt import learn
from training.adapt.agreement import measure_likelihoods, score_images
from training.adapt.pretrained import AdaptOptions, Objective
from training.engine.warm_start import set_even_weights
from training.evaluation.features import classify_subsets, project_features
from training.evaluation.plan import Options
from training.policy.bank import FeatureBank, compute_positional_shift, make_bank
from training.policy.heads import AggregationOptions, train_aggregation
from training.policy.targets import compute_worth, make_reinforce

pytestmark = pytest.mark.slow

CONFIG = replace(TINY, positional="additive", weighting=True, num_classes=5)
CELLS = CONFIG.cells
OPTIONS = AdaptOptions("none", (Path("none"),), grid=3, budget=2, epochs=60)


def fresh(seed: int = 2) -> tn.TNet:
    """As an adaptation begins; a classifier that tells five directions apart."""
    model = tn.build(CONFIG, seed=seed)
    set_even_weights(model)
    with torch.no_grad():
        model.classifier.linear.weight.copy_(torch.eye(5, model.features.num_features) * 6)
    return model


def planted(count: int, seed: int) -> FeatureBank:
    """One cell of each image shows its class, and the map says which; all others show a little of a wrong one."""
    model = fresh()
    assert model.features.tap is not None
    random = np.random.default_rng(seed)
    width, channels = model.features.num_features, model.features.tap.channels
    features = random.normal(0, 0.1, (count, 1 + CELLS, width))
    maps = random.normal(0, 0.3, (count, channels, CELLS))
    labels = random.integers(0, 5, count)
    cells = random.integers(0, CELLS, count)
    rows = np.arange(count)
    features[rows[:, None], 1 + np.arange(CELLS), ((labels + 1) % 5)[:, None]] += 0.5
    features[rows, 1 + cells] = random.normal(0, 0.1, (count, width))
    features[rows, 1 + cells, labels] += 1.0
    maps[rows, 0, cells] += 2.0
    targets = 0.9 * np.eye(5)[labels] + 0.02
    arrays: dict[str, np.ndarray] = {
        "features": features.astype(np.float16),
        "maps": maps.reshape(count, channels, 3, 3).astype(np.float16),
        "vectors": random.normal(0, 1, (count, width)).astype(np.float16),
        "labels": targets.astype(np.float32),
    }
    return FeatureBank(arrays)


@lru_cache
def banks() -> dict[str, FeatureBank]:
    return {"train": planted(256, 0), "validation": planted(128, 1)}


@lru_cache
def learned(objective: Objective = "likelihood") -> tuple[tn.TNet, dict[str, torch.Tensor]]:
    model = fresh()
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    learn(model, banks(), replace(OPTIONS, objective=objective), quiet=True)
    return model, before


def test_weighting_and_positions_start_as_a_plain_average() -> None:
    model = fresh()
    trace = tn.traverse(model, picture(), budget=4)
    np.testing.assert_allclose(trace.weights(), np.full(5, 1 / 5), rtol=1e-6)
    assert compute_positional_shift(model).abs().max() == 0


def test_backbone_and_classifier_stay_bit_for_bit_and_the_rest_learns() -> None:
    model, before = learned()
    after = model.state_dict()
    for name, tensor in before.items():
        if name.startswith(("features.", "classifier.")):
            assert torch.equal(after[name], tensor), name
    for module in ("location.output.weight", "positional.linear.weight", "weighting.output.weight"):
        assert not torch.equal(after[module], before[module]), module


@pytest.mark.parametrize("objective", ["likelihood", "ranking", "reinforce"])
def test_a_policy_learned_on_planted_evidence_beats_random_and_central_looks(objective: Objective) -> None:
    model, _ = learned(objective)
    found = measure_likelihoods(
        model, banks()["validation"].with_shift(compute_positional_shift(model)), Options(resamples=200)
    )
    for other in ("random", "centre"):
        low, _high = found["comparisons"][f"learned-{other}"]["interval"][1]
        assert low > (0.1 if objective == "likelihood" else 0.0), other
    means = {name: values["log_likelihood"][1] for name, values in found["policies"].items()}
    if objective == "likelihood":  # the default
        assert means["learned"] > 0.5 * (means["random"] + means["oracle"])
    assert all(value <= found["best"] for value in means.values())


def test_learned_weights_speak_better_for_the_target_than_the_plain_average() -> None:
    bank, plain, model = banks()["validation"], fresh(), fresh()
    train_aggregation(model, banks()["train"], AggregationOptions(epochs=30, most=CELLS, lr=1e-2), 0, quiet=True)
    moved = bank.with_shift(compute_positional_shift(model))
    everything = torch.ones((len(bank), 1, 1 + CELLS), dtype=torch.bool)
    values = []
    for one, rows in ((plain, bank.rows(slice(None))), (model, moved.rows(slice(None)))):
        logits = classify_subsets(one, rows.features, project_features(one, rows.features), everything)
        values.append(compute_worth(logits, rows.labels).mean().item())
    assert values[1] > values[0] + 0.3


def test_a_stronger_hold_keeps_features_closer_to_what_the_classifier_knows() -> None:
    sizes = []
    for closeness in (0.0, 100.0):
        model = fresh()
        train_aggregation(
            model, banks()["train"], AggregationOptions(epochs=3, closeness=closeness), 0, quiet=True
        )  # fmt: skip
        sizes.append(compute_positional_shift(model).abs().mean().item())
    assert 0 < sizes[1] < 0.2 * sizes[0]


def test_the_same_seed_learns_the_same_modules() -> None:
    model = fresh()
    learn(model, banks(), OPTIONS, quiet=True)
    once, _ = learned()
    assert all(torch.equal(tensor, once.state_dict()[name]) for name, tensor in model.state_dict().items())


def test_a_moved_bank_holds_what_the_model_with_positions_computes() -> None:
    images = torch.from_numpy(np.stack([picture(seed=i) for i in range(3)])).permute(0, 3, 1, 2) / 127.5 - 1
    model = fresh()
    bank = make_bank(model, [(images, torch.eye(5)[:3])], 3, quiet=True)
    torch.nn.init.normal_(model.positional.linear.weight, std=0.1)  # type: ignore[union-attr]
    with torch.no_grad():
        features = model.forward_train(images, CELLS).features
        moved = bank.with_shift(compute_positional_shift(model)).rows(slice(None))
    torch.testing.assert_close(moved.features, features, atol=2e-2, rtol=2e-2)  # half precision
    assert (bank.rows(slice(None)).features - features).abs().max() > 0.1
    assert moved.labels.shape == (3, 5)


def test_likelihoods_are_those_of_the_looks_that_a_traversal_takes() -> None:
    images = [picture(seed=i) for i in range(3)]
    model = fresh()
    target = torch.tensor([[0.7, 0.1, 0.1, 0.05, 0.05]]).repeat(3, 1)
    inputs = torch.from_numpy(np.stack(images)).permute(0, 3, 1, 2) / 127.5 - 1
    bank = make_bank(model, [(inputs, target)], 3, quiet=True)
    found = score_images(model, bank, [(0,), (2,)], Options())
    for row, image in enumerate(images):
        for policy in ("learned", "centre"):
            for column, looks in enumerate((0, 2)):
                logits = torch.from_numpy(tn.traverse(model, image, budget=looks, policy=policy).logits())
                expected = (target[0] * logits.log_softmax(0)).sum().item()
                assert found[policy][row, column] == pytest.approx(expected, abs=0.02)
        assert found["oracle"][row, 1] >= -100


def test_reinforce_pushes_towards_looks_better_than_its_baseline() -> None:
    torch.manual_seed(0)
    scores = torch.zeros((64, 4), requires_grad=True)
    values = torch.tensor([0.0, 0.0, 1.0, 5.0]).expand(64, 4)
    unseen = torch.tensor([True, True, True, False]).expand(64, 4)  # the best one is taken already
    target = make_reinforce()
    for _ in range(20):
        target(scores, values, unseen).backward()
    assert scores.grad is not None
    pushed = -scores.grad.mean(0)
    assert pushed[2] > 0 > max(pushed[0], pushed[1])
    assert pushed[3] == 0
