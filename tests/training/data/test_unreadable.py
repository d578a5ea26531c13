"""Images that cannot be read are found before training, left out by name, and no reason to lose a run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.training import CLASSES, recipe_values, write_folders
from tnet_core.errors import TNetError
from training.data import open_split, open_splits, unreadable
from training.data.unreadable import IMAGES_FILE, find_unreadable
from training.engine.loop import Trainer, train
from training.engine.run_folder import load_state, write_recipe
from training.recipes.reading import recipe_from_mapping
from training.recipes.recipe import DataSection, Recipe

BROKEN = b"\xff\xd8\xff nothing"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_folders(tmp_path / "data", per_class=4)


def recipe(root: Path, **data: object) -> Recipe:
    values = recipe_values(epochs=2, data={"kind": "folder", "workers": 0, "root": str(root), **data})
    return recipe_from_mapping({"name": "tiny", **values})


def damage(root: Path, name: str, split: str = "train") -> Path:
    path = root / split / f"{name}.png"
    path.write_bytes(BROKEN)
    return path


def test_damaged_images_are_counted_and_named_before_training(root: Path) -> None:
    damage(root, "cyan/002")
    with pytest.raises(TNetError, match=r"002\.png.*data\.skip_unreadable=true"):
        open_splits(recipe(root))
    damage(root, "cyan/009")
    with pytest.raises(TNetError, match=r"^2 images of the train split cannot be read, the first"):
        open_splits(recipe(root))
    open_splits(recipe(root), check=False)


def test_a_check_ends_when_its_time_is_up(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = open_split(recipe(root).data, "train")
    for path in (root / "train").glob("*/*.png"):
        path.write_bytes(BROKEN)
    monkeypatch.setattr(unreadable, "_CHUNK", 4)
    assert len(find_unreadable(opened)) == 28  # type: ignore[arg-type]
    assert find_unreadable(opened, seconds=-1.0) == {}  # type: ignore[arg-type]


def test_unreadable_images_of_both_splits_are_left_out_by_name(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    damage(root, "cyan/002")
    damage(root, "fawn/005", "validation")
    train_data, validation = open_splits(recipe(root, skip_unreadable=True, cache=str(root / "cache")))
    assert (len(train_data), len(validation)) == (27, 27)
    said = capsys.readouterr().err
    assert "1 unreadable images" in said and "  cyan/002\n" in said and "  fawn/005\n" in said
    assert [sample.label for sample in map(train_data.__getitem__, range(27))] == list(train_data.labels)


def test_a_split_without_any_readable_image_is_refused(root: Path) -> None:
    for path in (root / "train").glob("*/*.png"):
        path.write_bytes(BROKEN)
    with pytest.raises(TNetError, match="No image of data"):
        open_split(DataSection(root=str(root), skip_unreadable=True), "train")


@pytest.mark.slow
@pytest.mark.parametrize("is_removed", [False, True], ids=["damaged", "removed"])
def test_a_run_that_a_damaged_image_ended_is_resumed_without_it(
    root: Path, tmp_path: Path, is_removed: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    made, out = recipe(root), tmp_path / "run"
    trainer = Trainer(made, out, resume=False, minutes=None, quiet=True)
    damaged = [damage(root, f"{name}/{index:03d}") for index, name in enumerate(CLASSES[:3])]
    with pytest.raises(TNetError, match=r"\.png.*data\.skip_unreadable=true"):
        trainer.run()
    reached = load_state(out)
    rows = [json.loads(line) for line in (out / IMAGES_FILE).read_text().splitlines()]
    assert len(rows) == 28 and [0, "amber/000"] in rows
    if is_removed:
        for path in damaged:
            path.unlink()
        with pytest.raises(TNetError, match=r"3 of the 28 images .* gone \(amber/000, blue/001, cyan/002\)"):
            train(made, out, resume=True, quiet=True)
    train(recipe(root, skip_unreadable=True), out, resume=True, quiet=True)
    assert "Continuing without 3 of 28 images: amber/000, blue/001, cyan/002." in capsys.readouterr().err
    ended = load_state(out)
    assert ended is not None and ended.step == 4 and (reached is None or reached.step < 4)
    assert ended.numbers["data"]["images"] == 28


def test_the_next_image_takes_the_place_of_one_that_is_gone(root: Path, tmp_path: Path) -> None:
    opened = open_split(recipe(root).data, "train")
    unreadable.write_image_list(tmp_path, opened)
    (root / "train" / "blue" / "001.png").unlink()
    (root / "train" / "green" / "027.png").unlink()  # the last one: the first takes its place
    later = open_split(recipe(root).data, "train")
    restored = unreadable.restore_numbering(tmp_path, later, skip=True)
    assert len(restored) == 28 and list(restored.labels) == list(opened.labels)
    names = [restored[index].name for index in range(28)]
    assert names[4] == names[5] == "blue/008" and names[27] == names[0] == "amber/000"


@pytest.mark.parametrize("content", [b"\xff{", b"[1]\n", b"7\n"])
def test_a_damaged_list_of_images_is_one_sentence(root: Path, tmp_path: Path, content: bytes) -> None:
    (tmp_path / IMAGES_FILE).write_bytes(content)
    with pytest.raises(TNetError, match=r"images\.jsonl' is damaged; remove it to go on with all of them"):
        unreadable.restore_numbering(tmp_path, open_split(recipe(root).data, "train"), skip=True)


@pytest.mark.slow
def test_a_run_without_a_state_starts_anew_on_the_images_that_are_there(root: Path, tmp_path: Path) -> None:
    out, path = tmp_path / "run", root / "train" / "cyan" / "more.png"
    out.mkdir()
    write_recipe(out, recipe(root))
    unreadable.write_image_list(out, open_split(recipe(root).data, "train"))  # and killed before the first state
    path.write_bytes(next(path.parent.glob("*.png")).read_bytes())
    train(recipe(root), out, resume=True, quiet=True)
    path.unlink()
    train(recipe(root, skip_unreadable=True), out, resume=True, quiet=True)
    assert len((out / IMAGES_FILE).read_text().splitlines()) == 29
