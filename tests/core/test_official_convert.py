"""Official checkpoints become our models: every variant by name and shape, a real one by its outputs."""

from __future__ import annotations

import gzip
import json
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.support.parity import fill, image, model_input
from tests.support.processes import run_python
from tests.support.tf_bundle import CKPT_NARROW, unpack_narrow, variable_key, write_bundle
from tnet_core import TNet, TNetConfig, TNetError, preset
from tnet_core.official import convert, official_variables, read_bundle
from tnet_core.official.__main__ import main, read_labels
from tnet_core.official.convert import (
    find_fitting_presets,
    find_official_name,
    list_official_presets,
    list_official_shapes,
)

pytestmark = pytest.mark.slow

KEYS: dict[str, dict[str, list]] = json.loads(
    gzip.decompress((CKPT_NARROW.parent / "official_keys.json.gz").read_bytes())
)  # variant -> key -> [dtype, *shape], everything the official trainers save
PRESETS = {
    "imagenet_tnet": ["imagenet-bagnet77"],
    "imagenet_bagnet77": ["bagnet77"],
    "fmow_tnet": ["fmow-b0", "fmow-b0-3l"],  # one set of weights, two and three levels
    "fmow_en_b0": ["fmow-en-b0-224", "fmow-en-b0-448", "fmow-en-b0-896"],
    **{f"{data}_tnet_b{i}": [f"{data}-b{i}"] for data in ("cub", "nabirds") for i in range(5)},
    **{f"{data}_en_b{i}": [f"{data}-en-b{i}"] for data in ("cub", "nabirds") for i in range(5)},
}
NARROW = replace(
    preset("cub-b0"),
    name="",
    backbone_scale=(0.25, 0.25),
    num_classes=5,
    budget=(3,),
    location_block="blocks.3.0",
    location_rows=(2, 4, 6, 8, 10),
)


def model_shapes(keys: dict[str, list]) -> dict[str, tuple[int, ...]]:
    named = {find_official_name(key): tuple(shape) for key, (_, *shape) in keys.items()}
    return {name: shape for name, shape in named.items() if name is not None}


def write_model(prefix: Path, config: TNetConfig, **changes: np.ndarray | None) -> Path:
    """An official checkpoint of a configuration by the formula; a change of None leaves a variable out."""
    tensors = {name: fill(name, shape) for name, shape in list_official_shapes(config).items()} | changes
    write_bundle(prefix, {variable_key(name): value for name, value in tensors.items() if value is not None})
    return prefix


