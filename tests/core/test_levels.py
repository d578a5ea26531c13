"""Levels of looks: batches, traversals in one go and step by step agree; a failure leaves what was seen before."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
import torch.nn.functional as F

import tnet_core as tn
from tests.support.models import config_of, lived
from tnet_core.inference import traversal as traversals
from tnet_core.sampling.grid import resize_batch

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def models() -> tuple[tn.TNet, tn.TNet]:
    """Three levels, as built and optimised."""
    torch.manual_seed(0)
    config = replace(config_of("tf_efficientnet_b0", 64), input_size=256, levels=3, budget=(2, 2))
    model = lived(config)
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("TNET_ENGINE", raising=False)
        return model, tn.optimised(model)


def picture(seed: int = 0, side: int = 300) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (side, side, 3), dtype=np.uint8)


@pytest.mark.parametrize("budget", [(2, 2), (3, 1), (0, 0), (2, 0), (0, 2), (9, 9)])
def test_a_batch_says_the_same(models: tuple[tn.TNet, tn.TNet], budget: tuple[int, int]) -> None:
    model, fast = models
    images = torch.randn(2, 3, 256, 256, generator=torch.Generator().manual_seed(1))
    with torch.inference_mode():
        expected, found = model.forward_train(images, budget), fast.forward_train(images, budget)
        alone = fast(images, budget)
    assert torch.equal(alone, found.logits)
    assert [a.tolist() for a in found.selected] == [b.tolist() for b in expected.selected]
    for name in ("logits", "features", "weights", "representation", "sequence_log_prob"):
        torch.testing.assert_close(getattr(found, name), getattr(expected, name), rtol=1e-3, atol=1e-3)
    for name in ("feature_logits", "log_probs", "location_logits"):
        for a, b in zip(getattr(found, name), getattr(expected, name), strict=True):
            torch.testing.assert_close(a, b, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("budget", [(2, 2), (4, 1), (0, 0)])
def test_a_traversal_in_one_go_is_the_traversal_step_by_step(
    models: tuple[tn.TNet, tn.TNet], budget: tuple[int, int]
) -> None:
    for model in models:
        whole = tn.traverse(model, picture(), budget=budget)
        steps = tn.Traversal(model, picture(), budget)
        while steps.step() is not None:
            pass
        trace = steps.trace()
        assert [look.path for look in whole.locations] == [look.path for look in trace.locations]
        np.testing.assert_allclose(whole.logits(), trace.logits(), atol=1e-4)
        np.testing.assert_allclose(whole.weights(), trace.weights(), atol=1e-5)
        assert all(seconds > 0 for seconds in whole.timing.seconds)
        assert len(whole.timing.seconds) == len(whole.locations) + 1


def test_a_large_level_is_looked_at_in_parts(models: tuple[tn.TNet, tn.TNet], monkeypatch: pytest.MonkeyPatch) -> None:
    fast = models[1]
    expected = tn.traverse(fast, picture(), budget=(4, 3))
    monkeypatch.setattr(traversals, "_BATCH", 2)
    found = tn.traverse(fast, picture(), budget=(4, 3))
    assert [look.path for look in found.locations] == [look.path for look in expected.locations]
    np.testing.assert_allclose(found.logits(), expected.logits(), atol=1e-4)


def test_a_traversal_may_be_finished_in_one_go_after_some_steps(models: tuple[tn.TNet, tn.TNet]) -> None:
    fast = models[1]
    started = tn.Traversal(fast, picture(), (2, 2))
    for _ in range(2):
        started.step()
    started.attend(2, 8)
    whole = started.run()
    expected = tn.Traversal(models[0], picture(), (2, 2))
    for _ in range(2):
        expected.step()
    expected.attend(2, 8)
    np.testing.assert_allclose(whole.logits(), expected.run().logits(), atol=1e-3)


def test_a_policy_that_fails_half_way_leaves_what_was_seen(models: tuple[tn.TNet, tn.TNet]) -> None:
    def poor(grid: tn.Distribution) -> list[int]:
        return [4, 5] if grid.level == 1 else [0]  # one cell where two are wanted

    traversal = tn.Traversal(models[1], picture(), (2, 2), policy=poor)
    with pytest.raises(tn.TNetError, match="names 1 cells in the grid of look 0, but the budget asks for 2"):
        traversal.run()
    trace = traversal.trace()
    assert [look.index for look in trace.locations] == [4, 5]
    expected = tn.traverse(models[0], picture(), (2,), policy=lambda _: [4, 5], levels=2)
    np.testing.assert_allclose(trace.logits(), expected.logits(), atol=1e-3)


def test_damaged_weights_behind_the_map_are_noticed_every_time(models: tuple[tn.TNet, tn.TNet]) -> None:
    model = lived(models[0].config)
    assert model.positional is not None
    with torch.no_grad():
        model.positional.linear.weight.fill_(float("nan"))
    traversal = tn.Traversal(tn.optimised(model), picture(), (2, 2))
    for _ in range(2):  # the second time as the first
        with pytest.raises(tn.TNetError, match="not finite"):
            traversal.run()


@pytest.mark.parametrize("shape", [(448, 448), (896, 896), (672, 672), (224, 448), (672, 448), (500, 448), (224, 224)])
def test_reducing_is_the_official_bilinear_resize(shape: tuple[int, int]) -> None:
    images = torch.rand(2, 3, *shape, generator=torch.Generator().manual_seed(0)) * 2 - 1
    for batch in (images, images.contiguous(memory_format=torch.channels_last)):
        expected = F.interpolate(batch, (224, 224), mode="bilinear", align_corners=False, antialias=False)
        torch.testing.assert_close(resize_batch(batch, 224), expected, rtol=0, atol=1e-6)
