"""The generated data set: same numbers everywhere, boxes where glyphs are, nothing to read from afar."""

from __future__ import annotations

import hashlib
import os
import pickle
import time
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest
import torch
import torch.nn.functional as F

from tests.support.processes import run_python
from tests.support.training import ROOT
from tnet_core.errors import TNetError
from training.data.needles import SYMBOL_NAMES, NeedlesDataset
from training.data.needles.marks import draw_strokes, sample_marks
from training.data.needles.symbols import get_symbol
from training.recipes.recipe import NeedlesSection

SMALL = NeedlesSection(canvas=256, glyph=18, classes=6, needles=3, decoys=1, distractors=3, train_size=60)


def _digest(dataset: NeedlesDataset, count: int = 3) -> str:
    return hashlib.sha256(b"".join(dataset[i].image.tobytes() for i in range(count))).hexdigest()


def test_a_canvas_is_a_function_of_seed_split_and_index() -> None:
    first, again = (NeedlesDataset(SMALL, "train", 5) for _ in range(2))
    assert np.array_equal(first[7].image, again[7].image)
    assert np.array_equal(first[7].boxes, again[7].boxes)
    others = [first[8], NeedlesDataset(SMALL, "train", 6)[7], NeedlesDataset(SMALL, "validation", 5)[7]]
    assert all(not np.array_equal(first[7].image, other.image) for other in others)


def test_order_of_access_does_not_matter() -> None:
    forward, backward = NeedlesDataset(SMALL, "train", 1), NeedlesDataset(SMALL, "train", 1)
    ahead = [forward[i].image for i in range(4)]
    back = [backward[i].image for i in reversed(range(4))]
    assert all(np.array_equal(a, b) for a, b in zip(ahead, reversed(back), strict=True))


@pytest.mark.slow
def test_another_process_draws_the_same_bytes(tmp_path: Path) -> None:
    here = _digest(NeedlesDataset(SMALL, "validation", 3))
    program = (
        "import pickle, hashlib; from training.data.needles import NeedlesDataset;"
        f"d = NeedlesDataset(pickle.loads(bytes.fromhex('{pickle.dumps(SMALL).hex()}')), 'validation', 3);"
        "print(hashlib.sha256(b''.join(d[i].image.tobytes() for i in range(3))).hexdigest())"
    )
    there = run_python("-c", program, cwd=ROOT, env=os.environ, folder=tmp_path, timeout=120)
    assert there.stdout.strip() == here


def test_drawing_threads_do_not_change_the_bytes() -> None:
    threads = cv2.getNumThreads()
    try:
        cv2.setNumThreads(1)
        alone = _digest(NeedlesDataset(NeedlesSection(), "train"), 1)
        cv2.setNumThreads(4)
        assert _digest(NeedlesDataset(NeedlesSection(), "train"), 1) == alone
    finally:
        cv2.setNumThreads(threads)


def test_labels_are_balanced_and_need_no_drawing() -> None:
    dataset = NeedlesDataset(replace(SMALL, train_size=600), "train", 2)
    assert np.bincount(dataset.labels).tolist() == [100] * 6
    assert [dataset[i].label for i in range(5)] == list(dataset.labels[:5])
    huge = NeedlesDataset(replace(SMALL, train_size=200_001), "train", 2)
    assert len(huge.labels) == len(huge) == 200_001
    assert len(set(map(tuple, np.reshape(dataset.labels, (-1, 6))))) > 50  # the order is random


def test_sizes_names_and_class_names() -> None:
    train, validation = NeedlesDataset(SMALL, "train"), NeedlesDataset(SMALL, "validation")
    assert (len(train), len(validation)) == (60, 1000)
    assert train.class_names == SYMBOL_NAMES[:6]
    assert len(set(SYMBOL_NAMES)) == 20
    assert len({train[i].name for i in range(5)}) == 5
    with pytest.raises(IndexError):
        train[60]


@pytest.mark.parametrize("index", range(4))
def test_boxes_hold_exactly_what_tells_the_class(index: int) -> None:
    dataset = NeedlesDataset(SMALL, "train", 9)
    boxes = dataset[index].boxes
    assert boxes.shape == (3, 4) and boxes.dtype == np.float32
    assert (boxes >= 0).all() and (boxes <= 1).all() and (boxes[:, :2] < boxes[:, 2:]).all()
    drawn = [dataset.draw(index, label).image.astype(int) for label in range(6)]
    differs = np.max([np.abs(image - drawn[0]) for image in drawn], axis=(0, 3)) > 0
    inside = np.zeros_like(differs)
    for x0, y0, x1, y1 in (boxes * 256).round().astype(int):
        inside[y0:y1, x0:x1] = True
        assert differs[y0:y1, x0:x1].mean() > 0.1
    assert not (differs & ~inside).any()


@pytest.mark.slow
@pytest.mark.parametrize("glyph", [8, 13, 18, 24])
def test_no_pixel_outside_the_boxes_tells_the_class(glyph: int) -> None:
    dataset = NeedlesDataset(replace(SMALL, glyph=glyph, needles=4), "validation", 21)
    for index in range(40):
        one, two = (dataset.draw(index, label) for label in (0, 1))
        differs = (one.image != two.image).any(2)
        for x0, y0, x1, y1 in (mark.box for mark in one.needles):
            differs[y0:y1, x0:x1] = False
        assert not differs.any(), f"canvas {index}"


def test_marks_do_not_touch_each_other() -> None:
    section = replace(SMALL, needles=6, decoys=3, distractors=6)
    for index in range(5):
        boxes = NeedlesDataset(section, "train", 4)[index].boxes * 256
        centres, radii = (boxes[:, :2] + boxes[:, 2:]) / 2, (boxes[:, 2] - boxes[:, 0]) / 2
        apart = np.linalg.norm(centres[:, None] - centres[None], axis=2)
        np.fill_diagonal(apart, np.inf)
        assert (apart > radii[:, None] + radii[None]).all()


