"""Assigning official variables is strict both ways and all or nothing."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import tnet_core as tn
from tests.support.models import TINY
from tests.support.parity import fill


def variables(model: tn.TNet) -> dict[str, np.ndarray]:
    state = model.state_dict()
    return {
        v.name: fill(v.name, v.official_shape(tuple(state[v.key].shape))) for v in tn.official.official_variables(model)
    }


@pytest.mark.slow
def test_every_tensor_of_ours_has_exactly_one_official_name() -> None:
    for name in ("imagenet-bagnet77", "bagnet77", "fmow-b0", "cub-b0", "cub-b4", "cub-en-b1"):
        with torch.device("meta"):
            model = tn.TNet(tn.preset(name))
        keys = [v.key for v in tn.official.official_variables(model)]
        stored = [key for key in model.state_dict() if not key.endswith("num_batches_tracked")]
        assert sorted(keys) == sorted(stored)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda v: v.pop("baseline_var"), "1 missing .baseline_var"),
        (lambda v: v.update(extra=np.zeros(3)), "1 not part of this model .extra"),
        (lambda v: v.update({"baseline_var": np.float32("nan")}), "without finite real numbers .baseline_var"),
        (lambda v: v.update({"baseline_var": np.float64(1e300)}), "without finite real numbers .baseline_var"),
        (lambda v: v.update({"baseline_var": np.array("x")}), "without finite real numbers .baseline_var"),
        (lambda v: v.update({7: np.zeros(3)}), "1 not part of this model .7"),
        (lambda v: v.update({"feature_posBurn/linear/bias": np.zeros(3)}), "wrong shape .feature_posBurn/linear/bias"),
    ],
)
def test_what_does_not_fit_is_listed_and_nothing_changes(change: object, message: str) -> None:
    model = tn.build(TINY)
    values = variables(model)
    change(values)  # type: ignore[operator]
    before = {key: value.clone() for key, value in model.state_dict().items()}
    with pytest.raises(tn.TNetError, match=message):
        tn.official.assign(model, values)
    assert all(torch.equal(before[key], value) for key, value in model.state_dict().items())


def test_the_reward_baseline_is_a_buffer() -> None:
    model = tn.build(TINY)
    values = variables(model) | {"baseline_var": np.float32(0.75)}
    tn.official.assign(model, values)
    assert model.reward_baseline.item() == 0.75
    assert "reward_baseline" in dict(model.named_buffers())


def test_backbones_without_official_names_are_refused() -> None:
    with pytest.raises(tn.TNetError, match="not for 'tf_efficientnet_lite0'"), torch.device("meta"):
        tn.official.official_variables(tn.TNet(tn.preset("lite0-cub")))
