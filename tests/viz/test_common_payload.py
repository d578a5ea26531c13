"""Previews, and pixels without loss."""

from __future__ import annotations

import base64
import io

import numpy as np
import pytest
from PIL import Image

import tnet_core as tn
from tests.support.models import picture
from viz.common.payload import encode_lossless_webp, read_preview


@pytest.mark.parametrize(
    ("height", "width", "shown"),
    [(100, 200, (100, 200)), (3000, 1500, (1400, 700)), (2, 30_000, (1, 1400)), (1, 1, (1, 1))],
)
def test_previews_are_bounded_and_never_enlarged(height: int, width: int, shown: tuple[int, int]) -> None:
    assert read_preview(tn.ImageSource.open(picture(height, width)), 1400).shape[:2] == shown


def test_pixels_without_loss_are_the_same_pixels() -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (33, 47, 3), dtype=np.uint8)
    for shown in (pixels, pixels[3:20, 5:30]):  # a cut of a picture too
        kind, _, data = encode_lossless_webp(shown).partition(",")
        assert kind == "data:image/webp;base64"
        decoded = np.asarray(Image.open(io.BytesIO(base64.b64decode(data))).convert("RGB"))
        np.testing.assert_array_equal(decoded, shown)
