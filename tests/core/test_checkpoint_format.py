"""Saving and loading checkpoint folders."""

from __future__ import annotations

import copy
import json
import os
import struct
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

import tnet_core as tn
from tests.support.checkpoints import CONFIG, NAMES
from tests.support.models import TINY_3L, tiny
from tnet_core.checkpoints import CheckpointNotice, card_of, load_folder, save

pytest_plugins = ["tests.support.checkpoint_fixtures"]


def _logits(model: tn.TNet) -> torch.Tensor:
    generator = torch.Generator().manual_seed(0)
    images = torch.rand(2, 3, CONFIG.input_size, CONFIG.input_size, generator=generator) * 2 - 1
    with torch.inference_mode():
        return model(images)


def _edit_tensors(folder: Path, edit: object) -> None:
    tensors = load_file(folder / "model.safetensors")
    edit(tensors)  # type: ignore[operator]
    save_file(tensors, folder / "model.safetensors")


def test_a_loaded_model_gives_the_same_outputs(checkpoint: Path) -> None:
    model = load_folder(checkpoint)
    assert torch.equal(_logits(model), _logits(tiny(CONFIG)))
    assert not model.training
    assert all(parameter.requires_grad for parameter in model.parameters())


@pytest.mark.slow
@pytest.mark.parametrize("config", [TINY_3L, tn.preset("lite0-cub-en-160")], ids=["three levels", "baseline"])
def test_every_kind_of_model_survives_saving(config: tn.TNetConfig, tmp_path: Path) -> None:
    model = tn.build(config, seed=5, device="cpu")
    loaded = load_folder(save(model, tmp_path / "a" / "b"), device="cpu")
    assert loaded.config == config
    for (name, ours), theirs in zip(model.state_dict().items(), loaded.state_dict().values(), strict=True):
        assert torch.equal(ours, theirs), name
    for (name, ours), theirs in zip(model.named_buffers(), loaded.buffers(), strict=True):
        assert torch.equal(ours, theirs), name


def test_weights_have_the_mode_of_the_umask(tmp_path: Path) -> None:
    for umask, mode in ((0o022, 0o644), (0o027, 0o640)):
        before = os.umask(umask)
        try:
            folder = save(tiny(CONFIG), tmp_path / f"{umask:o}")
        finally:
            os.umask(before)
        assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {mode}


def test_names_provenance_and_evaluation_come_with_the_weights(checkpoint: Path) -> None:
    model = load_folder(checkpoint)
    card = card_of(model)
    assert model.class_names == card.class_names == NAMES
    assert model.source == card.source == "garden-birds"
    assert card.provenance["recipe"] == "birds.yaml"
    assert card.evaluation is not None
    assert [result.looks for result in card.evaluation.results] == [0, 1, 3]
    assert card.evaluation.where == "Garden birds test, 120 images"
    assert not card.verified
    assert "top-1 70.00 %" in card.text()


def test_a_loaded_model_can_be_copied(checkpoint: Path) -> None:
    model = copy.deepcopy(load_folder(checkpoint))
    assert card_of(model).provenance["seed"] == 3


def test_loading_leaves_the_random_state_alone(checkpoint: Path) -> None:
    before = torch.get_rng_state()
    load_folder(checkpoint)
    assert torch.equal(before, torch.get_rng_state())


def test_the_model_owns_its_weights(checkpoint: Path) -> None:
    model = load_folder(checkpoint)
    expected = _logits(model).clone()
    file = checkpoint / "model.safetensors"
    with file.open("r+b") as handle:  # in place, as a careless program would
        handle.write(b"\xff" * file.stat().st_size)
    assert torch.equal(_logits(model), expected)


