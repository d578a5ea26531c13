"""Normalised boxes: their areas and their pixels."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

Box = tuple[float, float, float, float]  # x0, y0, x1, y1


def union_area(boxes: Sequence[Box]) -> float:
    """Exact area of the union of boxes, by coordinate compression."""
    if not boxes:
        return 0.0
    corners = np.asarray(boxes, dtype=np.float64)
    xs, ys = np.unique(corners[:, [0, 2]]), np.unique(corners[:, [1, 3]])
    covered = np.zeros((len(ys) - 1, len(xs) - 1), dtype=bool)
    left, right = np.searchsorted(xs, corners[:, 0]), np.searchsorted(xs, corners[:, 2])
    top, bottom = np.searchsorted(ys, corners[:, 1]), np.searchsorted(ys, corners[:, 3])
    for x0, y0, x1, y1 in zip(left, top, right, bottom, strict=True):
        covered[y0:y1, x0:x1] = True
    return float(np.diff(ys) @ covered @ np.diff(xs))


def pixel_box(box: Box, width: int, height: int) -> tuple[int, int, int, int]:
    """The box in whole pixels inside the picture, at least one of them."""
    x0, x1 = _pixels(box[0], box[2], width)
    y0, y1 = _pixels(box[1], box[3], height)
    return x0, y0, x1, y1


def _pixels(low: float, high: float, side: int) -> tuple[int, int]:
    start = min(max(round(low * side), 0), side - 1)
    return start, max(start + 1, min(round(high * side), side))
