"""A whole traversal with onnxruntime, numpy and Pillow: no PyTorch, nothing of this project.

tnet export tnet-lite0-cub OUT
python docs/onnx_traversal.py OUT PHOTO [LOOKS …]       LOOKS: one number per level below the thumbnail
"""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import onnxruntime
from PIL import Image, ImageOps


class Region(NamedTuple):
    """A square of the frame: its place and side in pixels, and the part of it that shows picture."""

    y: int
    x: int
    side: int
    visible: tuple[int, int, int, int]  # y0, x0, y1, x1
    position: tuple[int, int, int]  # row, column and scale, as the network counts them


def traverse(folder: Path, photo: Path, budget: list[int] | None = None) -> dict:
    """Look at a photo; returns looks (cells from the thumbnail inwards), weights and logits."""
    look = onnxruntime.InferenceSession(folder / "look.onnx")
    decide = onnxruntime.InferenceSession(folder / "decide.onnx")
    about = {key: json.loads(text) for key, text in look.get_modelmeta().custom_metadata_map.items()}
    grid, size = about["grid"], about["preprocessing"]["input_size"]
    pixels = np.asarray(ImageOps.exif_transpose(Image.open(photo)).convert("RGB"), np.float32)
    frame = resize(pixels, size) * np.float32(2 / 255) - 1
    level = {(): Region(0, 0, size, (0, 0, size, size), (0, 0, 0))}
    looks, features = [], []
    for count in [*(grid["budget"] if budget is None else budget), None]:
        crops = np.stack([cut(frame, region, about["preprocessing"]["base_resolution"]) for region in level.values()])
        positions = np.array([region.position for region in level.values()], np.int64)
        *scores, found = look.run(None, {"crops": crops, "positions": positions})
        features.append(found)
        looks += [path for path in level if path]
        if not count:  # the last level, or no look was granted
            break
        level = {
            (*path, int(cell)): divide(region, int(cell), grid)
            for (path, region), row in zip(level.items(), scores[0], strict=True)
            for cell in np.argsort(-row, kind="stable")[:count]
        }
    weights, logits = decide.run(None, {"features": np.concatenate(features)[None]})
    return {"about": about, "looks": looks, "weights": weights[0], "logits": logits[0]}


def resize(pixels: np.ndarray, size: int) -> np.ndarray:
    """Resize (h, w, 3) to (size, size, 3): bilinear, half-pixel centres, no antialiasing."""
    for axis in (0, 1):
        inputs = pixels.shape[axis]
        at = np.maximum((np.arange(size, dtype=np.float32) + 0.5) * np.float32(inputs / size) - 0.5, 0)
        left = np.minimum(at.astype(int), inputs - 1)
        share = (at - left).astype(np.float32).reshape((-1, 1, 1) if axis == 0 else (1, -1, 1))
        right = np.minimum(left + 1, inputs - 1)
        pixels = pixels.take(left, axis) * (1 - share) + pixels.take(right, axis) * share
    return pixels


def divide(region: Region, cell: int, grid: dict) -> Region:
    """Return a cell of a region's grid; cells overlap, and the outer ones may reach beyond the region."""
    n, side = grid["n"], round(region.side * grid["cell_fraction"])
    stride = math.ceil((region.side - side) / (n - 1))
    before = math.ceil(((n - 1) * stride + side - region.side) / 2)
    row, column = divmod(cell, n)
    y, x = region.y + row * stride - before, region.x + column * stride - before
    y0, x0, y1, x1 = region.visible
    visible = (
        min(max(y, y0), y1), min(max(x, x0), x1), min(max(y + side, y0), y1), min(max(x + side, x0), x1)
    )  # fmt: skip
    row_above, column_above, scale = region.position
    return Region(y, x, side, visible, (n * row_above + row, n * column_above + column, scale + 1))


def cut(frame: np.ndarray, region: Region, base: int) -> np.ndarray:
    """Return what the network sees of a region, (3, base, base); grey where there is no picture."""
    y0, x0, y1, x1 = region.visible
    crop = np.zeros((region.side, region.side, 3), np.float32)
    crop[y0 - region.y : y1 - region.y, x0 - region.x : x1 - region.x] = frame[y0:y1, x0:x1]
    return resize(crop, base).transpose(2, 0, 1)


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    answer = traverse(Path(sys.argv[1]), Path(sys.argv[2]), [int(text) for text in sys.argv[3:]] or None)
    print("looks at cells:", *(".".join(map(str, path)) for path in answer["looks"]))
    scaled = answer["logits"].astype(np.float64) / answer["about"]["temperature"]
    chances = np.exp(scaled - scaled.max())
    for cls in np.argsort(-chances)[:5]:
        names = answer["about"]["class_names"] or [f"class {c}" for c in range(len(chances))]
        print(f"{100 * chances[cls] / chances.sum():6.2f} %  {names[cls]}")
