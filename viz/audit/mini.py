"""A heat map as a picture of one pixel per cell, which the page enlarges."""

from __future__ import annotations

import base64
import io

import numpy as np
from PIL import Image

from viz.audit.model import Cells
from viz.common import style


def mini_map(counts: Cells, grid: int) -> str:
    """A PNG data URI: the more a cell was taken, the more opaque."""
    shares = np.array(counts).reshape(grid, grid) / max(1.0, *counts)
    pixels = np.empty((grid, grid, 4), dtype=np.uint8)
    pixels[..., :3] = [int(style.STRONG[at : at + 2], 16) for at in (1, 3, 5)]
    pixels[..., 3] = np.round(255 * shares)
    written = io.BytesIO()
    Image.fromarray(pixels).save(written, "PNG")
    return "data:image/png;base64," + base64.b64encode(written.getvalue()).decode("ascii")
