"""Displaced pictures: what lies where on the canvas, and that it is the same in every run."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

import tnet_core as tn
from training.data.displaced import SHARE, DisplacedView, displace
from training.data.sample import Sample

SIDE = 112


class Plain:
    """Pictures of one colour each."""

    name, split, class_names = "plain", "validation", ("a", "b")

    def __init__(self, count: int) -> None:
        self.labels: Sequence[int] = [i % 2 for i in range(count)]

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, index: int) -> Sample:
        return Sample(np.full((60, 90, 3), 20 * (index + 1), np.uint8), self.labels[index], f"picture {index}")


def test_the_picture_lies_in_its_box_and_the_background_everywhere_else() -> None:
    for index in range(8):
        sample = DisplacedView(Plain(8), SIDE)[index]
        x0, y0, x1, y1 = (round(SIDE * share) for share in sample.boxes[0].tolist())
        assert x1 - x0 == y1 - y0 and SHARE[0] <= (x1 - x0) / SIDE <= SHARE[1] + 0.01
        inside = np.zeros((SIDE, SIDE), bool)
        inside[y0:y1, x0:x1] = True
        assert (sample.image[inside] == 20 * (index + 1)).all()
        other = np.unique(sample.image[~inside])
        assert len(other) == 1 and other[0] != 20 * (index + 1)


def test_labels_and_names_stay() -> None:
    view = DisplacedView(Plain(4), SIDE)
    assert len(view) == 4 and view.labels == [0, 1, 0, 1] and view.split == "validation, displaced"
    assert [view[i].name for i in range(4)] == [f"picture {i}" for i in range(4)]


def test_a_picture_is_the_same_in_every_run_and_another_in_every_view() -> None:
    first, again, other = (DisplacedView(Plain(5), SIDE, view)[2] for view in (0, 0, 1))
    assert np.array_equal(first.image, again.image)
    assert not np.array_equal(first.boxes, other.boxes)


@pytest.mark.slow
def test_pictures_lie_anywhere() -> None:
    generator, one = np.random.default_rng(0), np.full((8, 8, 3), 255, np.uint8)
    boxes = np.array([displace(one, np.zeros_like(one), SIDE, generator)[1] for _ in range(200)])
    assert (boxes[:, :2] < 0.05).any(0).all() and (boxes[:, 2:] > 0.95).any(0).all()


def test_one_picture_alone_has_no_other_to_lie_on() -> None:
    with pytest.raises(tn.TNetError, match="at least two"):
        DisplacedView(Plain(1), SIDE)
