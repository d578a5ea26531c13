"""Changed pictures and whether a grid follows them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import tnet_core as tn
from tests.support.models import TINY, picture
from tnet_core.counterfactual import (
    CellCentres,
    Move,
    compare,
    compute_score,
    find_fates,
    find_look_at,
    find_nearest_cell,
    measure_pull,
    move_content,
    paste_part,
    place,
)
from tnet_core.counterfactual.transforms import pixel_box
from tnet_core.numbers import correlate_ranks


def noise(height: int, width: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)


def change(image: np.ndarray, **wish: Any) -> np.ndarray:
    height, width = image.shape[:2]
    return move_content(image, place(Move(**wish), width, height))


@pytest.mark.parametrize(("height", "width"), [(40, 60), (41, 61), (1, 7), (128, 128)])
def test_flipping_twice_and_moving_nothing_change_nothing(height: int, width: int) -> None:
    image = noise(height, width)
    assert np.array_equal(change(image), image)
    assert not np.shares_memory(change(image), image)
    once = change(image, flip=True)
    assert np.array_equal(once, image[:, ::-1]) and np.array_equal(change(once, flip=True), image)


@pytest.mark.parametrize("seed", range(8))
def test_a_shifted_box_holds_the_same_pixels(seed: int) -> None:
    generator = np.random.default_rng(seed)
    height, width = (int(side) for side in generator.integers(30, 90, 2))
    image = noise(height, width, seed)
    placement = place(Move(dx=generator.uniform(-0.4, 0.4), dy=generator.uniform(-0.4, 0.4)), width, height)
    changed = move_content(image, placement)
    x0, y0 = width // 2 - 1, height // 2 - 1
    box = (x0 / width, y0 / height, (x0 + 3) / width, (y0 + 2) / height)
    u0, v0, u1, v1 = (round(at * side) for at, side in zip(placement.box(box), (width, height) * 2, strict=True))
    assert np.array_equal(changed[v0:v1, u0:u1], image[y0 : y0 + 2, x0 : x0 + 3])
    assert (u1 - u0, v1 - v0) == (3, 2)


def test_what_comes_in_from_outside_repeats_the_outermost_pixels() -> None:
    image = noise(20, 30)
    changed = change(image, dx=6 / 30, dy=-5 / 20)
    assert np.array_equal(changed[:15, 6:], image[5:, :24])
    assert np.array_equal(changed[:15, :6], np.repeat(image[5:, :1], 6, axis=1))
    assert np.array_equal(changed[15:, 6:], np.repeat(image[-1:, :24], 5, axis=0))


@pytest.mark.parametrize("scale", [0.5, 0.8, 1.25, 1.6, 2.0])
@pytest.mark.parametrize("flip", [False, True])
def test_scaling_keeps_the_centre_and_maps_boxes(scale: float, flip: bool) -> None:
    image = np.full((200, 300, 3), 60, dtype=np.uint8)
    image[80:100, 130:170] = 240
    placement = place(Move(scale=scale, flip=flip), 300, 200)
    bright = move_content(image, placement)[:, :, 0] > 150
    rows, cols = np.flatnonzero(bright.any(1)), np.flatnonzero(bright.any(0))
    found = np.array([cols[0], rows[0], cols[-1] + 1, rows[-1] + 1])
    wanted = np.array(placement.box((130 / 300, 80 / 200, 170 / 300, 100 / 200))) * [300, 200, 300, 200]
    assert np.abs(found - wanted).max() <= 1
    assert placement.x.forward(0.5) == placement.y.forward(0.5) == 0.5


def test_there_and_back_is_where_it_was() -> None:
    placement = place(Move(flip=True, dx=0.13, dy=-0.2, scale=0.7), 321, 123)
    for axis in (placement.x, placement.y):
        for at in (0.0, 0.3, 1.0):
            assert axis.backward(axis.forward(at)) == pytest.approx(at)


@pytest.mark.parametrize("seed", range(6))
def test_pasting_changes_only_the_target(seed: int) -> None:
    generator = np.random.default_rng(seed)
    image = noise(60, 80, seed)
    corners = np.sort(generator.random((2, 2, 2)), axis=1)
    source, target = (tuple(corner.ravel().tolist()) for corner in corners)
    changed = paste_part(image, source, target)
    x0, y0, x1, y1 = pixel_box(target, 80, 60)
    outside = np.ones((60, 80), dtype=bool)
    outside[y0:y1, x0:x1] = False
    assert np.array_equal(changed[outside], image[outside])
    same = paste_part(image, (0.0, 0.0, 0.25, 0.25), (0.5, 0.5, 0.75, 0.75))
    assert np.array_equal(same[30:45, 40:60], image[:15, :20])


@pytest.mark.parametrize("wish", [{"dx": 1.5}, {"dy": -2.0}, {"scale": 0.0}, {"scale": 9.0}, {"dx": float("nan")}])
def test_impossible_moves_are_one_sentence(wish: dict[str, Any]) -> None:
    with pytest.raises(tn.TNetError, match="A picture can be"):
        Move(**wish)


def test_a_move_belongs_to_one_size() -> None:
    with pytest.raises(tn.TNetError, match="does not fit"):
        move_content(picture(20, 30), place(Move(flip=True), 31, 20))


def test_rank_correlation_by_hand() -> None:
    first = np.array([[1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 3.0, 4.0], [1.0, 1.0, 1.0, 1.0]])
    second = np.array([[1.0, 9.0, 10.0, 11.0], [4.0, 3.0, 2.0, 1.0], [2.0, 1.0, 4.0, 3.0], [1.0, 2.0, 3.0, 4.0]])
    found = correlate_ranks(first, second)
    assert found[:3] == pytest.approx([1.0, -1.0, 0.6]) and np.isnan(found[3])  # 1 - 6 * 4 / (4 * 15)
    assert correlate_ranks(np.array([[1.0, 1.0, 2.0]]), np.array([[1.0, 2.0, 3.0]]))[0] == pytest.approx(np.sqrt(3) / 2)


def test_the_score_is_one_for_content_and_minus_one_for_position() -> None:
    found = compute_score(np.array([1.0, 0.2, 0.5, -1.0, 1.0, np.nan]), np.array([0.2, 1.0, 0.5, 1.0, 1.0, 0.0]))
    assert found[:4] == pytest.approx([1.0, -1.0, 0.0, -1.0]) and np.isnan(found[4:]).all()
    either = compute_score(*(np.random.default_rng(0).uniform(-1, 1, (2, 500))))
    assert (np.abs(either) <= 1).all()


GRID = replace(TINY, grid=5, cell_fraction=0.35, input_size=448, location_rows=(1, 2, 3, 4, 5))


def grids(count: int = 20) -> np.ndarray:
    return np.random.default_rng(1).normal(size=(count, 5, 5))


def shifted_cells(x: int, y: int) -> Move:
    across, down = CellCentres.of(GRID, 640, 480).step
    return Move(dx=x * across, dy=y * down)


@pytest.mark.parametrize(("x", "y"), [(1, 0), (-1, 0), (0, 2), (-2, 1)])
def test_a_grid_that_moves_along_follows_content_and_one_that_does_not_follows_position(x: int, y: int) -> None:
    centres, old = CellCentres.of(GRID, 640, 480), grids()
    placement = place(shifted_cells(x, y), 448, 448)
    along = np.roll(old, (y, x), axis=(1, 2))
    with_content = compare(old.reshape(-1, 25), along.reshape(-1, 25), centres, placement)
    in_place = compare(old.reshape(-1, 25), old.reshape(-1, 25), centres, placement)
    assert with_content.cells == (5 - abs(x)) * (5 - abs(y))
    assert with_content.content == pytest.approx(1.0) and with_content.score == pytest.approx(1.0)
    assert in_place.position == pytest.approx(1.0) and in_place.score == pytest.approx(-1.0)
    assert 0 < with_content.moved.sum() < len(old)  # the others' content left the picture
    assert with_content.followed[with_content.moved].all() and not with_content.stayed.any()
    assert in_place.stayed.all() and not in_place.followed[in_place.moved].any()


def test_a_mirrored_grid_follows_content_and_the_middle_column_tells_nothing() -> None:
    centres, old = CellCentres.of(GRID, 448, 448), grids(60)
    found = compare(old.reshape(-1, 25), old[:, :, ::-1].reshape(-1, 25), centres, place(Move(flip=True), 448, 448))
    assert found.cells == 25 and found.score == pytest.approx(1.0)
    top = old.reshape(-1, 25).argmax(1)
    assert np.array_equal(found.moved, top % 5 != 2) and found.followed.all()


def test_cells_between_others_are_interpolated() -> None:
    config = replace(GRID, sampling="native", cell_fraction=0.2)
    centres = CellCentres.of(config, 1000, 1000)
    plane = np.add.outer(3.0 * np.arange(5), np.arange(5))  # linear, so that interpolation is exact
    placement = place(Move(scale=2.0), 1000, 1000)
    half = np.add.outer(3.0 * (1 + np.arange(5) / 2), 1 + np.arange(5) / 2)
    found = compare(plane.reshape(1, 25), half.reshape(1, 25), centres, placement)
    assert found.cells == 25 and found.content == pytest.approx(1.0)
    assert not found.moved.any()  # the best cell is a corner, whose content left the picture


# Single looks ---------------------------------------------------------------------------------------


def kinds(before: list[int], after: list[int], move: Move) -> list[str]:
    found = find_fates(before, after, CellCentres.of(GRID, 640, 480), place(move, 448, 448))
    return [fate.kind for fate in found]


def test_what_became_of_each_look_of_a_shifted_picture() -> None:
    right = shifted_cells(1, 0)
    # cells 6, 12 and 24 of a 5 x 5 grid: their content is at 7, 13 and outside
    assert kinds([6, 12, 24], [7, 0, 1], right) == ["followed", "neither", "gone"]
    assert kinds([6, 12, 24], [12, 6, 24], right) == ["stayed", "stayed", "gone"]
    assert kinds([6], [6, 7], right) == ["both"]
    assert kinds([6], [7, 6][:1], right) == ["followed"]
    assert kinds([3], [3], Move()) == ["unmoved"]


def test_a_fate_names_the_looks_that_are_there() -> None:
    centres, placement = CellCentres.of(GRID, 640, 480), place(shifted_cells(0, 2), 448, 448)
    one = find_fates([7], [3, 17, 7], centres, placement)[0]
    assert (one.row, one.col) == (3.0, 2.0) and (one.again, one.there) == (1, 2)
    gone = find_fates([22], [22], centres, placement)[0]
    assert gone.kind == "gone" and gone.again is None and gone.row == 6.0


def test_mirrored_looks_of_the_middle_column_do_not_move() -> None:
    assert kinds([2, 0, 8], [4, 8, 1], Move(flip=True)) == ["unmoved", "followed", "stayed"]


def test_an_enlarged_cell_between_two_others_counts_at_either() -> None:
    config = replace(GRID, sampling="native", cell_fraction=0.2)
    centres, placement = CellCentres.of(config, 1000, 1000), place(Move(scale=1.5), 1000, 1000)
    # the cell right of the middle is at column 3.5 now: no other cell is nearer than its own
    assert find_fates([13], [14], centres, placement)[0].kind == "unmoved"
    assert find_fates([13], [14], centres, placement)[0].again == 0


def test_a_look_inside_enlarged_content_is_at_it_and_one_beside_it_is_not() -> None:
    centres, placement = CellCentres.of(GRID, 448, 448), place(Move(scale=1.6), 448, 448)
    width, step = centres.size[0], centres.step[0]
    edges = [(col - width / 2, col + width / 2) for col in centres.cols]
    low, high = placement.x.span(*edges[1])  # of the content of cell 6, in the second row and column
    again = [find_fates([6], [cell], centres, placement)[0].again == 0 for cell in range(25)]
    inside = [low - 0.05 * step <= left and right <= high + 0.05 * step for left, right in edges]
    assert again == [down and across for down in inside for across in inside]
    assert inside == [True, True, False, False, False]
    # half as large: the look that shows all of it is at it, although its centre is not the nearest one
    smaller = place(Move(scale=0.5), 448, 448)
    assert find_fates([0], [6], centres, smaller)[0].kind == "followed"


def test_a_copy_between_cells_belongs_to_the_nearest() -> None:
    boxes = [(x / 4, y / 4, x / 4 + 0.25, y / 4 + 0.25) for y in range(4) for x in range(4)]
    assert find_nearest_cell(boxes, (0.3, 0.05, 0.55, 0.3)) == 1
    assert find_look_at([boxes[0], boxes[1]], (0.3, 0.05, 0.55, 0.3)) == 1
    assert find_look_at([boxes[0], boxes[5]], (0.3, 0.05, 0.55, 0.3)) is None
    values = np.arange(16.0)
    assert measure_pull(values, values, boxes, 0, 1, (0.3, 0.05, 0.55, 0.3)).untouched == 12


@pytest.mark.parametrize("move", [Move(flip=True), Move(dx=0.2, dy=-0.2), Move(flip=True, dx=0.3)])
def test_the_first_look_is_told_alike_by_the_grid_and_by_its_fate(move: Move) -> None:
    centres, placement = CellCentres.of(GRID, 448, 448), place(move, 448, 448)
    old, new = grids(40).reshape(-1, 25), np.random.default_rng(9).normal(size=(40, 25))
    found = compare(old, new, centres, placement)
    for at in range(40):
        fate = find_fates([int(old[at].argmax())], [int(new[at].argmax())], centres, placement)[0]
        assert found.moved[at] == (fate.kind not in ("gone", "unmoved"))
        if found.moved[at]:
            assert found.followed[at] == (fate.kind in ("followed", "both"))
            assert found.stayed[at] == (fate.kind in ("stayed", "both"))


def test_the_pull_of_a_copy_is_a_change_of_ranks() -> None:
    trace = tn.traverse(tn.build(TINY, seed=1), picture(128, 128), (2,))
    boxes = trace.cell_boxes()
    before = np.array([0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1])
    after = before.copy()
    after[8] = 1.0
    found = measure_pull(before, after, boxes, source=0, target=8)
    assert found.target == (8, 0) and found.source == (0, 1)
    # of 3 x 3 cells of one half of the picture each, those of the first row and of the first column lie apart
    assert found.untouched == 5 and found.others == pytest.approx(1.0)
    after[[0, 6]] = after[[6, 0]]
    assert measure_pull(before, after, boxes, 0, 8).others < 1
