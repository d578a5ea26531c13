"""Counting answers that half precision changes."""

from __future__ import annotations

import copy

import pytest
import torch

import tnet_core as tn
from tests.support.models import TINY, picture, tiny
from tools.half_precision import compare_answers
from training.data.sample import Sample

pytestmark = pytest.mark.slow


class Pictures:
    """A few pictures with labels."""

    class_names = tuple("abcdefg")

    def __len__(self) -> int:
        return 20

    def __getitem__(self, index: int) -> Sample:
        return Sample(picture(seed=index), index % 5, str(index))


def add_noise(model: tn.TNet, noise: float) -> tn.TNet:
    other = copy.deepcopy(model)
    with torch.no_grad():
        other.classifier.linear.weight.add_(noise * torch.randn_like(other.classifier.linear.weight))
    return other


def test_the_same_weights_change_nothing_and_others_are_counted() -> None:
    torch.manual_seed(0)
    model, budgets = tiny(TINY), [(0,), (1,), (3,)]
    assert [row[0] for row in compare_answers([model, model], Pictures(), budgets).values()] == [0, 0, 0]
    found = compare_answers([model, add_noise(model, 3.0)], Pictures(), budgets)
    assert list(found) == budgets
    for budget, (differ, right, _) in found.items():
        assert 0 < differ <= 20
        expected = sum(
            int(tn.traverse(model, picture(seed=i), budget=budget).logits().argmax()) == i % 5 for i in range(20)
        )
        assert right == expected
    assert (
        max(row[0] for row in compare_answers([model, add_noise(model, 3.0)], Pictures(), budgets, limit=3).values())
        <= 3
    )
