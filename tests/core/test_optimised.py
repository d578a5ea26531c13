"""An optimised copy is faster, and says what the model says."""

from __future__ import annotations

import copy
import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

import tnet_core as tn
from tests.core.test_folding import config_of
from tests.core.test_folding import lived as with_odd_norms
from tnet_core.inference.optimise import optimised as optimising
from tnet_core.inference.optimise.fusing import Fused
from tnet_core.inference.optimise.optimised import optimised
from tnet_core.modeling import tnet

pytestmark = pytest.mark.slow

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture(autouse=True)
def seeded() -> None:
    torch.manual_seed(0)


def lived(config: tn.TNetConfig) -> tn.TNet:
    """A model whose batch norms keep what an image says alive up to the last layer, unlike untrained ones."""
    model = with_odd_norms(config).train()
    side = config.base_resolution
    for module in model.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.momentum = 1.0
    with torch.no_grad():
        model.features.body(torch.randn(16, 3, side, side, generator=torch.Generator().manual_seed(1)))
    return model.eval()


def fused(model: tn.TNet) -> list[nn.Module]:
    return [m for m in model.modules() if isinstance(m.__dict__.get("forward"), Fused)]


@pytest.mark.parametrize("base", [64, 75])
@pytest.mark.parametrize(
    "backbone", ["tf_efficientnet_b0", "tf_efficientnet_lite0", "resnet18", "mobilenetv3_small_050", "convnext_atto"]
)
def test_an_optimised_copy_says_the_same(backbone: str, base: int) -> None:
    model = lived(config_of(backbone, base))
    made = optimised(model)
    assert bool(fused(made)) is (backbone != "convnext_atto")  # which has no batch norms
    images, where = torch.randn(5, 3, base, base), torch.zeros(5, 3, dtype=torch.long)
    with torch.inference_mode():
        expected, found = model.look(images, where), made.look(images, where)
        grids = [m.locate(looked) for m, looked in ((model, expected), (made, found))]
    depends = float(expected.feature.std(0).mean())  # on the image: the network says different things of the five
    assert depends > 0.02
    torch.testing.assert_close(found.feature, expected.feature, rtol=0, atol=0.01 * depends)
    torch.testing.assert_close(grids[1], grids[0], rtol=0, atol=1e-3)


def test_the_location_module_reads_what_it_learned_to_read() -> None:
    """VGG's map is the output of a convolution before its batch norm: that one must not be folded."""
    config = replace(config_of("vgg11_bn", 64), location_block="features.22", location_rows=(0, 1, 2))
    model = lived(config)
    assert model.features.tap is not None and isinstance(model.features.body.get_submodule("features.22"), nn.Conv2d)
    images = torch.randn(2, 3, 128, 128)
    with torch.inference_mode():
        expected, found = model.forward_train(images, 3), optimised(model).forward_train(images, 3)
    torch.testing.assert_close(found.location_logits[0], expected.location_logits[0], rtol=0, atol=1e-3)
    torch.testing.assert_close(found.logits, expected.logits, rtol=0, atol=1e-3)


@pytest.mark.parametrize("name", ["tnet-lite0-cub", "tnet-needles"])
def test_traversals_of_a_trained_model_take_the_same_looks(name: str) -> None:
    model = tn.load(name, device="cpu")
    fast = optimised(model)
    for example in ("nuthatch.jpg", "needles-1.webp"):
        for sampling in ("official", "native"):
            plain, found = (tn.traverse(m, EXAMPLES / example, sampling=sampling) for m in (model, fast))
            assert [look.path for look in plain.locations] == [look.path for look in found.locations]
            np.testing.assert_allclose(found.logits(), plain.logits(), atol=1e-3)
            np.testing.assert_allclose(found.weights(), plain.weights(), atol=1e-4)


def test_inputs_of_another_size_go_the_plain_way() -> None:
    model = lived(config_of("tf_efficientnet_b0", 64))
    made = optimised(model)
    images = torch.randn(2, 3, 96, 80)
    with torch.inference_mode():
        expected, found = model.features.body(images), made.features.body(images)
    torch.testing.assert_close(found, expected, rtol=0, atol=0.01 * float(expected.std(0).mean()))


def test_the_original_is_left_alone_and_a_copy_can_be_saved() -> None:
    model = lived(config_of("tf_efficientnet_lite0", 64))
    before = copy.deepcopy(model.state_dict())
    made = optimised(model)
    assert not fused(model)
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert all(torch.equal(value, before[name]) for name, value in made.state_dict().items())


@pytest.mark.parametrize("backbone", ["tf_efficientnet_lite0", "tf_efficientnet_b0"])
def test_a_copy_can_be_copied_and_sent_to_another_process(backbone: str) -> None:
    made = optimised(lived(config_of(backbone, 64)))
    images = torch.randn(2, 3, 128, 128)
    for other in (copy.deepcopy(made), pickle.loads(pickle.dumps(made))):
        assert len(fused(other)) == len(fused(made)) and other.glances
        with torch.inference_mode():
            assert torch.equal(other(images, 2), made(images, 2))


def test_without_one_dnn_batch_norms_are_folded_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(optimising, "one_dnn_runs", lambda: False)
    model = lived(config_of("tf_efficientnet_lite0", 64))
    made = optimised(model)
    assert not fused(made)
    images = torch.randn(2, 3, 64, 64)
    with torch.inference_mode():
        expected = model.features.body(images)
        torch.testing.assert_close(made.features.body(images), expected, rtol=0, atol=0.01 * float(expected.std()))


def test_graphs_are_for_cuda() -> None:
    with pytest.raises(tn.TNetError, match="on a CUDA device"):
        optimised(tn.build(config_of("resnet18", 64), device="cpu"), graphs=True)


def test_a_model_that_is_being_trained_is_refused() -> None:
    with pytest.raises(tn.TNetError, match=r"training mode; call model.eval\(\)"):
        optimised(tn.build(config_of("resnet18", 64)).train())


def test_looks_in_portions_are_the_looks_in_one(monkeypatch: pytest.MonkeyPatch) -> None:
    model = lived(config_of("tf_efficientnet_lite0", 64))
    images, where = torch.randn(7, 3, 64, 64), torch.zeros(7, 3, dtype=torch.long)
    sizes: list[int] = []
    model.features.register_forward_hook(lambda _, given, __: sizes.append(len(given[0])))
    monkeypatch.setattr(tnet, "PORTION", 3 * 64 * 64)
    with torch.inference_mode():
        portions = model.look(images, where)
    whole = model.look(images, where)  # with gradients: learning needs the level in one
    assert sizes == [3, 2, 2, 7]
    assert portions.map is not None and whole.map is not None
    for found, expected in ((portions.map, whole.map), (portions.vector, whole.vector)):
        torch.testing.assert_close(found, expected.detach(), rtol=1e-4, atol=1e-4)


def test_batch_norm_sees_a_whole_level_while_it_learns(monkeypatch: pytest.MonkeyPatch) -> None:
    model = tn.build(config_of("resnet18", 64)).train()
    sizes: list[int] = []
    model.features.register_forward_hook(lambda _, given, __: sizes.append(len(given[0])))
    monkeypatch.setattr(tnet, "PORTION", 1)
    with torch.no_grad():
        model.look(torch.randn(4, 3, 64, 64), torch.zeros(4, 3, dtype=torch.long))
    assert sizes == [4]