@pytest.fixture(scope="module")
def narrow(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unpack_narrow(tmp_path_factory.mktemp("narrow"))


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint of the plain CUB classifier in its real size."""
    return write_model(tmp_path_factory.mktemp("full") / "ckpt-100", preset("cub-en-b0"))


# Names


def test_the_key_maps_cover_every_official_variant() -> None:
    assert KEYS.keys() == PRESETS.keys()
    assert len(KEYS) == 24


@pytest.mark.parametrize("variant", KEYS)
def test_official_keys_and_shapes_are_exactly_those_of_the_preset(variant: str) -> None:
    stored = model_shapes(KEYS[variant])
    for name in PRESETS[variant]:
        assert list_official_shapes(preset(name)) == stored


@pytest.mark.parametrize("variant", ["imagenet_tnet", "imagenet_bagnet77", "fmow_tnet", "fmow_en_b0", "cub_tnet_b0"])
def test_a_checkpoint_s_shapes_tell_its_preset(variant: str) -> None:
    assert find_fitting_presets(model_shapes(KEYS[variant])) == PRESETS[variant]


def test_weights_are_all_that_is_kept_of_the_stored_keys() -> None:
    for variant, keys in KEYS.items():
        for key, (dtype, *_) in keys.items():
            name = find_official_name(key)
            if name is not None:
                assert dtype == "float32" and not name.startswith(".") and ".S" not in name, (variant, key)


@pytest.mark.parametrize("name", ["cub-b0", "fmow-b0", "imagenet-bagnet77", "bagnet77", "nabirds-en-b4"])
def test_official_variables_cover_the_whole_model_once(name: str) -> None:
    with torch.device("meta"):
        model = TNet(preset(name))
    keys = [variable.key for variable in official_variables(model)]
    assert len(keys) == len(set(keys))
    counters = {key for key in model.state_dict() if key.endswith("num_batches_tracked")}
    assert set(keys) == model.state_dict().keys() - counters


@pytest.mark.parametrize(
    ("key", "name"),
    [
        ("a.Sb/.ATTRIBUTES/VARIABLE_VALUE", "a/b"),
        ("a..b/.ATTRIBUTES/VARIABLE_VALUE", "a.b"),
        ("a...Sb/.ATTRIBUTES/VARIABLE_VALUE", "a./b"),
        ("a..Sb/.ATTRIBUTES/VARIABLE_VALUE", "a.Sb"),
        ("iterative.Skernel/.ATTRIBUTES/VARIABLE_VALUE", "iterative/kernel"),
        ("model/layer/kernel/.ATTRIBUTES/VARIABLE_VALUE", "model/layer/kernel/.ATTRIBUTES/VARIABLE_VALUE"),
        ("_CHECKPOINTABLE_OBJECT_GRAPH", None),
        ("save_counter/.ATTRIBUTES/VARIABLE_VALUE", None),
        ("iter/.ATTRIBUTES/VARIABLE_VALUE", None),
        ("iteration/.ATTRIBUTES/VARIABLE_VALUE", None),
        ("Adam.Siter/.ATTRIBUTES/VARIABLE_VALUE", None),
        ("Adam_1.Siter/.ATTRIBUTES/VARIABLE_VALUE", None),
        ("a.Sb/.OPTIMIZER_SLOT/optimizer/m/.ATTRIBUTES/VARIABLE_VALUE", None),
        ("optimizer/beta_1/.ATTRIBUTES/VARIABLE_VALUE", None),
        ("optimizer/_variables/12/.ATTRIBUTES/VARIABLE_VALUE", None),
        ("optimizer/_learning_rate/.ATTRIBUTES/VARIABLE_VALUE", None),
        ("Adam.Sm.Sfeature_extraction.Sstem.Sconv2d.Skernel/.ATTRIBUTES/VARIABLE_VALUE", None),
    ],
)
def test_keys_are_unescaped_and_bookkeeping_is_recognised(key: str, name: str | None) -> None:
    assert find_official_name(key) == name


# The real checkpoint


def test_the_converted_checkpoint_reproduces_the_official_outputs(narrow: Path) -> None:
    expected = np.load(CKPT_NARROW / "expected.npz")
    seeds = json.loads((CKPT_NARROW / "manifest.json").read_text())["images"]["seeds"]
    images = model_input([image(448, seed) for seed in seeds])
    model = convert(narrow, NARROW)
    assert not model.training
    assert "ckpt-7" in model.source

    thumbnails = torch.nn.functional.interpolate(images, (224, 224), mode="bilinear")
    with torch.inference_mode():
        looked = model.look(thumbnails, torch.zeros(2, 3, dtype=torch.long))
        out = model.forward_train(images, (3,))
    np.testing.assert_array_equal(out.selected[0].numpy(), expected["l1_selected_raster"])
    assert looked.map is not None
    found = {
        "l1_in_sub7": thumbnails[:, :, ::7, ::7].permute(0, 2, 3, 1),
        "l1_locmap": looked.map.permute(0, 2, 3, 1),
        "l1_feat": looked.vector,
        "l1_feat_pos": out.features[:, 0],
        "l2_feat_pos": out.features[:, 1:].flatten(0, 1),
        "l1_loc_logits": out.location_logits[0],
        "l1_loc_probs": out.location_logits[0].softmax(1),
        "feat_weights": out.weights,
        "feat_final": out.representation,
        "logits": out.logits,
    }
    for name, value in found.items():
        np.testing.assert_allclose(value.numpy(), expected[name], rtol=0, atol=1e-3, err_msg=name)
    largest = np.abs(expected["logits"]).max()
    assert np.abs(out.logits.numpy() - expected["logits"]).max() < 5e-6 * largest  # what float32 really allows


def test_the_reward_baseline_is_converted(tmp_path: Path) -> None:
    prefix = write_model(tmp_path / "a", NARROW, baseline_var=np.array(0.75, np.float32))
    assert convert(prefix, NARROW).reward_baseline.item() == 0.75


def test_a_checkpoint_without_optimiser_state_and_one_of_a_newer_optimiser_convert_alike(
    narrow: Path, tmp_path: Path
) -> None:
    tensors = {key: value for key, value in read_bundle(narrow).items() if find_official_name(key) is not None}
    write_bundle(tmp_path / "plain", tensors)
    state: dict[str, np.ndarray | bytes] = {
        "optimizer/_variables/1/.ATTRIBUTES/VARIABLE_VALUE": np.ones((3, 3), np.float32),
        "Adam.Siteration/.ATTRIBUTES/VARIABLE_VALUE": np.array(9, np.int64),
        "_CHECKPOINTABLE_OBJECT_GRAPH": b"\x00",
    }
    write_bundle(tmp_path / "newer", {**tensors, **state})
    reference = convert(narrow, NARROW).state_dict()
    for name in ("plain", "newer"):
        found = convert(tmp_path / name, NARROW).state_dict()
        assert all(torch.equal(found[key], value) for key, value in reference.items())


# What does not fit


def test_the_wrong_preset_is_named_together_with_the_right_one(full: Path) -> None:
    with pytest.raises(TNetError, match=r"wrong shape .*fits the preset 'cub-en-b0', not 'nabirds-en-b0'\.$"):
        convert(full, preset("nabirds-en-b0"))
    with pytest.raises(TNetError, match=r"missing .*fits the preset 'cub-en-b0', not 'cub-b0'\.$"):
        convert(full, preset("cub-b0"))
    with pytest.raises(TNetError, match=r"not for 'tf_efficientnet_lite0'; .*'cub-en-b0', not 'lite0-cub'\.$"):
        convert(full, preset("lite0-cub"))


def test_missing_and_left_over_variables_are_listed(tmp_path: Path) -> None:
    changes = {"feat_weighting/output_linear/bias": None, "surplus/kernel": np.ones(3, np.float32)}
    prefix = write_model(tmp_path / "a", NARROW, **changes)
    with pytest.raises(TNetError) as caught:
        convert(prefix, NARROW)
    sentence = str(caught.value)
    assert "1 missing (feat_weighting/output_linear/bias)" in sentence
    assert "1 not part of this model (surplus/kernel)" in sentence
    assert sentence.endswith("the checkpoint 'a' fits no preset.")


def test_a_variable_of_whole_numbers_is_refused(tmp_path: Path) -> None:
    prefix = write_model(tmp_path / "a", NARROW, baseline_var=np.array(1, np.int64))
    with pytest.raises(TNetError, match="'baseline_var' of the checkpoint 'a' does not hold floating-point numbers"):
        convert(prefix, NARROW)


def test_a_checkpoint_of_counters_only_is_refused(tmp_path: Path) -> None:
    write_bundle(tmp_path / "a", {"save_counter/.ATTRIBUTES/VARIABLE_VALUE": np.array(1, np.int64)})
    with pytest.raises(TNetError, match="holds no model"):
        convert(tmp_path / "a", NARROW)


def test_a_variable_under_two_spellings_is_refused(tmp_path: Path) -> None:
    keys = ("a.b/.ATTRIBUTES/VARIABLE_VALUE", "a..b/.ATTRIBUTES/VARIABLE_VALUE")
    write_bundle(tmp_path / "a", {key: np.ones(1, np.float32) for key in keys})
    with pytest.raises(TNetError, match=r"holds the variable 'a\.b' twice"):
        convert(tmp_path / "a", NARROW)


def test_only_official_models_are_candidates() -> None:
    assert sorted(list_official_presets()) == sorted(name for names in PRESETS.values() for name in names)


# The command line


@pytest.mark.parametrize("half", [False, True])
def test_the_command_writes_a_folder_that_loads(
    full: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], half: bool
) -> None:
    from tnet_core.checkpoints import load_folder

    labels = tmp_path / "labels.txt"
    labels.write_text("\n".join(f"Bird é {i}" for i in range(200)) + "\n", encoding="utf-8")
    out = tmp_path / "out"
    arguments = [str(full), str(out), "--preset", "cub-en-b0", "--labels", str(labels)]
    assert main(arguments + ["--half"] * half) == 0
    assert "ckpt-100.index" in capsys.readouterr().out
    loaded, direct = load_folder(out), convert(full, preset("cub-en-b0"))
    assert loaded.config == direct.config
    assert loaded.class_names[199] == "Bird é 199"
    assert json.loads((out / "config.json").read_text())["provenance"]["dataset"] == "CUB-200-2011"
    found = loaded.state_dict()
    for key, value in direct.state_dict().items():
        exact = not half or key not in dict(direct.named_parameters())
        assert torch.equal(found[key], value if exact else value.half().float()), key


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (["--preset", "nothing"], "There is no preset 'nothing'"),
        (["--preset", "cub-en-b0", "--labels", "absent.txt"], "'absent.txt' cannot be read"),
        (["--preset", "cub-en-b1"], "fits the preset 'cub-en-b0', not 'cub-en-b1'."),
    ],
)
def test_the_command_says_in_one_sentence_what_is_wrong(
    full: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], change: list[str], sentence: str
) -> None:
    assert main([str(full), str(tmp_path / "out"), *change]) == 2
    assert sentence in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_the_command_does_not_write_over_other_files(
    full: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = tmp_path / "out" / "notes.txt"
    kept.parent.mkdir()
    kept.write_text("mine")
    arguments = [str(full), str(kept.parent), "--preset", "cub-en-b0"]
    assert main(arguments) == 2
    assert "is not empty; choose another or add --force" in capsys.readouterr().err
    assert [path.name for path in kept.parent.iterdir()] == ["notes.txt"]
    assert main([*arguments, "--force"]) == 0
    assert kept.read_text() == "mine" and (kept.parent / "model.safetensors").is_file()
    assert main([str(full), str(kept), "--preset", "cub-en-b0", "--force"]) == 2
    assert "is a file" in capsys.readouterr().err


def test_the_module_runs_as_a_program(tmp_path: Path) -> None:
    command = ("-m", "tnet_core.official", str(tmp_path / "absent"), str(tmp_path / "out"), "--preset", "cub-b0")
    root = Path(__file__).parents[2]
    result = run_python(*command, cwd=root, env=os.environ, folder=tmp_path, timeout=120)
    assert result.returncode == 2
    assert "There is no TensorFlow checkpoint at" in result.stderr and "Traceback" not in result.stderr


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"a\nb\nc\nd\n", "has 4 lines, but 'five' has 5 classes"),
        (b"a\nb\n\nd\ne\n", "Line 3 of the labels file .* is empty"),
        (b"\xff\xfe", "is not UTF-8 text"),
        (b"\n\n", "has 0 lines, but 'five' has 5 classes"),
    ],
)
def test_labels_that_do_not_fit_are_refused(tmp_path: Path, content: bytes, sentence: str) -> None:
    (tmp_path / "labels.txt").write_bytes(content)
    with pytest.raises(TNetError, match=sentence):
        read_labels(tmp_path / "labels.txt", replace(NARROW, name="five"))


def test_labels_are_read_in_order(tmp_path: Path) -> None:
    (tmp_path / "labels.txt").write_bytes("\ufeffa\r\nb b\r\n ç \r\nd\r\ne\r\n\r\n".encode())
    assert read_labels(tmp_path / "labels.txt", NARROW) == ["a", "b b", "ç", "d", "e"]
