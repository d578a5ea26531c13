"""Zips of strangers: every kind of member is safe, bounded and told in one sentence."""

from __future__ import annotations

import copy
import io
import stat
import tracemalloc
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from tests.support.checkpoints import CONFIG, NAMES
from tests.support.models import tiny
from tests.training.data_files import picture
from tnet_core.errors import TNetError
from training.data import archive
from training.data.archive import describe_left_out_files, unpack_zip
from training.data.folders import open_folder
from training.evaluation.classes import describe_left_out_classes, select_known

pytestmark = pytest.mark.slow


def image(seed: int = 0, kind: str = "PNG", **options: Any) -> bytes:
    written = io.BytesIO()
    Image.fromarray(picture(seed)).save(written, kind, **options)
    return written.getvalue()


def packed(path: Path, members: Iterable[tuple[str | zipfile.ZipInfo, bytes]]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in members:
            file.writestr(name, content)
    return path


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Where the images of zips lie meanwhile."""
    folder = tmp_path / "place"
    folder.mkdir()
    return folder


def found(file: Path, place: Path) -> tuple[list[str], dict[str, int]]:
    """Names of the images that count, and what was left out; nothing stays on the disk."""
    with unpack_zip(file, "mine", str(place)) as data:
        written = list(place.rglob("*.image"))
        assert len(written) == len(data.dataset) and all(path.parent.parent == place for path in written)
        names, left_out = [entry.name for entry in data.dataset.entries], dict(data.left_out)
    assert list(place.iterdir()) == []
    return names, left_out


def read_refusal(file: Path, place: Path) -> str:
    with pytest.raises(TNetError) as raised, unpack_zip(file, "mine", str(place)):
        pass
    assert list(place.iterdir()) == [] and "\n" not in str(raised.value)
    return str(raised.value)


def test_a_zip_is_the_folder_that_was_packed(tmp_path: Path, place: Path) -> None:
    members = [(f"{name}/{name}_{i}.png", image(i)) for name in ("wren", "robin") for i in range(3)]
    for name, content in members:
        path = tmp_path / "plain" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    expected = open_folder(tmp_path / "plain")
    with unpack_zip(packed(tmp_path / "mine.zip", members), "mine", str(place)) as data:
        assert data.dataset.class_names == expected.class_names == ("robin", "wren")
        assert data.dataset.labels == expected.labels
        assert [entry.name for entry in data.dataset.entries] == [entry.name for entry in expected.entries]
        for index in range(6):
            np.testing.assert_array_equal(data.dataset[index].image, expected[index].image)
        assert not data.left_out and describe_left_out_files(data.left_out) == ""


def test_the_folder_right_above_an_image_is_its_class(tmp_path: Path, place: Path) -> None:
    members = ["data/train/wren/1.png", "data/val/wren/1.png", "./robin/2.png", "data\\test\\robin\\3.png", "4.png"]
    names, left_out = found(packed(tmp_path / "z", [(name, image()) for name in members]), place)
    assert names == ["robin/2", "robin/3", "wren/1", "wren/1.png"]  # both of the same name count
    assert left_out == {"images outside a class folder": 1}


def test_what_is_no_image_is_left_out_and_counted(tmp_path: Path, place: Path) -> None:
    members = [
        ("wren/1.png", image()), ("wren/notes.txt", b"x"), ("wren/2.png", b"text"), ("wren/3.jpg", b""),
        ("__MACOSX/wren/._1.png", b"x"), ("wren/.DS_Store", b"x"), ("wren/.4.png", image()), (".git/5.png", image()),
    ]  # fmt: skip
    names, left_out = found(packed(tmp_path / "z", members), place)
    assert names == ["wren/1"]
    assert left_out == {
        "files that are no images": 1, "files that are called images and are none": 1, "empty files": 1,
        "hidden files": 4,
    }  # fmt: skip


def test_links_devices_and_paths_that_lead_elsewhere_are_left_out(tmp_path: Path, place: Path) -> None:
    link, device = zipfile.ZipInfo("wren/link.png"), zipfile.ZipInfo("wren/device.png")
    link.external_attr, device.external_attr = (stat.S_IFLNK | 0o777) << 16, (stat.S_IFCHR | 0o600) << 16
    outside = ["/etc/wren/1.png", "../../wren/2.png", "wren/../../robin/3.png", "C:/wren/4.png", "..\\wren\\5.png"]
    members: list[tuple[str | zipfile.ZipInfo, bytes]] = [("wren/1.png", image()), (link, b"/etc/passwd")]
    members += [(device, image()), *((name, image()) for name in outside)]
    before = {path for path in tmp_path.rglob("*") if path != tmp_path / "z"}
    names, left_out = found(packed(tmp_path / "z", members), place)
    assert names == ["wren/1"]
    assert left_out == {"symbolic links": 1, "special files": 1, "files whose path leads out of the zip": 5}
    assert {path for path in tmp_path.rglob("*") if path != tmp_path / "z"} == before


def test_a_bomb_ends_while_it_is_read(tmp_path: Path, place: Path) -> None:
    file = packed(tmp_path / "z", [("wren/1.png", image()), ("wren/2.png", b"\0" * (60 << 20))])
    tracemalloc.start()
    assert read_refusal(file, place) == "The zip unpacks to more than 200 times its size, as no pictures do."
    assert tracemalloc.get_traced_memory()[1] < 40 << 20
    tracemalloc.stop()
    larger = packed(tmp_path / "z", [("wren/1.png", image()), ("wren/2.png", b"\0" * (65 << 20))])
    assert found(larger, place)[1] == {"images above 50 million pixels or 64 MB": 1}  # not even begun


def test_a_bomb_that_states_a_small_size_is_a_damaged_file(tmp_path: Path, place: Path) -> None:
    file = packed(tmp_path / "z", [("wren/1.png", image()), ("wren/2.png", b"\0" * (20 << 20))])
    content = file.read_bytes()
    assert content.count((20 << 20).to_bytes(4, "little")) == 2  # in the list and before the member
    file.write_bytes(content.replace((20 << 20).to_bytes(4, "little"), (1000).to_bytes(4, "little")))
    assert found(file, place) == (["wren/1"], {"damaged files": 1})


def test_all_members_together_are_bounded(tmp_path: Path, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    members = [(f"wren/{i}.png", image(i)) for i in range(4)]
    file = packed(tmp_path / "z", members)
    monkeypatch.setattr(archive, "MAX_UNPACKED_BYTES", sum(len(content) for _, content in members) - 1)
    assert read_refusal(file, place) == "The zip unpacks to more than 0 MB, the limit."
    monkeypatch.undo()
    monkeypatch.setattr(archive, "MAX_IMAGES", 3)
    assert read_refusal(file, place) == "The zip has more than 3 images or 2000 classes; pack fewer."
    monkeypatch.undo()
    monkeypatch.setattr(archive, "MAX_ZIP_BYTES", 100)
    assert read_refusal(file, place).startswith("The zip has 0 MB; at most")


def test_an_image_of_too_many_pixels_is_left_out(tmp_path: Path, place: Path) -> None:
    for side in (8000, 20_000):  # the second is more than Pillow itself opens
        large = io.BytesIO()
        Image.new("1", (side, side)).save(large, "PNG")
        file = packed(tmp_path / "z", [("wren/1.png", image()), ("wren/2.png", large.getvalue())])
        assert found(file, place) == (["wren/1"], {"images above 50 million pixels or 64 MB": 1})


def test_many_empty_files_are_answered_in_one_sentence(tmp_path: Path, place: Path) -> None:
    file = packed(tmp_path / "z", ((f"wren/{i}.png", b"") for i in range(10_000)))
    said = read_refusal(file, place)
    assert said == (
        "The zip holds no images in class folders: pack one folder per class. Left out of the zip: empty files (10000)."
    )


def test_a_list_of_members_without_end_is_not_read(tmp_path: Path, place: Path) -> None:
    few = packed(tmp_path / "z", ((f"wren/{i}.png", b"") for i in range(20_001)))
    assert read_refusal(few, place) == "The zip has more than 20000 members; pack fewer."
    long = packed(tmp_path / "z", ((f"wren/{'x' * 200}{i}.png", b"") for i in range(18_000)))
    tracemalloc.start()
    assert read_refusal(long, place) == "The zip has more than 20000 members; pack fewer."
    assert tracemalloc.get_traced_memory()[1] < 1 << 20
    tracemalloc.stop()


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_of_members_with_the_same_name_the_first_counts(tmp_path: Path, place: Path) -> None:
    file = packed(tmp_path / "z", [("wren/1.png", image(1)), ("wren/1.png", image(2)), ("wren/1.jpg", image(3))])
    with unpack_zip(file, "mine", str(place)) as data:
        assert [entry.name for entry in data.dataset.entries] == ["wren/1", "wren/1.png"]
        np.testing.assert_array_equal(data.dataset[1].image, picture(1))
        assert data.left_out == {"files named like another": 1}


def test_what_is_encrypted_damaged_or_no_zip_is_refused(tmp_path: Path, place: Path) -> None:
    file = packed(tmp_path / "z", [("wren/1.png", image())])
    whole = file.read_bytes()
    start = whole.index(b"PK\x01\x02")
    file.write_bytes(whole[: start + 8] + b"\x01" + whole[start + 9 :])
    assert read_refusal(file, place) == "The zip is encrypted; pack it without a password."
    wrong = "This is not a zip file, or it is damaged."
    for content in (b"", b"PK\x03\x04", image(), whole[: len(whole) // 2], whole[:start] + b"\0" * 200):
        file.write_bytes(content)
        assert read_refusal(file, place) == wrong
    assert read_refusal(tmp_path / "nowhere.zip", place) == "The zip is not here any more: choose it again."


def test_a_damaged_member_is_left_out_and_a_cut_off_image_is_named_as_in_the_zip(tmp_path: Path, place: Path) -> None:
    with zipfile.ZipFile(tmp_path / "z", "w") as file:
        file.writestr("wren/1.png", image(1))
        file.writestr("wren/2.png", image(2)[:-40] + b"\0" * 40)
        file.writestr("wren/3.png", image(3))
    content = (tmp_path / "z").read_bytes()
    (tmp_path / "z").write_bytes(content.replace(image(3), image(3)[:-1] + b"!"))  # not what its checksum says
    with unpack_zip(tmp_path / "z", "mine", str(place)) as data:
        assert data.left_out == {"damaged files": 1}
        with pytest.raises(TNetError, match=r"^'wren/2' is damaged or cut off"):
            data.dataset[1]


def test_names_in_any_encoding(tmp_path: Path, place: Path) -> None:
    file = packed(tmp_path / "z", [("wrXXn/1.png", image()), ("wrYn/2.png", image()), ("zaun/3.png", image())])
    plain = file.read_bytes()
    file.write_bytes(plain.replace(b"wrXXn", "wrän".encode()).replace(b"wrYn", b"wr\xe4n"))
    names, left_out = found(file, place)
    assert names[0] == "wrän/1" and names[2] == "zaun/3" and not left_out  # written as UTF-8, without saying so
    assert names[1].startswith("wr") and names[1].endswith("n/2")
    flagged = packed(tmp_path / "z", [("wrän/1.png", image())])
    flagged.write_bytes(flagged.read_bytes().replace("ä".encode(), b"\xff\xfe"))
    assert read_refusal(flagged, place) == "This is not a zip file, or it is damaged."


def test_a_method_that_could_need_much_memory_is_not_tried(tmp_path: Path, place: Path) -> None:
    with zipfile.ZipFile(tmp_path / "z", "w") as file:
        file.writestr("wren/1.png", image(1))
        file.writestr("wren/2.png", image(2), zipfile.ZIP_LZMA)
    assert found(tmp_path / "z", place) == (["wren/1"], {"files packed by an uncommon method": 1})


def test_photographs_are_upright(tmp_path: Path, place: Path) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6  # the camera was turned
    file = packed(tmp_path / "z", [("wren/1.jpg", image(0, "JPEG", exif=exif)), ("wren/2.jpg", image(0, "JPEG"))])
    with unpack_zip(file, "mine", str(place)) as data:
        assert data.dataset[0].image.shape == (32, 24, 3) and data.dataset[1].image.shape == (24, 32, 3)


def test_unpacking_can_be_cancelled_and_leaves_nothing(tmp_path: Path, place: Path) -> None:
    file = packed(tmp_path / "z", [(f"wren/{i}.png", image(i)) for i in range(5)])
    seen: list[int] = []

    def watch() -> None:
        seen.append(len(list(place.rglob("*.image"))))
        if len(seen) == 4:
            raise TNetError("Enough.")

    with pytest.raises(TNetError, match="Enough"), unpack_zip(file, "mine", str(place), watch):
        pass
    assert seen == [0, 1, 2, 3] and list(place.iterdir()) == []


def test_classes_that_the_checkpoint_does_not_know_are_left_out_by_name(tmp_path: Path, place: Path) -> None:
    model = copy.deepcopy(tiny(CONFIG))
    model.class_names = NAMES
    folders = ["wren", "Wren", "007.Great_Tit", "dodo", "emu", "emu"]
    file = packed(tmp_path / "z", [(f"{name}/{i}.png", image(i)) for i, name in enumerate(folders)])
    with unpack_zip(file, "mine", str(place)) as data:
        known = select_known(model, data.dataset)
        assert list(zip(known.dataset.labels, (known.dataset[i].name for i in range(3)), strict=True)) == [
            (2, "007.Great_Tit/2"), (0, "Wren/1"), (0, "wren/0"),
        ]  # fmt: skip
        assert known.left_out == {"dodo": 1, "emu": 2}
        said = describe_left_out_classes(known.left_out)
        assert said == "Left out: 3 images of 2 classes that the checkpoint does not know ('dodo', 'emu')."
    nothing = packed(tmp_path / "z", [("dodo/1.png", image())])
    with unpack_zip(nothing, "mine", str(place)) as data, pytest.raises(TNetError) as raised:
        select_known(model, data.dataset)
    assert str(raised.value) == (
        "None of the classes is one of the checkpoint's ('dodo'); its 3 classes are like 'wren': rename the folders, "
        "or choose another checkpoint."
    )
