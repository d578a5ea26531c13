"""Class folders: splits, labels, boxes, and what is wrong with them."""

from __future__ import annotations

import errno
import os
import zlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.support.models import TINY
from tests.training.data_files import class_folders, picture, write_picture
from tnet_core.errors import TNetError
from training.data import check_classes, open_folder, open_split, reading, sample
from training.recipes.recipe import DataSection


def section(root: Path, **changes: object) -> DataSection:
    return replace(DataSection(kind="folder", root=str(root)), **changes)


def test_a_split_gives_images_labels_and_names(tmp_path: Path) -> None:
    class_folders(tmp_path / "train")
    class_folders(tmp_path / "validation", ("bee",), images=2)
    train, validation = (open_split(section(tmp_path), which) for which in ("train", "validation"))
    assert (len(train), train.class_names, tuple(train.labels)) == (8, ("ant", "bee"), (0,) * 4 + (1,) * 4)
    assert train.split == "train" and train.name == tmp_path.name
    sample = train[5]
    assert (sample.label, sample.name, sample.boxes.shape) == (1, "bee/bee_1", (0, 4))
    assert np.array_equal(sample.image, picture(101))
    # a class that the validation split lacks keeps its place
    assert validation.class_names == train.class_names and tuple(validation.labels) == (1, 1)


@pytest.mark.parametrize("folder", ["val", "valid", "test"])
def test_the_validation_split_may_have_another_usual_name(tmp_path: Path, folder: str) -> None:
    class_folders(tmp_path / "train")
    class_folders(tmp_path / folder, images=1)
    assert len(open_split(section(tmp_path), "validation")) == 2


@pytest.mark.parametrize("inside", ["train", "."])
def test_a_holdout_divides_one_folder_by_the_hash_of_the_name(tmp_path: Path, inside: str) -> None:
    class_folders(tmp_path / inside, images=20)
    data = section(tmp_path, holdout=4)
    train, validation = (open_split(data, which) for which in ("train", "validation"))
    kept = {validation[i].name for i in range(len(validation))}
    rest = {train[i].name for i in range(len(train))}
    assert len(kept) + len(rest) == 40 and not kept & rest
    assert kept == {name for name in kept | rest if zlib.crc32(name.encode()) % 4 == 0}
    assert train.class_names == validation.class_names == ("ant", "bee")


def test_the_holdout_does_not_depend_on_the_file_format(tmp_path: Path) -> None:
    names = []
    for suffix in (".png", ".jpg"):
        class_folders(tmp_path / suffix / "train", images=20, suffix=suffix)
        split = open_split(section(tmp_path / suffix, holdout=4), "validation")
        names.append([split[i].name for i in range(len(split))])
    assert names[0] == names[1]


def test_a_class_list_decides_the_labels(tmp_path: Path) -> None:
    class_folders(tmp_path / "train")
    (tmp_path / "classes.txt").write_text("bee\nant\n")
    split = open_split(section(tmp_path), "train")
    assert split.class_names == ("bee", "ant") and split[0].name.startswith("bee/")


def test_breeds_are_listed_in_label_order_and_named_with_spaces(tmp_path: Path) -> None:
    breeds = ("Bengal", "American_bulldog", "english_cocker_spaniel")
    class_folders(tmp_path / "train", breeds, images=8, suffix=".avif")
    (tmp_path / "classes.txt").write_text("\n".join(breeds))
    data = replace(section(tmp_path, holdout=3), kind="pets")
    train, validation = (open_split(data, which) for which in ("train", "validation"))
    assert train.class_names == validation.class_names == ("Bengal", "American bulldog", "english cocker spaniel")
    assert train.name == "Oxford-IIIT Pet" and len(train) + len(validation) == 24
    assert train[0].image.shape == picture(0).shape


def test_images_in_deeper_folders_and_of_equal_stem_have_names_of_their_own(tmp_path: Path) -> None:
    for file in ("a.png", "a.jpg", "day/a.png", "UPPER.JPG"):
        write_picture(tmp_path / "train" / "ant" / file, 0)
    (tmp_path / "train" / "ant" / "notes.txt").write_text("no image")
    (tmp_path / "train" / "ant" / ".hidden.png").write_text("no image")
    split = open_split(section(tmp_path), "train")
    assert sorted(split[i].name for i in range(len(split))) == ["ant/UPPER", "ant/a", "ant/a.png", "ant/day/a"]


