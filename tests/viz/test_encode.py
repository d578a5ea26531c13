"""Previews."""

from __future__ import annotations

import pytest

import tnet_core as tn
from tests.support.models import picture
from viz.encode import preview


@pytest.mark.parametrize(
    ("height", "width", "shown"),
    [(100, 200, (100, 200)), (3000, 1500, (1400, 700)), (2, 30_000, (1, 1400)), (1, 1, (1, 1))],
)
def test_previews_are_bounded_and_never_enlarged(height: int, width: int, shown: tuple[int, int]) -> None:
    assert preview(tn.ImageSource.open(picture(height, width)), 1400).shape[:2] == shown
