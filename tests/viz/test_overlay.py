"""The picture and the boxes above it."""

from __future__ import annotations

import re

import numpy as np
import pytest

import tnet_core as tn
from tests.support.models import TINY_3L, picture, tiny
from viz import overlay

BOX = re.compile(
    r'<div class="(?P<cls>[^"]*)" data-look="(?P<look>\d+)" '
    r'style="left:(?P<l>[\d.]+)%;top:(?P<t>[\d.]+)%;width:(?P<w>[\d.]+)%;height:(?P<h>[\d.]+)%"><b>(?P<number>[\d.]+)</b>'
)


def found(html: str) -> list[re.Match[str]]:
    return list(BOX.finditer(html))


@pytest.mark.parametrize("k", [0, 1, 4, 9])
def test_every_look_that_counts_has_a_numbered_box_where_it_looked(trace: tn.Trace, k: int) -> None:
    drawn = found(overlay.boxes(trace, k))
    assert [int(box["number"]) for box in drawn] == list(range(1, k + 1))
    for box, look in zip(drawn, trace.locations, strict=False):
        left, top, width, height = (float(box[part]) / 100 for part in "ltwh")
        np.testing.assert_allclose((left, top, left + width, top + height), look.box, atol=2e-5)


def test_only_the_newest_look_is_in_focus(trace: tn.Trace) -> None:
    classes = [box["cls"] for box in found(overlay.boxes(trace, 4))]
    assert classes == ["tn-box", "tn-box", "tn-box", "tn-box tn-focus"]


def test_looks_inside_looks_are_drawn_too() -> None:
    deep = tn.traverse(tiny(TINY_3L), picture(seed=3))
    drawn = found(overlay.boxes(deep, len(deep.locations)))
    assert len(drawn) == 2 + 4
    assert [box["number"] for box in drawn] == ["1", "2", "1.1", "1.2", "2.1", "2.2"]
    assert max(float(box["w"]) for box in drawn[2:]) < min(float(box["w"]) for box in drawn[:2])


def test_titles_are_escaped() -> None:
    source = tn.ImageSource.open(picture(20, 30))
    html = overlay.picture(source, '<img src=x onerror="alert(1)">.png')
    assert "<img src=x" not in html
    assert "&lt;img src=x onerror=&quot;alert(1)&quot;&gt;.png, 30 × 20 px" in html


@pytest.mark.parametrize(("height", "width", "ratio"), [(60, 90, 1.5), (2, 3000, 4.0), (3000, 2, 0.25)])
def test_extreme_shapes_stay_visible(height: int, width: int, ratio: float) -> None:
    html = overlay.picture(tn.ImageSource.open(picture(height, width)), "strip")
    assert f"--ratio:{ratio:.5f}" in html