def _seen(image: np.ndarray, base: int) -> torch.Tensor:
    """What the network gets: (3, base, base), grey levels."""
    pixels = torch.from_numpy(np.ascontiguousarray(image)).permute(2, 0, 1)[None].float()
    return F.interpolate(pixels, (base, base), mode="bilinear", align_corners=False)[0]


def test_the_class_hardly_changes_the_thumbnail_but_does_change_a_close_look() -> None:
    section = NeedlesSection(canvas=896, glyph=40, classes=5)
    dataset, far, near = NeedlesDataset(section, "train", 0), [], []
    for index in range(4):
        thumbnails, looks = [], []
        for label in range(section.classes):
            canvas = dataset.draw(index, label)
            mark = canvas.needles[0]
            x, y = (min(max(centre - 112, 0), 896 - 224) for centre in (mark.x, mark.y))
            thumbnails.append(_seen(canvas.image, 64))
            looks.append(_seen(canvas.image[y : y + 224, x : x + 224], 64))  # the size of a third-level cell
        far.append(torch.stack(thumbnails).std(0).mean())
        near.append(torch.stack(looks).std(0).mean())
    assert np.mean(far) < 0.5  # of 255 grey levels; the grain on the canvas has 6 to 10
    assert np.mean(near) > 3 * np.mean(far)


def test_all_symbols_leave_about_the_same_amount_of_ink() -> None:
    (mark,) = sample_marks(np.random.default_rng(0), 64, [True])
    mark = replace(mark, x=80, y=80, ground=(255, 255, 255), ink=(0, 0, 0))
    inked = []
    for index in range(len(SYMBOL_NAMES)):
        canvas = np.full((160, 160, 3), 255, np.uint8)
        blank = canvas.copy()
        draw_strokes(canvas, mark, get_symbol(index))
        draw_strokes(blank, mark, replace(get_symbol(index), lines=get_symbol(index).lines[:0]))
        inked.append(float((blank.astype(int) - canvas).sum()))
    assert max(inked) < 1.5 * min(inked)


def test_symbols_differ_from_one_another_at_the_size_of_a_close_look() -> None:
    (mark,) = sample_marks(np.random.default_rng(1), 24, [True])
    mark = replace(mark, x=40, y=40)
    drawn = []
    for index in range(len(SYMBOL_NAMES)):
        canvas = np.zeros((80, 80, 3), np.uint8)
        draw_strokes(canvas, mark, get_symbol(index))
        drawn.append(cv2.resize(canvas[20:60, 20:60], (20, 20), interpolation=cv2.INTER_AREA).astype(float).mean(2))
    for a in range(len(drawn)):
        for b in range(a):
            assert np.abs(drawn[a] - drawn[b]).max() > 60, (SYMBOL_NAMES[a], SYMBOL_NAMES[b])


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"classes": 21}, "2 to 20 classes"),
        ({"classes": 1}, "2 to 20 classes"),
        ({"canvas": 20}, "'data.needles.canvas'"),
        ({"needles": 0}, "no class"),
        ({"extra": -1}, "'data.needles.extra'"),
        ({"extra": 60}, "do not fit"),
        ({"decoys": -1}, "'data.needles.decoys'"),
        ({"distractors": -1}, "'data.needles.distractors'"),
        ({"glyph": 4}, "at least 8 pixels"),
        ({"glyph": 90}, "do not fit"),
        ({"needles": 60}, "do not fit"),
        ({"clutter": 9.0}, "'data.needles.clutter'"),
        ({"train_size": 0}, "'data.needles.train_size'"),
        ({"source": "mnist", "classes": 11}, "2 to 10 classes"),
    ],
)
def test_impossible_sections_are_refused_by_name(changes: dict[str, object], words: str) -> None:
    with pytest.raises(TNetError, match=words):
        NeedlesDataset(replace(SMALL, **changes), "train")  # type: ignore[arg-type]


def test_unknown_splits_are_refused() -> None:
    with pytest.raises(TNetError, match="no split 'holiday'"):
        NeedlesDataset(SMALL, "holiday")


def test_clutter_adds_paths_and_specks() -> None:
    calm, wild = (NeedlesDataset(replace(SMALL, clutter=amount), "train")[0].image for amount in (0.0, 4.0))
    edges = [np.abs(cv2.Laplacian(cv2.GaussianBlur(image, (5, 5), 0), cv2.CV_32F)).mean() for image in (calm, wild)]
    assert edges[1] > 1.3 * edges[0]


def test_training_canvases_may_hold_more_needles() -> None:
    section = replace(SMALL, extra=4)
    train, validation = (NeedlesDataset(section, split, 3) for split in ("train", "validation"))
    assert {len(train[i].boxes) for i in range(12)} == {3, 7}
    assert {len(validation[i].boxes) for i in range(12)} == {3}


def test_kept_canvases_are_the_same_and_cannot_be_changed() -> None:
    kept, drawn = NeedlesDataset(replace(SMALL, keep=True), "train"), NeedlesDataset(SMALL, "train")
    assert kept[4] is kept[4]
    assert np.array_equal(kept[4].image, drawn[4].image)
    with pytest.raises(ValueError, match="read-only"):
        kept[4].image[0, 0] = 0


def test_a_canvas_is_drawn_quickly() -> None:
    dataset = NeedlesDataset(NeedlesSection(), "train")
    dataset[0]
    times = []
    for index in range(1, 12):
        began = time.thread_time()
        dataset[index]
        times.append(time.thread_time() - began)
    assert min(times) < 0.030  # about 0.008 on an idle core