def test_boxes_come_from_a_csv_and_are_normalised(tmp_path: Path) -> None:
    class_folders(tmp_path / "train")
    (tmp_path / "boxes.csv").write_text(
        "file,x,y,w,h,width,height,more\n"
        "train/ant/ant_0.webp,8,6,16,12,32,24,z\n"
        "bee/bee_1.png,0,0,64,24,64,48,z\n"  # given for an image of twice the size
        "bee/bee_1.png,60,40,10,10,64,48,z\n"  # reaches beyond the image
    )
    split = open_split(section(tmp_path, boxes="boxes.csv"), "train")
    np.testing.assert_allclose(split[0].boxes, [[0.25, 0.25, 0.75, 0.75]])
    np.testing.assert_allclose(split[5].boxes, [[0, 0, 1, 0.5], [60 / 64, 40 / 48, 1, 1]])
    assert split[0].boxes.dtype == np.float32 and split[1].boxes.shape == (0, 4)


def test_cropping_to_boxes_gives_one_sample_per_box(tmp_path: Path) -> None:
    image = write_picture(tmp_path / "train" / "ant" / "a.png", 3)
    (tmp_path / "boxes.csv").write_text(
        "file,x,y,w,h,width,height\nant/a.png,8,6,16,12,32,24\nant/a.png,20.5,0,30,3.5,32,24\n"
    )
    split = open_split(section(tmp_path, boxes="boxes.csv", crop_to_box=True), "train")
    assert [split[i].name for i in range(len(split))] == ["ant/a", "ant/a#2"]
    assert np.array_equal(split[0].image, image[6:18, 8:24])
    assert np.array_equal(split[1].image, image[0:4, 20:32])
    assert split[0].boxes.shape == (0, 4)


def test_large_images_are_reduced_to_the_shorter_side(tmp_path: Path) -> None:
    write_picture(tmp_path / "train" / "ant" / "large.png", 0, 90, 120)
    write_picture(tmp_path / "train" / "ant" / "small.png", 0, 20, 25)
    split = open_split(section(tmp_path, shorter_side=30), "train")
    assert [split[i].image.shape for i in (0, 1)] == [(30, 40, 3), (20, 25, 3)]


def test_imagenet_labels_are_sorted_ids_with_readable_names(tmp_path: Path) -> None:
    class_folders(tmp_path / "train", ("n02012849", "n01440764", "n03126707"), images=1, suffix=".JPEG")
    class_folders(tmp_path / "val", ("n03126707",), images=1, suffix=".JPEG")
    data = section(tmp_path, kind="imagenet")
    assert open_split(data, "train").class_names == ("tench", "crane (n02012849)", "crane (n03126707)")
    assert tuple(open_split(data, "validation").labels) == (2,)


def test_any_folder_can_be_measured(tmp_path: Path) -> None:
    class_folders(tmp_path)
    assert open_folder(tmp_path).class_names == ("ant", "bee")
    (tmp_path / "boxes.csv").write_text("file,x,y,w,h,width,height\nbee/bee_0.png,8,6,16,12,32,24\n")
    split = open_folder(tmp_path, boxes=tmp_path / "boxes.csv")
    np.testing.assert_allclose(split[4].boxes, [[0.25, 0.25, 0.75, 0.75]])
    (tmp_path / "boxes.csv").write_text("file,x,y,w,h,width,height\nwasp/wasp_0.png,8,6,16,12,32,24\n")
    with pytest.raises(TNetError, match="names none of the images"):
        open_folder(tmp_path, boxes=tmp_path / "boxes.csv")


def test_links_are_followed_but_not_in_circles(tmp_path: Path) -> None:
    class_folders(tmp_path / "train", images=1)
    write_picture(tmp_path / "train" / "ant" / "day" / "deep.png", 7)
    write_picture(tmp_path / "elsewhere" / "far.png", 8)
    links = {"loop": ".", "up": "..", "root": "../..", "again": "day", "other": "../../elsewhere", "self": "self"}
    for name, target in links.items():
        (tmp_path / "train" / "ant" / name).symlink_to(target)
    (tmp_path / "elsewhere" / "back").symlink_to(tmp_path / "train")
    split = open_split(section(tmp_path), "train")
    assert [split[i].name for i in range(len(split))] == ["ant/ant_0", "ant/day/deep", "ant/other/far", "bee/bee_0"]


def test_a_class_that_is_a_link_upwards_holds_no_images(tmp_path: Path) -> None:
    class_folders(tmp_path / "train", images=1)
    (tmp_path / "train" / "all").symlink_to(".")
    with pytest.raises(TNetError, match="all holds no images"):
        open_split(section(tmp_path), "train")


