"""The batched forward: what the learning rule needs from it."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

import tnet_core as tn
from tests.support.models import TINY, TINY_3L, tiny


def batch(count: int = 2, side: int = 128) -> torch.Tensor:
    return torch.rand(count, 3, side, side, generator=torch.Generator().manual_seed(0)) * 2 - 1


def test_shapes_of_three_levels() -> None:
    out = tiny(TINY_3L).forward_train(batch(3), (2, 3))
    assert out.logits.shape == (3, 7) and out.representation.shape == (3, 320) and out.sequence_log_prob.shape == (3,)
    assert [tuple(level.shape) for level in out.feature_logits] == [(3, 7), (6, 7), (18, 7)]
    assert [tuple(level.shape) for level in out.log_probs] == [(6,), (18,)]
    assert [tuple(cells.shape) for cells in out.selected] == [(3, 2), (6, 3)]
    assert out.features.shape == (3, 9, 320) and out.weights.shape == (3, 9)
    torch.testing.assert_close(out.weights.sum(1), torch.ones(3))


def test_log_probabilities_are_those_of_the_chosen_cells() -> None:
    out = tiny().forward_train(batch(), (4,))
    probabilities = out.location_logits[0].softmax(1)
    chosen = probabilities.gather(1, out.selected[0])
    torch.testing.assert_close(out.log_probs[0], chosen.log().flatten(), atol=1e-6, rtol=0)
    torch.testing.assert_close(out.sequence_log_prob, chosen.log().sum(1), atol=1e-5, rtol=0)
    assert (out.selected[0].diff(dim=1) > 0).all()  # raster order


def test_no_gradient_reaches_the_backbone_from_the_location_module() -> None:
    model = tn.build(TINY)
    out = model.forward_train(batch(), (2,))
    out.sequence_log_prob.sum().backward()
    assert all(p.grad is None for p in model.features.parameters())
    assert all(p.grad is None for p in model.classifier.parameters())
    assert any(p.grad is not None and p.grad.abs().sum() > 0 for p in model.location.parameters())


def test_the_joint_prediction_trains_everything_but_the_location_module() -> None:
    model = tn.build(TINY)
    model.forward_train(batch(), (2,)).logits.sum().backward()
    assert all(p.grad is None for p in model.location.parameters())
    assert all(p.grad is not None for name, p in model.named_parameters() if not name.startswith("location."))


def test_a_budget_of_zero_uses_the_thumbnail_alone() -> None:
    out = tiny().forward_train(batch(), (0,))
    assert out.features.shape[1] == 1 and out.log_probs[0].shape == (0,) and out.feature_logits[1].shape == (0, 7)
    torch.testing.assert_close(out.sequence_log_prob, torch.zeros(2))
    torch.testing.assert_close(out.logits, out.feature_logits[0])
    deep = tiny(TINY_3L).forward_train(batch(), (0, 2))
    assert [len(level) for level in deep.log_probs] == [0, 0] and len(deep.selected) == 2
    torch.testing.assert_close(deep.logits, deep.feature_logits[0])


def test_levels_may_exceed_those_of_training() -> None:
    out = tiny().forward_train(batch(), (2, 1), levels=3)
    assert [tuple(level.shape) for level in out.feature_logits] == [(2, 7), (4, 7), (4, 7)]


def test_the_choice_of_cells_can_be_replaced() -> None:
    def last(probabilities: torch.Tensor, k: int) -> torch.Tensor:
        return torch.arange(9 - k, 9).expand(len(probabilities), k)

    out = tiny().forward_train(batch(), (2,), select=last)
    assert out.selected[0].tolist() == [[7, 8], [7, 8]]


def test_batch_norm_sees_each_level_on_its_own() -> None:
    model = tn.build(TINY).train()
    counter = model.features.body.bn1.num_batches_tracked
    model.forward_train(batch(), (2,))
    assert counter.item() == 2


def test_dropout_draws_a_mask_per_classifier_call_and_only_in_training() -> None:
    model = tn.build(replace(TINY, dropout=0.5))
    first, second = (model.forward_train(batch(), (0,)) for _ in range(2))
    torch.testing.assert_close(first.logits, second.logits, rtol=0, atol=0)
    torch.testing.assert_close(first.logits, first.feature_logits[0])
    model.train()
    out = model.forward_train(batch(), (0,))
    assert not torch.equal(out.logits, out.feature_logits[0])


def test_bad_batches_and_budgets_are_refused() -> None:
    with pytest.raises(tn.TNetError, match=r"\(B, 3, S, S\)"):
        tiny().forward_train(torch.zeros(2, 1, 128, 128), (1,))
    for nothing in (batch()[:0], torch.zeros(2, 3, 128, 128, dtype=torch.uint8), batch().numpy()):
        with pytest.raises(tn.TNetError, match="A batch of images must"):
            tiny().forward_train(nothing, (1,))
    with pytest.raises(tn.TNetError, match="9 cells"):
        tiny().forward_train(batch(), (10,))
    with pytest.raises(tn.TNetError, match="does not fit 2 levels"):
        tiny().forward_train(batch(), (1, 1))


def test_baselines_have_one_feature_and_no_locations() -> None:
    from tnet_core.modeling.presets import baseline_of

    model = tiny(baseline_of(TINY, 128))
    out = model.forward_train(batch())
    assert out.log_probs == [] and len(out.feature_logits) == 1
    torch.testing.assert_close(out.logits, out.feature_logits[0])
    assert not hasattr(model, "reward_baseline")
