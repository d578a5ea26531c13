"""The drawn pictures."""

from __future__ import annotations

import numpy as np
import pytest

from viz.examples import DRAWINGS, draw_picture


@pytest.mark.slow
@pytest.mark.parametrize("index", range(len(DRAWINGS)))
def test_an_example_is_the_same_every_time(index: int) -> None:
    np.testing.assert_array_equal(draw_picture(index), DRAWINGS[index].draw())


@pytest.mark.slow
@pytest.mark.parametrize("index", range(len(DRAWINGS)))
def test_an_example_has_more_detail_than_the_thumbnail_can_show(index: int) -> None:
    pixels = draw_picture(index)
    assert pixels.dtype == np.uint8
    assert pixels.shape[2] == 3
    assert min(pixels.shape[:2]) >= 2 * 448
    assert pixels.reshape(-1, 3).std(axis=0).min() > 10


def test_examples_cannot_be_changed_by_one_visitor_for_all() -> None:
    with pytest.raises(ValueError, match="read-only"):
        draw_picture(0)[0, 0] = 0


def test_wide_and_square_pictures_are_among_them() -> None:
    ratios = {round(draw_picture(i).shape[1] / draw_picture(i).shape[0], 2) for i in range(len(DRAWINGS))}
    assert 1.0 in ratios
    assert max(ratios) > 1.7
