"""Small files of the kinds that are opened without being decoded whole, and a picture to put into them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import pyvips

from tests.support.models import picture
from tnet_core.imageio import large, layouts, raw_level


@pytest.fixture
def as_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files of any size are treated as large ones, with as many levels."""
    monkeypatch.setattr(large, "TILED_ABOVE", 0)
    monkeypatch.setattr(large, "LINES_ABOVE", 0)
    monkeypatch.setattr(layouts, "TOP", 64)
    monkeypatch.setattr(raw_level, "TOP", 64)


def scene(height: int, width: int, seed: int = 0) -> np.ndarray:
    """Blocks of colour under a soft light and grain: (H, W, 3) uint8."""
    generator = np.random.default_rng(seed)
    light = np.sin(np.arange(height) / 37)[:, None, None] + np.cos(np.arange(width) / 23)[None, :, None]
    grain = generator.normal(0, 6, (height, width, 3))
    return np.clip(picture(height, width, seed) * 0.7 + 25 * light + grain + 40, 0, 255).astype(np.uint8)


def tiff(path: Path, pixels: np.ndarray, *, tile: int | None = 128, **options: Any) -> Path:
    """A TIFF written by libvips, tiled unless `tile` is None."""
    kinds = {(1, "uint8"): "b-w", (1, "uint16"): "grey16", (3, "uint16"): "rgb16"}
    kind = kinds.get((pixels.shape[2], str(pixels.dtype)), "srgb")
    image = pyvips.Image.new_from_array(np.ascontiguousarray(pixels)).copy(interpretation=kind)
    tiling = {} if tile is None else {"tile": True, "tile_width": tile, "tile_height": tile}
    image.tiffsave(str(path), **tiling, **({"compression": "lzw"} | options))
    return path
