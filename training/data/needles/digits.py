"""Needles that show handwritten digits instead of drawn symbols."""

from __future__ import annotations

import cv2
import numpy as np

from training.data.needles.canvas import Painter
from training.data.needles.marks import Mark, draw
from training.data.needles.streams import ONE


def digit_painter(images: np.ndarray, labels: np.ndarray) -> Painter:
    """Paints digits of a class, picked from images (N, 28, 28) uint8 with labels (N,)."""
    members = {int(digit): np.flatnonzero(labels == digit) for digit in np.unique(labels)}

    def paint(canvas: np.ndarray, mark: Mark, label: int, pick: int) -> None:
        chosen = members[label]
        draw(canvas, mark, _coverage(images[chosen[pick % len(chosen)]], mark))

    return paint


def _coverage(digit: np.ndarray, mark: Mark) -> np.ndarray:
    """The digit (28, 28) turned, scaled and sheared as the mark says: (2 * reach, 2 * reach) uint8."""
    size = 2 * mark.reach
    # MNIST digits fill 20 of 28 pixels; a glyph's side is that of the digit itself.
    linear = mark.matrix / ONE * (mark.glyph / 20)
    shift = np.full(2, (size - 1) / 2) - linear @ np.full(2, 13.5)
    turned: np.ndarray = cv2.warpAffine(digit, np.column_stack([linear, shift]), (size, size), flags=cv2.INTER_LINEAR)
    return turned
