"""Sums over few taps are the product with all weights."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tnet_core.sampling.tap_sums import AxisTaps, make_axis_taps, make_bilinear_taps, sum_taps


def resized(inputs: int, outputs: int) -> np.ndarray:
    """A bilinear resize as a matrix (outputs, inputs)."""
    left, right, toward_right = make_bilinear_taps(inputs, outputs)
    matrix = np.zeros((outputs, inputs))
    np.add.at(matrix, (np.arange(outputs), left), 1 - toward_right)
    np.add.at(matrix, (np.arange(outputs), right), toward_right)
    return matrix


def by_matrices(source: int, size: int, start: int, length: int, first: int, last: int, base: int) -> np.ndarray:
    """(base, source): resize to the virtual axis, cut with zeros outside, resize to base."""
    cut = np.zeros((length, size))
    for at in range(length):
        if first <= start + at < last:
            cut[at, start + at] = 1
    return resized(length, base) @ cut @ resized(source, size)


def as_matrix(taps: AxisTaps, source: int) -> np.ndarray:
    matrix = np.zeros((taps.weight.shape[1], source))
    for index, weight in zip(taps.index, taps.weight, strict=True):
        read = np.flatnonzero(weight)
        np.add.at(matrix, (read, taps.pixels[index[read]]), weight[read])
    return matrix


@settings(max_examples=150, deadline=None)
@given(
    source=st.integers(1, 90), size=st.integers(4, 60), base=st.integers(1, 24), length=st.integers(1, 60),
    start=st.integers(-30, 50), data=st.data(),
)  # fmt: skip
def test_taps_are_the_two_resizes(
    source: int, size: int, base: int, length: int, start: int, data: st.DataObject
) -> None:
    first = data.draw(st.integers(0, size))
    last = data.draw(st.integers(first, size))
    taps = make_axis_taps(source, size, start, length, first, last, base)
    expected = by_matrices(source, size, start, length, first, last, base)
    np.testing.assert_allclose(as_matrix(taps, source), expected, atol=1e-6)
    assert taps.weight.shape == taps.index.shape and len(taps.weight) <= 4
    assert (np.diff(taps.pixels) > 0).all() and set(taps.pixels) == set(np.flatnonzero((expected > 0).any(0)))
    if taps.is_identity:
        np.testing.assert_array_equal(as_matrix(taps, source)[:, taps.pixels], np.eye(base))


def test_what_needs_no_resampling_is_known() -> None:
    assert make_axis_taps(448, 448, 72, 160, 0, 448, 160).is_identity
    assert not make_axis_taps(449, 448, 72, 160, 0, 448, 160).is_identity
    assert not make_axis_taps(448, 448, -1, 160, 0, 448, 160).is_identity  # one pixel of padding


@pytest.mark.parametrize("rows", [(50, 32, 8, 16, 0, 32, 12), (16, 32, -6, 16, 0, 10, 12), (12, 12, 0, 12, 0, 12, 12)])
@pytest.mark.parametrize("cols", [(70, 32, 0, 32, 0, 32, 12), (12, 12, 0, 12, 0, 12, 12), (9, 32, 40, 8, 32, 32, 12)])
def test_sums_of_bytes_are_the_product_in_model_space(rows: tuple[int, ...], cols: tuple[int, ...]) -> None:
    down, across = make_axis_taps(*rows), make_axis_taps(*cols)
    image = np.random.default_rng(0).integers(0, 256, (rows[0], cols[0], 3), dtype=np.uint8)
    cut = image[np.ix_(down.pixels, across.pixels)]
    cut.setflags(write=False)  # as files in memory are
    values = image / 127.5 - 1
    expected = np.einsum("yr,rcd,xc->yxd", as_matrix(down, rows[0]), values, as_matrix(across, cols[0]))
    found = sum_taps(cut, down, across)
    assert found.dtype == np.float32 and found.flags.c_contiguous
    np.testing.assert_allclose(found, expected, atol=3e-6)
