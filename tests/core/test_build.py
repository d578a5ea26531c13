"""Building models: devices, seeds and the official initialisation."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from torch import nn

import tnet_core as tn
from tests.support.models import TINY


@pytest.mark.slow
def test_threads_that_build_at_once_get_the_same_weights() -> None:
    reference = tn.build(TINY, seed=5).state_dict()
    torch.manual_seed(11)
    expected = torch.rand(1)
    torch.manual_seed(11)
    with ThreadPoolExecutor(4) as pool:
        built = list(pool.map(lambda _: tn.build(TINY, seed=5).state_dict(), range(12)))
    assert torch.equal(torch.rand(1), expected)
    assert all(torch.equal(state[key], reference[key]) for state in built for key in reference)


@pytest.mark.parametrize(
    ("device", "message"), [("cuda:99", "no device"), ("abacus", "no device"), ("meta", "cpu or cuda")]
)
def test_devices_that_are_not_there_are_refused(device: str, message: str) -> None:
    with pytest.raises(tn.TNetError, match=message):
        tn.build(TINY, device=device)


def test_only_configurations_are_built_and_counted() -> None:
    for function in (tn.build, tn.flops, tn.count_parameters):
        with pytest.raises(tn.TNetError, match="TNetConfig"):
            function("cub-b0")  # type: ignore[operator]


def test_the_name_of_a_configuration_does_not_make_it_another() -> None:
    from dataclasses import replace

    assert replace(TINY, name="other") == TINY and hash(replace(TINY, name="other")) == hash(TINY)


def test_convolutions_start_with_variance_two_over_fan_out_cut_at_two_sigmas() -> None:
    conv = tn.build(tn.preset("cub-b0")).features.body.conv_head  # 320 -> 1280, 1x1
    std = math.sqrt(2 / 1280)
    assert conv.weight.std().item() == pytest.approx(std, rel=0.01)
    assert conv.weight.abs().max().item() <= 2 * std / 0.8796 + 1e-6


def test_dense_layers_of_efficientnets_start_uniform_by_their_outputs() -> None:
    linear = tn.build(tn.preset("cub-b0")).classifier.linear
    bound = 1 / math.sqrt(200)
    assert linear.weight.abs().max().item() == pytest.approx(bound, rel=1e-3)
    assert linear.weight.std().item() == pytest.approx(bound / math.sqrt(3), rel=0.01)
    assert (linear.bias == 0).all()


def test_bagnet_starts_glorot_normal_without_biases() -> None:
    model = tn.build(tn.preset("imagenet-bagnet77"))
    weight = model.classifier.linear.weight  # 512 -> 1000
    assert weight.std().item() == pytest.approx(math.sqrt(2 / 1512), rel=0.01)
    assert weight.abs().max().item() > 3 * math.sqrt(2 / 1512)  # normal, not uniform
    assert all((m.bias == 0).all() for m in model.modules() if isinstance(m, nn.Conv2d) and m.bias is not None)


def test_coordinates_start_as_they_are() -> None:
    coordinates = tn.build(TINY).location.coordinates
    assert [coordinates.height_scaling.weight.item(), coordinates.height_scaling.bias.item()] == [1, 0]
    assert [coordinates.width_scaling.weight.item(), coordinates.width_scaling.bias.item()] == [1, 0]
