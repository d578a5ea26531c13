"""Any timm CNN can be the backbone: the rule for its location map, and what it refuses."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

import tnet_core as tn
from tests.support.models import picture
from tnet_core.modules import location_map
from tnet_core.modules.receptive_field import survey


@pytest.mark.parametrize("data", ["cub", "nabirds"])
@pytest.mark.parametrize("size", range(5))
def test_rule_reproduces_the_papers_choice_for_all_bird_models(data: str, size: int) -> None:
    chosen = location_map(tn.preset(f"{data}-b{size}"))
    channels = (80, 40, 48, 48, 56)[size]
    if size == 0:  # 6th block: first of stage 4
        assert (chosen.block, chosen.rows, chosen.channels) == ("blocks.3.0", (2, 4, 6, 8, 10), channels)
    else:  # 2nd block of stage 3
        assert (chosen.block, chosen.rows, chosen.channels) == ("blocks.2.1", (5, 9, 13, 17, 21), channels)


def test_rule_gives_the_fifth_block_for_lite0_at_160_pixels() -> None:
    chosen = location_map(tn.preset("lite0-cub"))
    assert (chosen.block, chosen.rows) == ("blocks.2.1", (3, 6, 9, 12, 15))


def test_explicit_choices_override_the_rule() -> None:
    assert location_map(tn.preset("fmow-b0")).rows == (2, 6, 10)
    assert location_map(tn.preset("fmow-b0")).block == "blocks.3.2"
    assert location_map(tn.preset("imagenet-bagnet77")).rows == (0, 2, 4, 6, 8)


@pytest.mark.parametrize(
    "backbone", ["resnet18", "resnet50", "mobilenetv3_large_100", "convnext_nano", "regnety_004", "tf_efficientnet_b0"]
)
@pytest.mark.parametrize(("grid", "fraction"), [(5, 0.35), (3, 0.5)])
def test_timm_cnns_serve_as_backbone(backbone: str, grid: int, fraction: float) -> None:
    config = tn.TNetConfig(backbone=backbone, num_classes=10, grid=grid, cell_fraction=fraction, budget=(2,))
    chosen = location_map(config)
    steps = np.diff(chosen.rows)
    assert len(chosen.rows) == grid and (steps == steps[0]).all() and steps[0] >= 1
    model = tn.build(config)
    trace = tn.traverse(model, picture(200, 300), budget=(2,))
    assert len(trace.locations) == 2
    assert trace.logits().shape == (10,) and np.isfinite(trace.logits()).all()
    assert trace.contributions(3).total == pytest.approx(trace.logits()[3], abs=1e-5)


def test_models_can_be_built_in_inference_mode() -> None:
    config = replace(tn.preset("cub-b0"), num_classes=3)  # not surveyed before
    with torch.inference_mode():
        assert tn.build(config).features.tap == location_map(tn.preset("cub-b0"))


@pytest.mark.parametrize(("backbone", "base"), [("tf_efficientnet_lite0", 160), ("convnext_nano", 224)])
def test_computed_receptive_fields_are_the_ones_gradients_show(backbone: str, base: int) -> None:
    config = tn.TNetConfig(backbone=backbone, num_classes=2, base_resolution=base)
    model = tn.build(config)
    with torch.device("meta"):
        blocks = survey(tn.TNet(config).eval().features.body, base).blocks
    chosen = location_map(config)
    field = next(block.field for block in blocks if block.name == chosen.block)
    image = (torch.rand(1, 3, base, base, generator=torch.Generator().manual_seed(0)) * 2 - 1).requires_grad_()
    sliced, _ = model.features(image)
    middle = len(chosen.rows) // 2
    (gradient,) = torch.autograd.grad(sliced[:, :, middle].abs().sum(), image)
    seen = gradient.abs().sum((0, 1, 3)).nonzero().flatten()
    centre = field.centre(chosen.rows[middle])
    assert seen[0].item() == max(round(centre - field.size / 2), 0)
    assert seen[-1].item() + 1 == min(round(centre + field.size / 2), base)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"backbone": "vit_tiny_patch16_224"}, "no convolutional block"),
        ({"backbone": "no_such_net"}, "neither 'bagnet77' nor a backbone that timm knows"),
        ({"backbone": "tf_efficientnet_b0", "grid": 16}, "too coarse"),
        ({"backbone": "vgg11"}, "too coarse"),
        ({"location_block": "blocks.9.9", "location_rows": (0, 1, 2, 3, 4)}, "has no block 'blocks.9.9'"),
        ({"location_block": "blocks.3.2", "location_rows": (0, 4, 8, 12, 16)}, "has 14 rows"),
    ],
)
def test_a_backbone_without_a_suitable_map_is_refused_with_the_reason(changes: dict, reason: str) -> None:
    config = replace(tn.TNetConfig(num_classes=2), **changes)
    with pytest.raises(tn.TNetError, match=reason):
        tn.build(config)


def test_a_backbone_with_its_own_normalisation_gets_it() -> None:
    mean, std = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
    config = tn.TNetConfig(backbone="resnet18", num_classes=2, mean=mean, std=std)
    model = tn.build(config)
    seen: list[torch.Tensor] = []
    model.features.body.register_forward_pre_hook(lambda _, args: seen.append(args[0]))
    white = torch.ones(1, 3, 224, 224)
    with torch.inference_mode():
        model.features(white)
    expected = torch.tensor([(1 - m) / s for m, s in zip(mean, std, strict=True)])
    torch.testing.assert_close(seen[0][0, :, 0, 0], expected)


def test_additive_positional_module_leaves_a_pretrained_classifier_unchanged_at_the_start() -> None:
    model = tn.build(tn.preset("lite0-imagenet"))
    image = torch.rand(2, 3, 160, 160) * 2 - 1
    with torch.inference_mode():
        looked = model.look(image, torch.tensor([[0, 0, 0], [3, 4, 1]]))
    torch.testing.assert_close(looked.feature, looked.vector, rtol=0, atol=0)


def test_stochastic_depth_grows_with_the_block_number_from_one() -> None:
    model = tn.build(tn.preset("cub-b0"))
    rates = {
        f"{i}.{j}": block.drop_path.drop_prob
        for i, stage in enumerate(model.features.body.blocks)
        for j, block in enumerate(stage)
        if hasattr(block.drop_path, "drop_prob")
    }
    assert rates["1.1"] == pytest.approx(0.5 * 3 / 16)  # third block of sixteen
    assert rates["5.3"] == pytest.approx(0.5 * 15 / 16)
    assert all(m.momentum == 0.01 and m.eps == 1e-3 for m in model.modules() if isinstance(m, torch.nn.BatchNorm2d))


def test_building_is_deterministic_and_leaves_the_global_generator_alone() -> None:
    torch.manual_seed(3)
    expected = torch.rand(1)
    torch.manual_seed(3)
    first, second, other = (tn.build(tn.preset("lite0-cub"), seed=s).state_dict() for s in (0, 0, 1))
    assert torch.equal(torch.rand(1), expected)
    assert all(torch.equal(first[key], second[key]) for key in first)
    assert not torch.equal(first["classifier.linear.weight"], other["classifier.linear.weight"])
