"""The needles canvases of the gallery: drawn from the seed, and the bundled model fares with them as stated."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import tnet_core as tn
from tools import needles_examples
from tools.needles_examples import EXAMPLES, FOLDER, Example, draw_examples
from training.data import Sample
from viz.examples import read_picture_list

CHECKPOINT = FOLDER.parent / "checkpoints" / "tnet-needles"


@pytest.fixture(scope="module")
def canvases() -> dict[Example, Sample]:
    return draw_examples()


def test_the_files_show_what_the_generator_draws() -> None:
    assert needles_examples.find_changed(FOLDER) == []


def test_four_canvases_of_different_classes_that_are_quick_to_load(canvases: dict[Example, Sample]) -> None:
    assert len({example.symbol for example in EXAMPLES}) == len(EXAMPLES) == 4
    assert all(sample.image.shape == (896, 896, 3) for sample in canvases.values())
    assert all((FOLDER / example.file).stat().st_size < 800_000 for example in EXAMPLES)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.file)
def test_the_bundled_model_fares_as_stated(example: Example, canvases: dict[Example, Sample]) -> None:
    model = tn.load(str(CHECKPOINT), device="cpu")
    trace = tn.traverse(model, FOLDER / example.file, budget=model.config.budget)
    assert (model.class_names[int(trace.logits().argmax())] == example.symbol) == example.recognised
    if example.recognised:
        closest = [look.box for look in trace.locations if look.level == 3]
        (needle,) = canvases[example].boxes
        assert any(_inside(needle, box) for box in closest), "no close look shows the whole needle"


def _inside(needle: np.ndarray, box: tuple[float, float, float, float]) -> bool:
    x0, y0, x1, y1 = box
    return bool(x0 <= needle[0] and y0 <= needle[1] and needle[2] <= x1 and needle[3] <= y1)


@pytest.mark.slow
def test_drawing_one_again_writes_the_same_pixels(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(needles_examples, "EXAMPLES", EXAMPLES[:1])  # packing one takes seconds
    assert needles_examples.main(["--check", "--out", str(tmp_path)]) == 1
    assert "needles-1" in capsys.readouterr().err
    assert needles_examples.main(["--out", str(tmp_path)]) == 0
    assert needles_examples.main(["--check", "--out", str(tmp_path)]) == 0
    file = tmp_path / EXAMPLES[0].file
    with Image.open(file) as image:
        image.transpose(Image.Transpose.ROTATE_180).save(file, lossless=True, quality=0, method=0)
    assert needles_examples.find_changed(tmp_path) == [EXAMPLES[0].file]


def test_a_changed_recipe_is_noticed(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(needles_examples, "EXAMPLES", (replace(EXAMPLES[0], symbol="ring"),))
    assert needles_examples.main(["--check"]) == 2
    assert "not 'ring': the recipe has changed" in capsys.readouterr().err


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    assert needles_examples.main(["--out", str(tmp_path / "file")]) == 2
    assert "Cannot write" in capsys.readouterr().err


def test_the_list_of_examples_names_the_symbols() -> None:
    named = {item.file: item.label for item in read_picture_list(FOLDER) if "needles" in item.kinds}
    assert named == {example.file: example.symbol for example in EXAMPLES}
