"""How numbers are written."""

from __future__ import annotations

import pytest

from viz.common.text import (
    format_data_set,
    format_factor,
    format_fixed,
    format_flops,
    format_number,
    format_percent,
    format_signed,
)


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (0.0, "0"), (1.0, "1.0"), (7.126, "7.1"), (0.23456, "0.23"), (0.0066, "0.0066"), (12.34, "12"), (123.4, "123"),
        (9.96, "10"), (0.0996, "0.10"), (0.999, "1.0"), (99.7, "100"), (-0.456, "−0.46"), (0.00031, "0.0003"),
        (62.5, "63"), (-0.125, "−0.13"), (1e16, "1" + 16 * "0"),
        (0.00004, "0"), (-0.00004, "0"), (float("nan"), "n/a"), (float("inf"), "n/a"),
    ],
)  # fmt: skip
def test_numbers_have_two_significant_digits_and_no_exponent(value: float, written: str) -> None:
    assert format_number(value) == written


@pytest.mark.parametrize(("value", "written"), [(1.5, "+1.5"), (-1.5, "−1.5"), (0.0, "0"), (float("nan"), "n/a")])
def test_contributions_always_show_their_sign(value: float, written: str) -> None:
    assert format_signed(value) == written


def test_terms_of_a_sum_have_two_decimals() -> None:
    assert [format_fixed(v) for v in (6.928, -0.2, -0.001, 0.125)] == ["6.93", "−0.20", "0.00", "0.13"]


def test_units_are_written() -> None:
    assert format_percent(0.2345) == "23\N{NO-BREAK SPACE}%"  # stays on one line
    assert format_factor(1.61) == "1.6×"
    assert format_flops(1_178_852_290) == "1.2 GFLOPs"


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("imagenet_val + cub200/train", "ImageNet and CUB-200-2011"),
        ("measured on imagenet_val + cub200/train held-out, 353 images",
         "measured on ImageNet and CUB-200-2011 held-out, 353 images"),
        ("imagenet_val, 5 images", "ImageNet, 5 images"),
        ("Oxford-IIIT Pet validation", "Oxford-IIIT Pet validation"),
        ("my/cub200/train", "my/cub200/train"),
        ("cub200/training", "cub200/training"),
    ],
)  # fmt: skip
def test_data_sets_have_their_names_where_an_evaluation_names_folders(text: str, written: str) -> None:
    assert format_data_set(text) == written
