"""CUB-200-2011 and NABirds."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.training.data_files import class_folders, listed_birds, picture, small_cub
from tnet_core.errors import TNetError
from training.data import open_split, reading
from training.data.birds import name_cub_classes
from training.recipes.recipe import DataSection


def section(root: Path, **changes: object) -> DataSection:
    return replace(DataSection(kind="cub", root=str(root)), **changes)


def names(split: object) -> list[str]:
    return [split[i].name for i in range(len(split))]  # type: ignore[index,arg-type]


def test_cub_reads_the_official_split(tmp_path: Path) -> None:
    data = section(small_cub(tmp_path))
    train, test = open_split(data, "train"), open_split(data, "validation")
    assert names(train) == [
        "001.Black_footed_Albatross/bird_1",
        "001.Black_footed_Albatross/bird_3",
        "002.Laysan_Albatross/bird_5",
        "002.Laysan_Albatross/bird_7",
    ]
    assert len(test) == 4 and not set(names(train)) & set(names(test))
    assert train.class_names == ("Black-footed Albatross", "Laysan Albatross")
    assert tuple(train.labels) == (0, 0, 1, 1) and train.name == "CUB-200-2011"
    np.testing.assert_allclose(train[1].boxes, [[0.25, 0.25, 0.75, 0.75]])
    assert np.array_equal(train[1].image, picture(2))


def test_cub_as_class_folders_gives_the_same_labels_and_names(tmp_path: Path) -> None:
    folders = ("001.Black_footed_Albatross", "002.Laysan_Albatross")
    class_folders(tmp_path / "train", folders, images=12)
    (tmp_path / "classes.txt").write_text("\n".join(folders))
    (tmp_path / "boxes.csv").write_text(
        "file,x,y,w,h,width,height,orig_width,orig_height\n"
        f"{folders[0]}/{folders[0]}_0.webp,8.0,6.0,16.0,12.0,32,24,64,48\n"
    )
    data = section(tmp_path, holdout=3, boxes="boxes.csv")
    train, validation = open_split(data, "train"), open_split(data, "validation")
    assert train.class_names == validation.class_names == ("Black-footed Albatross", "Laysan Albatross")
    assert len(train) + len(validation) == 24 and 2 <= len(validation) <= 14
    boxes = [split[i].boxes for split in (train, validation) for i in range(len(split)) if len(split[i].boxes)]
    np.testing.assert_allclose(boxes, [[[0.25, 0.25, 0.75, 0.75]]])


def test_a_holdout_of_the_official_layout_leaves_the_test_images_alone(tmp_path: Path) -> None:
    data = section(small_cub(tmp_path), holdout=2)
    both = names(open_split(data, "train")) + names(open_split(data, "validation"))
    assert sorted(both) == sorted(names(open_split(replace(data, holdout=0), "train")))


def test_names_of_birds_can_be_turned_back_into_folders() -> None:
    folders = ("017.Cardinal", "021.Eastern_Towhee", "125.Lincoln_Sparrow", "126.Nelson_Sharp_tailed_Sparrow")
    shown = name_cub_classes(folders)
    assert shown == ("Cardinal", "Eastern Towhee", "Lincoln Sparrow", "Nelson Sharp-tailed Sparrow")
    for folder, name in zip(folders, shown, strict=True):
        assert folder.partition(".")[2] == name.replace("-", "_").replace(" ", "_")


def small_nabirds(root: Path) -> Path:
    classes = {"10": "Wren", "295": "Mallard (Male)", "296": "Mallard (Male)", "0": "Birds", "817": "Oak Titmouse"}
    images = [
        ("id-a", "0817/a.png", "817", 1),
        ("id-b", "0295/b.png", "295", 1),
        ("id-c", "0817/c.png", "817", 0),
        ("id-d", "0296/d.png", "296", 0),
        ("id-e", "0010/e.png", "10", 1),
    ]
    return listed_birds(root, classes, images)


def test_nabirds_numbers_classes_as_they_appear(tmp_path: Path) -> None:
    data = section(small_nabirds(tmp_path), kind="nabirds")
    train, test = open_split(data, "train"), open_split(data, "validation")
    # classes without images have no label; equal names are told apart
    expected = ("Oak Titmouse", "Mallard (Male) (class 295)", "Mallard (Male) (class 296)", "Wren")
    assert train.class_names == test.class_names == expected
    assert (tuple(train.labels), tuple(test.labels)) == ((0, 1, 3), (0, 2))
    assert names(train) == ["0817/a", "0295/b", "0010/e"]
    np.testing.assert_allclose(test[0].boxes, [[0.25, 0.25, 0.75, 0.75]])


@pytest.mark.parametrize(
    ("file", "text", "word"),
    [
        ("images.txt", "", "images.txt is empty"),
        ("image_class_labels.txt", None, "lacks image_class_labels.txt"),
        ("image_class_labels.txt", "1 1\n", "no line for 2"),
        ("image_class_labels.txt", "\n".join(f"{i} 9" for i in range(1, 9)), "class 9, which is not listed"),
        ("train_test_split.txt", "1 1\n1 0\n", "line 2, must hold an id that occurs once"),
        ("train_test_split.txt", "\n".join(f"{i} 0" for i in range(1, 9)), "no images for the split 'train'"),
        ("classes.txt", "one\n", "line 1, must hold an id"),
        ("classes.txt", "a 001.Bird\n", "'a' is no number"),
        ("bounding_boxes.txt", "1 1 2 3\n", "image 1, must give a box"),
        (
            "images.txt",
            "\n".join(f"{i} ../../secret_{i}.png" for i in range(1, 9)),
            "not a file in the folder 'images'",
        ),
        (
            "images.txt",
            "\n".join(f"{i} a/../../../x_{i}.png" for i in range(1, 9)),
            "not a file in the folder 'images'",
        ),
        ("images.txt", "\n".join(f"{i} /etc/x_{i}.png" for i in range(1, 9)), "not a file in the folder 'images'"),
    ],
)
def test_damaged_lists_are_named(tmp_path: Path, file: str, text: str | None, word: str) -> None:
    small_cub(tmp_path)
    if text is None:
        (tmp_path / file).unlink()
    else:
        (tmp_path / file).write_text(text)
    with pytest.raises(TNetError, match=word):
        open_split(section(tmp_path), "train")


def test_a_list_that_is_too_large_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small_cub(tmp_path)
    monkeypatch.setattr(reading, "MAX_LIST_BYTES", 100)
    with pytest.raises(TNetError, match=r"images\.txt' has \d+ bytes; at most 100"):
        open_split(section(tmp_path), "train")


def test_boxes_that_belong_to_other_images_are_refused(tmp_path: Path) -> None:
    small_cub(tmp_path)
    (tmp_path / "boxes.csv").write_text("file,x,y,w,h,width,height\nelsewhere/x.png,1,2,3,4,32,24\n")
    with pytest.raises(TNetError, match="names none of the images"):
        open_split(section(tmp_path, boxes="boxes.csv"), "train")


def test_a_split_that_the_lists_do_not_have_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TNetError, match="only, not 'dev'"):
        open_split(section(small_cub(tmp_path), validation="dev"), "validation")
