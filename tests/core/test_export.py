"""ONNX: the exported graphs give what PyTorch gives, and a traversal needs nothing of this project."""

from __future__ import annotations

import copy
import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import onnxruntime
import pytest
import torch
from PIL import Image

import tnet_core as tn
from tests.support.models import lived, picture, tiny
from tnet_core.export import export_model, main

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "docs" / "onnx_traversal.py"


@pytest.fixture(scope="module")
def example() -> ModuleType:
    spec = importlib.util.spec_from_file_location("onnx_traversal", EXAMPLE)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def graphs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    model = copy.deepcopy(tiny())  # which all tests share
    model.class_names = tuple("abcdefg")
    return export_model(model, tmp_path_factory.mktemp("onnx") / "tiny")


@pytest.mark.slow
@pytest.mark.parametrize("batch", [1, 5])
def test_the_batch_is_free_and_the_numbers_are_those_of_the_model(graphs: Path, batch: int) -> None:
    model, draw = tiny(), np.random.default_rng(batch)
    crops = draw.uniform(-1, 1, (batch, 3, *[model.config.base_resolution] * 2)).astype(np.float32)
    positions = draw.integers(0, 3, (batch, 3))
    logits, features = onnxruntime.InferenceSession(graphs / "look.onnx").run(
        None, {"crops": crops, "positions": positions}
    )
    with torch.no_grad():
        seen = model.look(torch.from_numpy(crops), torch.from_numpy(positions))
        np.testing.assert_allclose(logits, model.locate(seen), atol=1e-4)
        np.testing.assert_allclose(features, seen.feature, atol=1e-4)
        sets = seen.feature.expand(batch, batch, -1).contiguous()
        weights, joint = onnxruntime.InferenceSession(graphs / "decide.onnx").run(None, {"features": sets.numpy()})
        np.testing.assert_allclose(weights, model.weights(sets), atol=1e-5)
    assert joint.shape == (batch, model.config.num_classes)


@pytest.mark.slow
def test_the_metadata_says_what_a_traversal_needs(graphs: Path) -> None:
    config = tiny().config
    for name in ("look.onnx", "decide.onnx"):
        texts = onnxruntime.InferenceSession(graphs / name).get_modelmeta().custom_metadata_map
        about = {key: json.loads(text) for key, text in texts.items()}
        assert about["class_names"] == list("abcdefg")
        assert about["grid"] == {
            "n": config.grid, "cell_fraction": config.cell_fraction, "levels": 2, "budget": list(config.budget)
        }  # fmt: skip
        assert about["preprocessing"]["base_resolution"] == config.base_resolution


# One checkpoint of two levels and one of three; the others, and baselines of 160 and 448 px, take a long run.
QUICKEST = ("tnet-lite0-cub", "tnet-needles")


@pytest.mark.slow
@pytest.mark.parametrize(
    "identity",
    [
        identity if identity in QUICKEST else pytest.param(identity, marks=pytest.mark.long)
        for identity in tn.checkpoints.Registry.load().ids
    ],
)
def test_a_traversal_of_a_bundled_checkpoint_is_that_of_the_library(
    identity: str, example: ModuleType, tmp_path: Path
) -> None:
    model = tn.load(identity, device="cpu")
    photo = tmp_path / "photo.png"
    pixels = picture(seed=3)
    Image.fromarray(pixels).resize((700, 500)).save(photo)
    folder = export_model(model, tmp_path / "onnx")
    for budget in {model.config.budget, tuple(2 for _ in model.config.budget)}:
        trace = tn.traverse(model, photo, budget)
        answer = example.traverse(folder, photo, list(budget))
        assert answer["looks"] == [look.path for look in trace.locations]
        np.testing.assert_allclose(answer["weights"], trace.weights(), atol=1e-3)
        np.testing.assert_allclose(answer["logits"], trace.logits(), atol=1e-3)


@pytest.mark.slow
def test_an_exported_baseline_says_what_the_library_says(example: ModuleType, tmp_path: Path) -> None:
    config = tn.TNetConfig(backbone="resnet18", num_classes=5, input_size=64, base_resolution=64, levels=1, budget=())
    model = lived(config)
    model.class_names = tuple("abcde")
    photo = tmp_path / "photo.png"
    Image.fromarray(picture()).save(photo)
    answer = example.traverse(export_model(model, tmp_path / "onnx"), photo, [])
    assert answer["looks"] == []
    np.testing.assert_allclose(answer["logits"], tn.traverse(model, photo).logits(), atol=1e-3)


@pytest.mark.slow
def test_the_example_imports_neither_pytorch_nor_this_project(graphs: Path, tmp_path: Path) -> None:
    photo = tmp_path / "photo.png"
    Image.fromarray(picture()).save(photo)
    code = (
        "import runpy, sys; sys.argv = sys.argv[1:]; runpy.run_path(sys.argv[0], run_name='__main__'); "
        "sys.exit(bool({'torch', 'tnet_core'} & sys.modules.keys()))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(EXAMPLE), str(graphs), str(photo), "3"],
        capture_output=True, text=True, cwd=tmp_path, timeout=120, check=True,
    )  # fmt: skip
    trace = tn.traverse(tiny(), photo, budget=(3,))
    assert done.stdout.splitlines()[0].split()[3:] == [str(look.index) for look in trace.locations]
    best = "abcdefg"[trace.prediction]
    assert done.stdout.splitlines()[1].endswith(f"{100 * trace.probabilities().max():6.2f} %  {best}")


def test_nothing_is_overwritten_and_nothing_half_written_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    checkpoint = str(tn.save(tiny(), tmp_path / "tiny"))
    (tmp_path / "file").write_text("mine")
    out = tmp_path / "out"
    out.mkdir()
    (out / "look.onnx").write_text("mine")
    for arguments in (
        [checkpoint, str(tmp_path / "file")],
        [checkpoint, str(out)],
        [checkpoint, str(tmp_path / "no" / "such" / "folder")],
        [checkpoint, str(tmp_path / ("x" * 256))],
        ["no-such-checkpoint", str(tmp_path / "new")],
    ):
        assert main(arguments) == 2, arguments
        assert capsys.readouterr().err.count("\n") == 1

    def fail(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tnet_core.export._write", fail)
    assert main([checkpoint, str(tmp_path / "new")]) == 2
    assert "No space left on device" in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "out", "tiny"]
    assert (out / "look.onnx").read_text() == (tmp_path / "file").read_text() == "mine"


@pytest.mark.parametrize("missing", ["onnx", "onnxscript"])
def test_without_the_exporter_s_packages_one_sentence_names_the_extra(
    missing: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    assert main(["no checkpoint, which is not loaded before", str(tmp_path / "out")]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"ONNX export needs {missing}: pip install '.[onnx]' in the clone") and said.count("\n") == 1
    for file in ("docs/onnx.md", "docs/command_line.md"):
        assert "pip install '.[onnx]'" in (ROOT / file).read_text(encoding="utf-8")
    assert not [*tmp_path.iterdir()]