@pytest.mark.parametrize("closed", ["train", "train/ant", "train/ant/day"])
def test_a_folder_that_may_not_be_listed_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, closed: str) -> None:
    class_folders(tmp_path / "train", images=1)
    write_picture(tmp_path / "train" / "ant" / "day" / "deep.png", 7)
    plain = os.scandir

    def guarded(path: Path) -> Iterator[os.DirEntry[str]]:
        if Path(path) == tmp_path / closed:
            raise PermissionError(errno.EACCES, "Permission denied")
        return plain(path)

    assert len(open_folder(tmp_path / "train")) == 3
    monkeypatch.setattr(os, "scandir", guarded)
    for opened in (lambda: open_folder(tmp_path / "train"), lambda: open_split(section(tmp_path), "train")):
        with pytest.raises(TNetError, match=rf"{closed} cannot be read \(Permission denied\)"):
            opened()


def test_a_folder_that_may_not_be_entered_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class_folders(tmp_path / "train", images=1)
    plain = os.stat

    def guarded(path: Path, **options: bool) -> os.stat_result:
        if str(path).startswith(f"{tmp_path}/train/"):
            raise PermissionError(errno.EACCES, "Permission denied")
        return plain(path, **options)

    monkeypatch.setattr(os, "stat", guarded)
    for opened in (lambda: open_folder(tmp_path / "train"), lambda: open_split(section(tmp_path), "train")):
        with pytest.raises(TNetError, match=r"train/.* cannot be read \(Permission denied\)"):
            opened()


def test_a_class_list_names_folders_not_paths(tmp_path: Path) -> None:
    class_folders(tmp_path / "train")
    (tmp_path / "classes.txt").write_text("../secret\nant\nbee\n")
    with pytest.raises(TNetError, match=r"'\.\./secret' is a path"):
        open_split(section(tmp_path), "train")


def test_lists_that_are_too_large_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class_folders(tmp_path / "train")
    (tmp_path / "classes.txt").write_text("ant\nbee\n" + "\n" * 100)
    (tmp_path / "boxes.csv").write_text("file,x,y,w,h,width,height\nbee/bee_0.png,8,6,16,12,32,24\n")
    monkeypatch.setattr(sample, "MAX_BOXES_BYTES", 30)
    with pytest.raises(TNetError, match=r"boxes\.csv' has \d+ bytes; at most 30"):
        open_split(section(tmp_path, boxes="boxes.csv"), "train")
    monkeypatch.setattr(reading, "MAX_LIST_BYTES", 50)
    with pytest.raises(TNetError, match=r"classes\.txt' has \d+ bytes; at most 50"):
        open_split(section(tmp_path), "train")


def test_the_number_of_classes_must_be_the_models(tmp_path: Path) -> None:
    class_folders(tmp_path / "train")
    split = open_split(section(tmp_path), "train")
    check_classes(split, replace(TINY, num_classes=2))
    with pytest.raises(TNetError, match="has 2 classes, but the model has 7"):
        check_classes(split, TINY)


def test_file_names_that_are_no_utf8_are_named_held_out_cached_and_hashed(tmp_path: Path) -> None:
    class_folders(tmp_path / "train", images=6)
    for path in sorted((tmp_path / "train").glob("*/*.png")):
        path.rename(path.with_name(os.fsdecode(b"\xff") + path.name))
    data = section(tmp_path, holdout=3, cache=str(tmp_path / "cache"))
    train, validation = (open_split(data, which) for which in ("train", "validation"))
    names = [one[i].name for one in (train, validation) for i in range(len(one))]
    assert len(names) == 12 and "ant/\\xffant_0" in names
    assert {zlib.crc32(name.encode()) % 3 == 0 for name in names[-len(validation) :]} == {True}


def test_a_class_that_no_checkpoint_can_name_is_refused_before_training(tmp_path: Path) -> None:
    class_folders(tmp_path / "train", ("ant", "bee"))
    folder = (tmp_path / "train" / "bee").rename(tmp_path / "train" / os.fsdecode(b"b\xffe"))
    split = open_split(section(tmp_path), "train")
    assert split.class_names == ("ant", "b\\xffe")
    check_classes(split, replace(TINY, num_classes=2))
    folder.rename(tmp_path / "train" / "b\ne")
    with pytest.raises(TNetError, match=r"a class 'b\\ne', which must be one line .* rename its folder"):
        check_classes(open_split(section(tmp_path), "train"), replace(TINY, num_classes=2))


def test_what_is_missing_is_said_in_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(TNetError, match=r"names no data folder; give it as data\.root"):
        open_split(DataSection(), "train")
    with pytest.raises(TNetError, match="nowhere does not exist"):
        open_split(section(tmp_path / "nowhere"), "train")
    class_folders(tmp_path / "other")
    with pytest.raises(TNetError, match=r"no split 'train' \(it has other\)"):
        open_split(section(tmp_path), "train")
    with pytest.raises(TNetError, match="'train' or 'validation', not 'dev'"):
        open_split(section(tmp_path), "dev")  # type: ignore[arg-type]
    with pytest.raises(TNetError, match="gone does not exist"):
        open_folder(tmp_path / "gone")
    (tmp_path / "train").mkdir()
    with pytest.raises(TNetError, match="no class folders"):
        open_split(section(tmp_path), "train")


