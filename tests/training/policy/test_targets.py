from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch

from tests.support.models import TINY, tiny
from tnet_core.modeling.location import normalise_logits
from training.policy.bank import BankRows
from training.policy.targets import (
    compute_looks_loss,
    even_out,
    expected_regret,
    make_listwise,
    make_target,
    score_cells,
    value_cells,
)
from training.recipes.recipe import BankSection

ALL = torch.ones(1, 3, dtype=torch.bool)
VALUES = torch.tensor([[-1.0, -3.0, -2.0]])
HALVES = torch.tensor([[math.log(2.0), 0.0, 0.0]])  # probabilities 1/2, 1/4, 1/4


def test_regret_is_the_best_value_minus_the_mean_value_under_the_policy() -> None:
    assert expected_regret(HALVES, VALUES, ALL).item() == pytest.approx(-1 + (0.5 + 0.75 + 0.5))
    seen = torch.tensor([[False, True, True]])  # of the rest, both are equally likely
    assert expected_regret(HALVES, VALUES, seen).item() == pytest.approx(-2 + 2.5)


def test_descending_the_regret_ascends_the_expected_likelihood() -> None:
    scores = HALVES.clone().requires_grad_()
    expected_regret(scores, VALUES, ALL).backward()
    p = HALVES.softmax(1)
    mean = (p * VALUES).sum()
    torch.testing.assert_close(-scores.grad, p * (VALUES - mean))  # gradient of sum_c p(c) value(c)


def test_the_listwise_target_is_met_when_scores_equal_values() -> None:
    loss = make_listwise(temperature=0.5)
    scores = (VALUES / 0.5 + 3).requires_grad_()
    value = loss(scores, VALUES, ALL)
    value.backward()
    target = (VALUES / 0.5).softmax(1)
    assert value.item() == pytest.approx(-(target * target.log()).sum().item(), rel=1e-5)
    assert scores.grad is not None and scores.grad.abs().max() < 1e-6


def test_cells_already_seen_take_no_part_in_the_listwise_target() -> None:
    unseen = torch.tensor([[True, False, True]])
    scores = HALVES.clone().requires_grad_()
    value = make_listwise(1.0)(scores, VALUES, unseen)
    value.backward()
    assert value.isfinite() and scores.grad is not None
    assert scores.grad[0, 1] == 0 and scores.grad.isfinite().all()
    only = make_listwise(1.0)(HALVES[:, [0, 2]], VALUES[:, [0, 2]], ALL[:, :2])
    assert value.item() == pytest.approx(only.item())


def test_evening_out_gives_sure_images_the_weight_of_others() -> None:
    values = torch.stack([VALUES[0], 0.01 * VALUES[0]])
    even = even_out(values, floor=1e-6)
    torch.testing.assert_close(even[0], even[1])
    torch.testing.assert_close(even.std(1), torch.ones(2))
    assert even_out(values, floor=0.1)[1].std() < 0.2  # the floor keeps noise from being blown up
    assert even_out(values, 0.0) is values


def make_rows(images: int = 6) -> BankRows:
    generator = torch.Generator().manual_seed(0)
    model = tiny(TINY)
    assert model.features.tap is not None
    width, channels = model.features.num_features, model.features.tap.channels
    return BankRows(
        torch.randn(images, 10, width, generator=generator),
        torch.randn(images, channels, 3, 3, generator=generator),
        torch.randn(images, width, generator=generator),
        torch.arange(images) % 7,
    )


def test_scores_rank_cells_as_the_model_does() -> None:
    model, given = tiny(TINY), make_rows()
    scores = score_cells(model, given, BankSection(sharpness=7.0))
    torch.testing.assert_close(scores, 7 * normalise_logits(model.location(given.maps, given.vectors)))
    torch.testing.assert_close(scores.norm(dim=1), torch.full((6,), 7.0))
    dropped = score_cells(model, given, BankSection(sharpness=7.0, dropout=0.5), training=True)
    assert not torch.allclose(dropped, scores)


@pytest.mark.parametrize("kind", ["likelihood", "ranking"])
def test_later_looks_are_valued_given_those_the_policy_takes_before(kind: str) -> None:
    model, given = tiny(TINY), make_rows()
    options = BankSection(looks=3)
    target = make_target(kind, options)  # type: ignore[arg-type]
    scores = torch.randn(6, 9, generator=torch.Generator().manual_seed(1))
    first = value_cells(model, given.features, given.labels)
    order = scores.argsort(dim=1, descending=True)
    expected, unseen = [], torch.ones(6, 9, dtype=torch.bool)
    for look in range(3):
        values = value_cells(model, given.features, given.labels, order[:, :look])
        expected.append(target(scores, values, unseen).item())
        unseen = unseen.scatter(1, order[:, look : look + 1], False)
    found = compute_looks_loss(model, scores, given, first, target, options)
    assert found.item() == pytest.approx(sum(expected) / 3, rel=1e-5)
    once = compute_looks_loss(model, scores, given, first, target, replace(options, looks=1))
    assert once.item() == pytest.approx(expected[0], rel=1e-5)


def test_more_looks_than_cells_end_with_the_last_cell() -> None:
    model, given = tiny(TINY), make_rows(2)
    scores = torch.randn(2, 9, generator=torch.Generator().manual_seed(1)).requires_grad_()
    first = value_cells(model, given.features, given.labels).detach()
    loss = compute_looks_loss(model, scores, given, first, expected_regret, BankSection(looks=50))
    loss.backward()
    assert loss.isfinite() and scores.grad is not None and scores.grad.isfinite().all()
