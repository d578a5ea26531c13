"""One training step of the official implementation, reproduced: terms, gradients, statistics and reward baseline."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import tnet_core as tn
from tests.support.parity import model_input
from tests.support.parity_case import CASES, Case
from training.objective import compute_terms, select_l2_parameters
from training.recipes.recipe import LossSection

pytestmark = pytest.mark.slow


def loss_section(case: Case) -> LossSection:
    weights = case.manifest["train"]
    cap = weights["per_feature_level_cap"]
    return LossSection(
        lambda_f=weights["lambda_f"],
        lambda_c=weights["lambda_c"],
        lambda_r=weights["lambda_r"],
        per_feature_levels=None if cap < 0 else cap,
        contrastive=weights["contrastive_weight"],
        margin=weights["contrastive_margin"] or 0.0,
        l2=weights["l2"],
        l2_on="new",
    )


def gradients_agree(case: Case) -> None:
    """Norm and sum of every gradient; norms relative to themselves and, a little, to the largest.

    Shifts that feed another batch norm have no gradient but round-off, hence the second part.
    """
    parameters = dict(case.model.named_parameters())
    found = {v.name: parameters[v.key].grad for v in tn.official.official_variables(case.model) if v.key in parameters}
    order = case.manifest["grad_norm_order"]
    assert sorted(order) == sorted(found)
    # A variable without influence on the loss has a zero gradient in the official arrays.
    gradients = [torch.zeros(1) if found[name] is None else found[name] for name in order]
    norms = np.array([float(g.double().norm()) for g in gradients])
    sums = np.array([float(g.double().sum()) for g in gradients])
    expected_norms, expected_sums = case.expected["train_grad_norm_sum"].T
    scale = expected_norms + 1e-3 * expected_norms.max()
    assert (np.abs(norms - expected_norms) / scale).max() <= 1e-3
    # A sum of n numbers that largely cancel: its error grows with their norm and sqrt(n).
    count = np.sqrt([g.numel() for g in gradients])
    assert (np.abs(sums - expected_sums) / (scale * count)).max() <= 1e-3


@pytest.mark.parametrize("name", CASES)
def test_a_training_step_reproduces_the_official_one(name: str) -> None:
    case = Case(name)
    case.model.train()
    loss = loss_section(case)
    baseline = case.model.reward_baseline
    out = case.model.forward_train(model_input(case.images), case.budget)
    likeliest = out.logits.argmax(1)
    labels = (likeliest + torch.tensor([0, 7])) % case.model.config.num_classes  # one right, one wrong
    terms = compute_terms(out, labels, baseline, loss, select_l2_parameters(case.model, loss.l2_on))
    terms.total.backward()

    ours = [terms.joint, terms.joint_reinforce, terms.per_feature, terms.per_feature_reinforce]
    ours += [terms.l2, terms.contrastive]
    np.testing.assert_allclose([term.item() for term in ours], case.expected["train_terms"], rtol=2e-5, atol=1e-6)
    np.testing.assert_allclose(terms.total.item(), case.expected["train_total_loss"], rtol=5e-6)
    np.testing.assert_allclose(terms.contrastive.item(), case.expected["train_contrastive"], rtol=5e-6)
    np.testing.assert_allclose(terms.next_baseline.item(), case.expected["train_baseline_after"], rtol=1e-6)
    assert terms.reward.item() == 0.5
    assert baseline.item() == 0.5  # constant during the step
    gradients_agree(case)

    keys = {v.name: v.key for v in tn.official.official_variables(case.model)}
    state = case.model.state_dict()
    statistics = [key for key in case.expected if key.startswith("train_after_")]
    for key in statistics:
        value = state[keys[key.removeprefix("train_after_").replace(".", "/")]].numpy()
        np.testing.assert_allclose(value, case.expected[key], rtol=0, atol=5e-6)
    assert len(statistics) == (0 if name == "imagenet" else 4)  # BagNet-77 has no batch norm


@pytest.mark.parametrize("name", ["cub_b0_k3", "cub_b0_k5"])
def test_l2_of_the_new_modules_runs_over_the_official_variables(name: str) -> None:
    case = Case(name)
    keys = {v.name: v.key for v in tn.official.official_variables(case.model)}
    parameters = dict(case.model.named_parameters())
    expected = {id(parameters[keys[variable]]) for variable in case.manifest["train"]["l2_variables"]}
    assert {id(p) for p in select_l2_parameters(case.model, "new")} == expected