def test_classes_without_images_or_folder_are_named(tmp_path: Path) -> None:
    class_folders(tmp_path / "train")
    (tmp_path / "train" / "cat").mkdir()
    with pytest.raises(TNetError, match=r"class folder .*cat holds no images"):
        open_split(section(tmp_path), "train")
    (tmp_path / "train" / "cat").rmdir()
    (tmp_path / "classes.txt").write_text("ant\nbee\ncat\n")
    with pytest.raises(TNetError, match="no folder for the class 'cat'"):
        open_split(section(tmp_path), "train")
    (tmp_path / "classes.txt").write_text("ant\n")
    with pytest.raises(TNetError, match="'bee' that is not among the 1 classes"):
        open_split(section(tmp_path), "train")
    (tmp_path / "classes.txt").write_text("ant\nant\n")
    with pytest.raises(TNetError, match="every class once"):
        open_split(section(tmp_path), "train")


@pytest.mark.parametrize("damage", [b"", b"not an image", "cut"])
@pytest.mark.parametrize("suffix", [".jpg", ".png", ".webp"])
def test_an_unreadable_image_is_named(tmp_path: Path, damage: bytes | str, suffix: str) -> None:
    file = tmp_path / "train" / "ant" / f"bad{suffix}"
    write_picture(file, 0, 64, 64)
    file.write_bytes(file.read_bytes()[:150] if damage == "cut" else damage)  # type: ignore[arg-type]
    split = open_split(section(tmp_path), "train")
    with pytest.raises(TNetError, match=rf"ant/bad\{suffix} "):
        split[0]
    file.unlink()
    with pytest.raises(TNetError, match=rf"bad\{suffix} cannot be read"):
        split[0]


def test_a_holdout_that_leaves_nothing_is_refused(tmp_path: Path) -> None:
    write_picture(tmp_path / "train" / "ant" / "a.png", 0)
    empty = "train" if zlib.crc32(b"ant/a") % 2 == 0 else "validation"
    with pytest.raises(TNetError, match=f"holdout=2 leaves the {empty} split empty"):
        open_split(section(tmp_path, holdout=2), empty)
    for number in (1, -3):
        with pytest.raises(TNetError, match="0 \\(off\\) or at least 2"):
            open_split(section(tmp_path, holdout=number), "train")


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("file,x,y,w,h\n", "lacks the column 'width'"),
        ("file,x,y,w,h,width,height\nant/ant_0.png,1,2,three,4,32,24\n", "line 2, must give a box"),
        ("file,x,y,w,h,width,height\nant/ant_0.png,1,2,0,4,32,24\n", "line 2, gives a box without area"),
        ("file,x,y,w,h,width,height\nant/ant_0.png,1,2,nan,4,32,24\n", "line 2, gives a box without area"),
        ("file,x,y,w,h,width,height\nant/ant_0.png,1,2,3,4,0,24\n", "line 2, must give the image's width"),
        ("file,x,y,w,h,width,height\nant/ant_0.png,1,2,3\n", "line 2, must give a box"),
        ("file,x,y,w,h,width,height\nelsewhere/x.png,1,2,3,4,32,24\n", "names none of the images"),
        ("file,x,y,w,h,width,height\nant/ant_0.png,1,2,3,4,32,24\nant/ant_0.png,1,2,3,4,64,48\n", "another image size"),
        (None, "no file"),
    ],
)
def test_a_malformed_boxes_file_is_refused_with_its_line(tmp_path: Path, text: str | None, word: str) -> None:
    class_folders(tmp_path / "train", images=1)
    if text is not None:
        (tmp_path / "boxes.csv").write_text(text)
    with pytest.raises(TNetError, match=word):
        open_split(section(tmp_path, boxes="boxes.csv"), "train")


def test_cropping_without_a_box_is_refused(tmp_path: Path) -> None:
    class_folders(tmp_path / "train", images=1)
    with pytest.raises(TNetError, match="no box to crop to"):
        open_split(section(tmp_path, crop_to_box=True), "train")
    (tmp_path / "boxes.csv").write_text(
        "file,x,y,w,h,width,height\nant/ant_0.png,99,1,2,3,32,24\nbee/bee_0.png,1,1,2,2,32,24\n"
    )
    split = open_split(section(tmp_path, boxes="boxes.csv", crop_to_box=True), "train")
    with pytest.raises(TNetError, match=r"ant_0\.png lies outside the image"):
        split[0]