def test_half_precision_is_small_and_computes_in_float32(checkpoint: Path, tmp_path: Path) -> None:
    model = load_folder(checkpoint)
    half = save(model, tmp_path / "half", half=True)
    ratio = (half / "model.safetensors").stat().st_size / (checkpoint / "model.safetensors").stat().st_size
    assert ratio < 0.65
    loaded = load_folder(half, device="cpu")
    assert {p.dtype for p in loaded.parameters()} == {torch.float32}
    assert torch.allclose(_logits(loaded), _logits(model), atol=2e-2)
    stored = load_file(half / "model.safetensors")
    assert stored["classifier.linear.weight"].dtype == torch.float16
    assert stored["reward_baseline"].dtype == torch.float32
    assert stored["features.body.bn1.running_var"].dtype == torch.float32


@pytest.mark.slow
def test_half_precision_keeps_tensors_that_would_overflow(tmp_path: Path) -> None:
    model = copy.deepcopy(tiny(CONFIG))
    with torch.no_grad():
        model.classifier.linear.bias[0] = 1e6
    loaded = load_folder(save(model, tmp_path, half=True))
    assert loaded.classifier.linear.bias[0].item() == 1e6


def test_saving_twice_gives_the_same_bytes(checkpoint: Path, tmp_path: Path) -> None:
    model = load_folder(checkpoint)
    save(model, tmp_path / "again")
    assert (tmp_path / "again" / "model.safetensors").read_bytes() == (checkpoint / "model.safetensors").read_bytes()


def test_no_temporary_files_are_left(checkpoint: Path) -> None:
    save(tiny(CONFIG), checkpoint, class_names=NAMES)
    assert {path.name for path in checkpoint.iterdir()} == {"config.json", "model.safetensors", "evaluation.json"}


def test_new_weights_remove_the_evaluation_of_the_old_ones(checkpoint: Path) -> None:
    save(tiny(CONFIG, seed=9), checkpoint, class_names=NAMES)
    assert not (checkpoint / "evaluation.json").exists()


def test_a_failed_save_leaves_the_old_checkpoint(checkpoint: Path) -> None:
    before = (checkpoint / "model.safetensors").read_bytes()
    broken = copy.deepcopy(tiny(CONFIG))
    with torch.no_grad():
        broken.classifier.linear.bias[1] = float("nan")
    with pytest.raises(tn.TNetError, match=r"not finite \(classifier\.linear\.bias\)"):
        save(broken, checkpoint)
    assert (checkpoint / "model.safetensors").read_bytes() == before
    assert len(list(checkpoint.iterdir())) == 3


def test_a_model_that_was_changed_is_not_saved(tmp_path: Path) -> None:
    model = copy.deepcopy(tiny(CONFIG))
    model.classifier.linear = torch.nn.Linear(model.features.num_features, 4)
    with pytest.raises(tn.TNetError, match="not those of its configuration"):
        save(model, tmp_path)


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(tn.TNetError, match="Cannot create the checkpoint folder"):
        save(tiny(CONFIG), tmp_path / "file" / "x")


def test_missing_extra_and_misshaped_tensors_are_listed_by_name(checkpoint: Path) -> None:
    def edit(tensors: dict[str, torch.Tensor]) -> None:
        del tensors["reward_baseline"]
        tensors["surprise"] = torch.zeros(1)
        tensors["classifier.linear.bias"] = torch.zeros(4)

    _edit_tensors(checkpoint, edit)
    with pytest.raises(tn.TNetError) as caught:
        load_folder(checkpoint)
    message = str(caught.value)
    assert "1 tensor(s) missing (reward_baseline)" in message
    assert "1 tensor(s) not part of the model (surprise)" in message
    assert "classifier.linear.bias (4,) instead of (3,)" in message


@pytest.mark.parametrize("dtype", [torch.float64, torch.int32, torch.uint8, torch.float8_e4m3fn])
def test_other_number_types_are_refused(checkpoint: Path, dtype: torch.dtype) -> None:
    _edit_tensors(checkpoint, lambda t: t.update({"classifier.linear.bias": torch.zeros(3).to(dtype)}))
    with pytest.raises(tn.TNetError, match=r"of an unsupported type \(classifier\.linear\.bias"):
        load_folder(checkpoint)


