"""What ships is a half-precision copy that says the same, with a card and a registry entry."""

from __future__ import annotations

import errno
from pathlib import Path

import numpy as np
import pytest
import torch
import yaml

import tnet_core as tn
from tests.support.evaluation import Canvases
from tests.support.models import TINY
from tnet_core.schemas.evaluation import parse_evaluation
from training.bundle import main
from training.evaluation.plan import Options
from training.evaluation.run import evaluate

PROVENANCE = {"recipe": "tiny", "licence": "apache-2.0", "dataset": "pictures", "data_licence": "none needed"}


@pytest.fixture
def trained(tmp_path: Path) -> Path:
    names = tuple(f"class {i}" for i in range(TINY.num_classes))
    return tn.save(tn.build(TINY, seed=3), tmp_path / "run", class_names=names, provenance=PROVENANCE)


@pytest.mark.slow
def test_the_copy_is_half_as_large_and_says_the_same(trained: Path, tmp_path: Path) -> None:
    assert main([str(trained), str(tmp_path / "shipped")]) == 0
    sizes = [(folder / "model.safetensors").stat().st_size for folder in (trained, tmp_path / "shipped")]
    assert sizes[1] < 0.6 * sizes[0]
    images = torch.randn(2, 3, TINY.input_size, TINY.input_size)
    first, second = tn.load(trained), tn.load(tmp_path / "shipped")
    assert second.class_names == first.class_names
    with torch.inference_mode():
        np.testing.assert_allclose(second(images, 0).numpy(), first(images, 0).numpy(), atol=0.05)


def test_what_is_known_about_its_making_comes_along(
    trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shipped = tmp_path / "shipped"
    assert main([str(trained), str(shipped), "--title", "A tiny one", "--description", "for tests"]) == 0
    printed = capsys.readouterr()
    entry = yaml.safe_load(printed.out)["checkpoints"][0]
    assert (entry["id"], entry["title"], entry["description"]) == ("shipped", "A tiny one", "for tests")
    assert entry["licence"] == {"weights": "apache-2.0", "data": "none needed"}
    assert set(entry["files"]) == {"config.json", "model.safetensors", "README.md"}
    assert "Not measured yet" in printed.err
    assert "# A tiny one" in (shipped / "README.md").read_text()


@pytest.mark.slow
def test_once_measured_the_card_states_the_numbers(trained: Path, tmp_path: Path) -> None:
    shipped, notes = tmp_path / "shipped", tmp_path / "notes.md"
    assert main([str(trained), str(shipped)]) == 0
    content = evaluate(tn.load(shipped), Canvases(6), Options(budget=2, policies=("learned",), workers=0))
    parse_evaluation(content).write(shipped / "evaluation.json")
    notes.write_text("## What was tried\n\nNothing else.\n")
    assert main([str(shipped), "--notes", str(notes)]) == 0
    card = (shipped / "README.md").read_text()
    assert "## What was tried" in card and "attended location" in card
    assert (shipped / "evaluation.json").exists()


@pytest.mark.parametrize("given", [["nowhere"], ["nowhere", "out"]])
def test_what_is_not_a_checkpoint_is_refused(
    given: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(given) == 2
    said = capsys.readouterr().err
    assert "nowhere" in said and said.count("\n") == 1 and not list(tmp_path.iterdir())


def test_a_folder_that_holds_something_else_is_left_as_it_is(
    trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "README.md").write_text("mine")
    (tmp_path / "file").write_text("mine")
    before = (trained / "model.safetensors").read_bytes()
    for folder in (mine, tmp_path / "file", trained, trained / ".." / "run"):
        assert main([str(trained), str(folder)]) == 2
        assert capsys.readouterr().err.count("\n") == 1
    assert (mine / "README.md").read_text() == "mine" and len(list(mine.iterdir())) == 1
    assert (trained / "model.safetensors").read_bytes() == before  # not rounded in its place
    assert main([str(trained), str(tmp_path / "copy")]) == 0
    assert "is replaced" not in capsys.readouterr().err
    assert main([str(trained), str(tmp_path / "copy")]) == 0
    assert "is replaced" in capsys.readouterr().err


def test_half_a_copy_does_not_stay(
    trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(*_: object, **__: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)  # of the card, which comes last
    assert main([str(trained), str(tmp_path / "copy")]) == 2
    assert "No space left" in capsys.readouterr().err and not (tmp_path / "copy").exists()


def test_notes_that_cannot_be_read_are_refused(trained: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(trained), "--notes", str(trained / "none.md")]) == 2
    assert "Cannot read the notes" in capsys.readouterr().err
