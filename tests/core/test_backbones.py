"""Any timm CNN can be the backbone: the rule for its location map, and what it refuses."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import tnet_core as tn
from tests.support.models import picture
from tnet_core.modeling import features
from tnet_core.modeling.config import LocationMap
from tnet_core.modeling.features import location_map
from tnet_core.modeling.location_map import choose_location_map, compute_cell_geometry
from tnet_core.modeling.receptive_field import BlockMap, Field, survey

pytestmark = pytest.mark.slow


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
    ("backbone", "block", "rows"),
    [
        ("ghostnetv2_100", "blocks.3.0", 28),  # attention computed on a smaller map
        ("hrnet_w18_small", "stage2.0", 56),  # parallel branches of different resolution, several outputs
        ("mambaout_femto", "stages.0.blocks.2", 56),  # channels last
        ("tresnet_m", "body.layer2.0", 28),  # space to depth, reflecting pads
    ],
)
def test_gradients_of_each_row_come_from_around_its_cell(backbone: str, block: str, rows: int) -> None:
    config = tn.TNetConfig(backbone=backbone, num_classes=2)
    _, stride, centres = compute_cell_geometry(config)
    model = tn.build(config).eval()
    chosen = location_map(config)
    assert chosen.block == block and chosen.rows[-1] < rows
    assert chosen.rows[-1] - chosen.rows[0] > rows / 2  # not only a corner of the map
    image = (torch.rand(1, 3, 224, 224, generator=torch.Generator().manual_seed(0)) * 2 - 1).requires_grad_()
    sliced, _ = model.features(image)
    assert sliced.shape == (1, chosen.channels, 5, 5)
    pixels = torch.arange(224) + 0.5
    for axis in (2, 3):
        for i, centre in enumerate(centres):
            line = sliced.select(axis, i)
            signs = torch.randint(0, 2, line.shape, generator=torch.Generator().manual_seed(i)) * 2 - 1
            (gradient,) = torch.autograd.grad((line * signs).sum(), image, retain_graph=True)
            seen = gradient.abs().sum((0, 1, 5 - axis))
            assert (seen @ pixels / seen.sum()).item() == pytest.approx(centre, abs=stride / 2)


@pytest.mark.parametrize(
    ("backbone", "block"),
    [
        ("vgg11", "features.16"),  # bare convolutions
        ("convmixer_768_32", "blocks.1.0"),  # blocks written as plain Sequentials
        ("skresnet18", "layer2.0"),  # branches stacked and summed
        ("resnest50d", "layer2.2"),
        ("dpn68", "features.conv3_4"),  # blocks that return tuples
        ("selecsls42", "features.2"),
        ("csatv2", "stages.0.0"),  # cosine transform of tiles
    ],
)
def test_cnns_of_unusual_construction_have_a_location_map(backbone: str, block: str) -> None:
    chosen = location_map(tn.TNetConfig(backbone=backbone, num_classes=2))
    assert chosen.block == block and len(chosen.rows) == 5


def test_a_block_that_returns_several_maps_is_read_at_the_first() -> None:
    model = tn.build(tn.TNetConfig(backbone="selecsls42", num_classes=2)).eval()
    seen: list[list[torch.Tensor]] = []
    model.features.body.get_submodule("features.2").register_forward_hook(lambda _, __, out: seen.append(out))
    with torch.inference_mode():
        sliced, _ = model.features(torch.rand(1, 3, 224, 224))
    rows = [6, 10, 14, 18, 22]
    assert len(seen[0]) == 2
    torch.testing.assert_close(sliced, seen[0][0][:, :, rows][..., rows], rtol=0, atol=0)


@pytest.mark.parametrize(
    ("backbone", "base", "input_size", "rows"),
    [
        ("tf_efficientnet_lite0", 288, 448, (2, 5, 8, 11, 14)),
        ("tf_efficientnet_b0", 288, 448, (2, 5, 8, 11, 14)),
        ("resnet50", 288, 448, (3, 6, 9, 12, 15)),
        ("tf_efficientnet_b0", 97, 301, (2, 4, 6, 8, 10)),
    ],
)
def test_the_step_is_rounded_up_where_a_row_would_else_be_nearer_to_another_cell(
    backbone: str, base: int, input_size: int, rows: tuple[int, ...]
) -> None:
    config = tn.TNetConfig(backbone=backbone, num_classes=2, base_resolution=base, input_size=input_size)
    assert location_map(config).rows == rows


def test_layers_behind_a_squeeze_do_not_make_a_block() -> None:
    class Gated(torch.nn.Module):
        def __init__(self, layers: int) -> None:
            super().__init__()
            self.body = torch.nn.Sequential(*(torch.nn.Conv2d(256, 256, 1) for _ in range(layers)))
            self.gate = torch.nn.Conv2d(256, 256, 1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            x = self.body(x)
            return x * self.gate(x.mean((2, 3), keepdim=True))

    with torch.device("meta"):
        stem = torch.nn.Conv2d(3, 256, 16, stride=16)  # as many channels as cells: a squeeze is 256 long, too
        body = torch.nn.Sequential(stem, Gated(1), Gated(2), torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten())
    (only,) = survey(body, 256).blocks
    assert only.name == "2" and only.field == Field(size=16, jump=16, first=8, rows=16)


def test_a_map_that_covers_only_part_of_the_image_is_passed_over() -> None:
    corner = BlockMap("corner", Field(size=90, jump=8, first=4, rows=14), channels=3, output=0)
    whole = BlockMap("whole", Field(size=120, jump=8, first=4, rows=28), channels=5, output=1)
    config = tn.TNetConfig(backbone="resnet18", num_classes=2)
    assert choose_location_map(config, [corner, whole]) == LocationMap("whole", (5, 9, 13, 17, 21), 5, 1)
    with pytest.raises(tn.TNetError, match="map of the whole image"):
        choose_location_map(config, [corner])


@pytest.mark.parametrize(
    "backbone",
    [
        "swinv2_tiny_window8_256",
        "botnet26t_256",
        "bat_resnext26ts",
        "vit_small_patch16_384",
        "qwen3_vit_306m_enc",
        "inception_next_atto",
    ],
)
def test_a_backbone_that_fails_at_the_base_resolution_is_refused_in_one_sentence(backbone: str) -> None:
    with pytest.raises(tn.TNetError, match="cannot be used at base resolution 224") as refusal:
        tn.build(tn.TNetConfig(backbone=backbone, num_classes=2))
    sentence = str(refusal.value)
    assert "\n" not in sentence and ".." not in sentence and sentence.endswith("backbone.")


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"backbone": "vit_tiny_patch16_224"}, "none of the blocks in its stages returns a two-dimensional map"),
        ({"backbone": "swin_tiny_patch4_window7_224"}, "no block's convolutional receptive field covers a whole cell"),
        ({"backbone": "no_such_net"}, "neither 'bagnet77' nor a backbone that timm knows"),
        ({"backbone": "tf_efficientnet_b0", "grid": 16}, "too coarse"),
        ({"backbone": "resnest14d"}, "'layer4.0', 7x7. is too coarse for a 5x5 grid"),
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


def test_a_checkpoint_keeps_what_a_run_of_its_backbone_showed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = tn.build(tn.TNetConfig(backbone="resnet18", num_classes=3), device="cpu")
    assert model.config == tn.TNetConfig(backbone="resnet18", num_classes=3) and "survey" not in repr(model.config)
    folder = tn.save(model, tmp_path / "made")
    features.survey_backbone.cache_clear()
    monkeypatch.setattr(features, "survey", lambda *_: pytest.fail("the backbone was run again"))
    again = tn.load(folder, device="cpu")
    assert again.features.tap == model.features.tap and again.config.survey == model.config.survey
    assert "survey" not in tn.traverse(again, np.zeros((64, 64, 3), np.uint8)).to_json()  # older versions read it


@pytest.mark.slow
def test_no_bundled_checkpoint_runs_its_backbone_while_it_loads(monkeypatch: pytest.MonkeyPatch) -> None:
    features.survey_backbone.cache_clear()
    monkeypatch.setattr(features, "survey", lambda *_: pytest.fail("the backbone was run"))
    ids = tn.checkpoints.Registry.load().ids
    assert ids and all(tn.load(identity, device="cpu").config.survey is not None for identity in ids)


@pytest.mark.parametrize("changes", [{"grid": 4}, {"base_resolution": 192}, {"backbone": "resnet26"}])
def test_what_was_found_for_another_backbone_or_grid_is_found_anew(changes: dict[str, Any]) -> None:
    model = tn.build(tn.TNetConfig(backbone="resnet18", num_classes=3), device="cpu")
    other = replace(model.config, **changes)  # its survey is still the old one
    assert tn.build(other, device="cpu").features.tap == location_map(other) != model.features.tap


def test_a_survey_that_does_not_describe_its_backbone_is_refused(tmp_path: Path) -> None:
    model = tn.build(tn.TNetConfig(backbone="resnet18", num_classes=3), device="cpu")
    path = tn.save(model, tmp_path / "made") / "config.json"
    content = json.loads(path.read_text())
    content["survey"]["map"]["rows"][-1] = 500
    path.write_text(json.dumps(content))
    with pytest.raises(tn.TNetError, match="'survey' does not describe its backbone"):
        tn.traverse(tn.load(tmp_path / "made", device="cpu"), np.zeros((64, 64, 3), np.uint8))
    content["survey"]["map"]["rows"] = [-1]
    path.write_text(json.dumps(content))
    with pytest.raises(tn.TNetError, match=r"its field 'survey.map.rows"):
        tn.load(tmp_path / "made", device="cpu")