def test_values_that_are_not_finite_are_refused(checkpoint: Path) -> None:
    _edit_tensors(checkpoint, lambda t: t.update({"classifier.linear.bias": torch.full((3,), torch.inf)}))
    with pytest.raises(tn.TNetError, match="not finite"):
        load_folder(checkpoint)


@pytest.mark.slow
def test_a_small_file_cannot_ask_for_a_large_model(checkpoint: Path) -> None:
    config = json.loads((checkpoint / "config.json").read_text())
    config["model"]["backbone_scale"] = [8, 8]  # gigabytes, if it were built before it is compared
    (checkpoint / "config.json").write_text(json.dumps(config))
    with pytest.raises(tn.TNetError, match="does not fit its configuration"):
        load_folder(checkpoint)


@pytest.mark.parametrize(
    "backbone",
    ["", "*", "[", "resnet18", "vit_tiny_patch16_224", "mixer_s32_224", "hf-hub:someone/birds", "local-dir:/", "../x"],
)
def test_another_backbone_in_the_configuration_is_one_sentence(checkpoint: Path, backbone: str) -> None:
    config = json.loads((checkpoint / "config.json").read_text())
    config["model"] |= {"backbone": backbone, "backbone_scale": None, "location_block": None, "location_rows": None}
    (checkpoint / "config.json").write_text(json.dumps(config))
    with pytest.raises(tn.TNetError) as caught:
        load_folder(checkpoint)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data[:0],
        lambda data: data[:-1],
        lambda data: data + b"\0",
        lambda data: struct.pack("<Q", 1 << 62) + data[8:],
        lambda data: struct.pack("<Q", len(data) - 8) + data[8:],
        lambda data: data[:8] + b"[" * (len(data) - 8),
        lambda data: data.replace(b'"F32"', b'"Q32"', 1),
    ],
    ids=["empty", "cut", "longer", "huge header", "header to the end", "nested header", "unknown type"],
)
def test_a_damaged_tensor_file_is_one_sentence(checkpoint: Path, damage: object) -> None:
    file = checkpoint / "model.safetensors"
    file.write_bytes(damage(file.read_bytes()))  # type: ignore[operator]
    with pytest.raises(tn.TNetError, match="is not a valid safetensors file"):
        load_folder(checkpoint)


@pytest.mark.parametrize("name", ["pytorch_model.bin", "best.pt", "last.PTH", "x.ckpt", "weights.pkl"])
def test_pickles_alone_are_refused_with_the_reason(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"\x80\x04.")
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(tn.TNetError, match=r"holds only pickled weights .* can run any program"):
        load_folder(tmp_path)


def test_pickles_beside_a_checkpoint_are_ignored(checkpoint: Path) -> None:
    (checkpoint / "optimizer.pt").write_bytes(b"not even a pickle")
    assert load_folder(checkpoint).class_names == NAMES


@pytest.mark.parametrize("name", ["config.json", "model.safetensors"])
def test_an_incomplete_folder_names_the_missing_file(checkpoint: Path, name: str) -> None:
    (checkpoint / name).unlink()
    with pytest.raises(tn.TNetError, match=f"it has no {name}"):
        load_folder(checkpoint)


def test_a_file_or_nothing_in_place_of_a_folder_is_explained(checkpoint: Path) -> None:
    with pytest.raises(tn.TNetError, match="is a file; give the folder"):
        load_folder(checkpoint / "model.safetensors")
    with pytest.raises(tn.TNetError, match="There is no checkpoint folder"):
        load_folder(checkpoint / "nowhere")


def test_a_broken_evaluation_is_announced_and_left_out(checkpoint: Path) -> None:
    (checkpoint / "evaluation.json").write_text('{"schema": 1, "dataset": {}, "budgets": [{}]}')
    with pytest.warns(CheckpointNotice, match="evaluation was left out"):
        model = load_folder(checkpoint)
    assert card_of(model).evaluation is None


def test_an_unknown_device_is_one_sentence(checkpoint: Path) -> None:
    with pytest.raises(tn.TNetError, match="no device 'abacus'"):
        load_folder(checkpoint, device="abacus")
