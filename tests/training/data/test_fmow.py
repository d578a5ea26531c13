"""Functional Map of the World."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.training.data_files import fmow_image
from tnet_core.errors import TNetError
from training.data import open_split
from training.data.fmow import CLASSES, MAX_ANNOTATION_BYTES
from training.recipes.recipe import DataSection


@pytest.fixture
def data(tmp_path: Path) -> DataSection:
    fmow_image(tmp_path / "train", "airport_0_1", 0, [("airport", [8, 6, 16, 12])])
    fmow_image(tmp_path / "train", "zoo_3_0", 1, [("zoo", [0, 0, 32, 24])])
    boxes: list[tuple[str, list[float]]] = [
        ("park", [0, 0, 8, 8]),
        ("false_detection", [1, 1, 2, 2]),
        ("zoo", [16, 12, 16, 12]),
    ]
    fmow_image(tmp_path / "val", "park_7_2", 2, boxes)
    fmow_image(tmp_path / "val", "false_detection_1_0", 3, [("false_detection", [1, 1, 2, 2])])
    return DataSection(kind="fmow", root=str(tmp_path))


def test_classes_stand_in_the_order_of_the_baseline() -> None:
    assert len(CLASSES) == len(set(CLASSES)) == 62
    assert [CLASSES.index(name) for name in ("airport", "zoo", "recreational_facility", "road_bridge")] == [
        0,
        61,
        41,
        43,
    ]
    assert CLASSES[42] == "impoverished_settlement"
    rest = [name for name in CLASSES if name != "impoverished_settlement"]
    assert rest == sorted(rest)


def test_only_the_colour_images_of_a_class_are_read(data: DataSection) -> None:
    train, validation = open_split(data, "train"), open_split(data, "validation")
    assert [train[i].name for i in range(len(train))] == ["airport/airport_0_1_rgb", "zoo/zoo_3_0_rgb"]
    assert tuple(train.labels) == (0, 61) and tuple(validation.labels) == (33,)
    assert train.class_names[42] == "impoverished settlement" and train.class_names[29] == "multi-unit residential"


def test_boxes_come_from_the_annotation_beside_the_image(data: DataSection) -> None:
    np.testing.assert_allclose(open_split(data, "train")[0].boxes, [[0.25, 0.25, 0.75, 0.75]])
    np.testing.assert_allclose(open_split(data, "validation")[0].boxes, [[0, 0, 0.25, 1 / 3], [0.5, 0.5, 1, 1]])


def test_crops_carry_the_class_of_their_box(data: DataSection) -> None:
    crops = open_split(replace(data, crop_to_box=True), "validation")
    assert [(crops[i].name, crops.labels[i]) for i in range(len(crops))] == [
        ("park/park_7_2_rgb", 33),
        ("park/park_7_2_rgb#1", 61),
    ]
    assert [crops[i].image.shape for i in (0, 1)] == [(8, 8, 3), (12, 16, 3)]
    whole = open_split(data, "validation")[0].image
    assert np.array_equal(crops[1].image, whole[12:24, 16:32])


@pytest.mark.parametrize(("height", "width"), [(300, 500), (130, 90), (700, 900)])
def test_large_images_are_reduced_while_decoding(tmp_path: Path, height: int, width: int) -> None:
    fmow_image(tmp_path / "train", "zoo_3_0", 1, [("zoo", [0, 0, width / 2, height])], height=height, width=width)
    data = DataSection(kind="fmow", root=str(tmp_path))
    full, small = open_split(data, "train")[0], open_split(replace(data, shorter_side=64), "train")[0]
    scale = 64 / min(height, width)
    assert min(small.image.shape[:2]) == 64
    assert np.abs(np.array(small.image.shape[:2]) - np.array([height, width]) * scale).max() <= 1.5
    np.testing.assert_allclose(small.boxes, full.boxes)

    # the same picture: coarse averages agree
    def blocks(image: np.ndarray) -> np.ndarray:
        rows = [part.mean(axis=0) for part in np.array_split(image.astype(float), 4)]
        return np.array([[part.mean(axis=0) for part in np.array_split(row, 4)] for row in rows])

    np.testing.assert_allclose(blocks(small.image), blocks(full.image), atol=8)


def test_boxes_of_an_image_that_was_made_smaller_beforehand_still_fit(tmp_path: Path) -> None:
    from tests.training.data_files import write_picture

    fmow_image(tmp_path / "train", "zoo_3_0", 1, [("zoo", [60, 0, 60, 90])], height=90, width=120)
    write_picture(tmp_path / "train" / "zoo" / "zoo_3" / "zoo_3_0_rgb.jpg", 1, 30, 40)
    sample = open_split(DataSection(kind="fmow", root=str(tmp_path)), "train")[0]
    assert sample.image.shape == (30, 40, 3)
    np.testing.assert_allclose(sample.boxes, [[0.5, 0, 1, 1]])


@pytest.mark.parametrize(
    ("text", "word"),
    [
        (None, "no file"),
        ("{", "must hold 'bounding_boxes'"),
        ('{"bounding_boxes": 3}', "must hold 'bounding_boxes'"),
        ('{"bounding_boxes": [{"box": [1, 2, 3]}]}', "must hold 'bounding_boxes'"),
        ('{"bounding_boxes": [{"category": "castle", "box": [1, 2, 3, 4]}]}', "'castle', which fMoW does not have"),
        ('{"bounding_boxes": []}', "no box to crop to"),
        ('{"bounding_boxes": [{"box": [1, 2, 3, 1' + 400 * "0" + "]}]}", "must hold 'bounding_boxes'"),
        (100_000 * "[", "must hold 'bounding_boxes'"),
        (" " * (MAX_ANNOTATION_BYTES + 1), "at most"),
    ],
)
def test_a_damaged_annotation_is_named(data: DataSection, text: str | None, word: str) -> None:
    file = Path(data.root) / "train" / "airport" / "airport_0" / "airport_0_1_rgb.json"
    file.unlink()
    if text is not None:
        file.write_text(text)
    with pytest.raises(TNetError, match=word):
        open_split(replace(data, crop_to_box=True), "train")


def test_one_box_may_stand_without_a_list(data: DataSection) -> None:
    file = Path(data.root) / "train" / "airport" / "airport_0" / "airport_0_1_rgb.json"
    file.write_text('{"bounding_boxes": {"category": "airport", "box": [0, 0, 16, 24]}}')
    np.testing.assert_allclose(open_split(data, "train")[0].boxes, [[0, 0, 0.5, 1]])


def test_folders_that_are_no_class_are_refused(data: DataSection) -> None:
    (Path(data.root) / "train" / "0000123").mkdir()
    with pytest.raises(TNetError, match="'0000123' that is not among the 62 classes"):
        open_split(data, "train")
