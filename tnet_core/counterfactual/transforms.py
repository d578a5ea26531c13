"""Changed pictures: mirrored, shifted, enlarged or reduced, or with a part of them copied to another place.

A picture keeps its size. What moves in from outside repeats the picture's outermost pixels: streaks without objects.
A reflection would show real content once more, and a policy that follows content could rightly follow the copy.

Pixels are (H, W, C), uint8 or float32; boxes are normalised x0, y0, x1, y1.
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np

from tnet_core.errors import TNetError
from tnet_core.records import Box, pixel_box

MIN_SCALE, MAX_SCALE = 0.25, 4.0


@dataclass(frozen=True)
class Move:
    """How content moves: first mirrored, then scaled about the centre, then shifted."""

    flip: bool = False  # left and right change places
    dx: float = 0.0  # to the right, as a share of the width
    dy: float = 0.0  # down, as a share of the height
    scale: float = 1.0  # above 1: larger, and the outer parts leave the picture

    def __post_init__(self) -> None:
        if not (-1 <= self.dx <= 1 and -1 <= self.dy <= 1):
            raise TNetError("A picture can be shifted by at most its own size.")
        if not MIN_SCALE <= self.scale <= MAX_SCALE:
            raise TNetError(f"A picture can be scaled to {100 * MIN_SCALE:.0f} … {100 * MAX_SCALE:.0f} % of its size.")


@dataclass(frozen=True)
class Axis:
    """Where the points of one axis go, in whole pixels: content at x is found at `factor` x + `offset` afterwards."""

    side: int  # pixels of the picture
    size: int  # pixels of its content after scaling
    start: int  # pixel at which that begins
    mirrored: bool = False

    @property
    def factor(self) -> float:
        return (-self.size if self.mirrored else self.size) / self.side

    @property
    def offset(self) -> float:
        return (self.start + (self.size if self.mirrored else 0)) / self.side

    def forward(self, at: float) -> float:
        return self.factor * at + self.offset

    def backward(self, at: float) -> float:
        return (at - self.offset) / self.factor

    def span(self, low: float, high: float) -> tuple[float, float]:
        ends = self.forward(low), self.forward(high)
        return min(ends), max(ends)


@dataclass(frozen=True)
class Placement:
    """A move carried out on a picture of some size."""

    x: Axis
    y: Axis

    def box(self, box: Box) -> Box:
        """Return where the content of a box is afterwards; it may lie outside the picture."""
        (x0, x1), (y0, y1) = self.x.span(box[0], box[2]), self.y.span(box[1], box[3])
        return x0, y0, x1, y1


def place(move: Move, width: int, height: int) -> Placement:
    return Placement(_make_axis(width, move.scale, move.dx, move.flip), _make_axis(height, move.scale, move.dy, False))


def _make_axis(side: int, scale: float, shift: float, mirrored: bool) -> Axis:
    margin = round((scale - 1) * side / 2)  # as much on either side, so that the centre stays the centre
    size = max(1, side + 2 * margin)
    return Axis(side, size, (side - size) // 2 + round(shift * side), mirrored)


def move_content(image: np.ndarray, placement: Placement) -> np.ndarray:
    """Return the picture with its content moved; where nothing is scaled, pixels are copied, not interpolated."""
    height, width = image.shape[:2]
    x, y = placement.x, placement.y
    if (x.side, y.side) != (width, height):
        raise TNetError(f"A move planned for {x.side} x {y.side} px does not fit a picture of {width} x {height} px.")
    if (x.size, y.size) != (width, height):
        # Averaging areas where it shrinks, so that nothing small flickers in or out of sight.
        method = cv2.INTER_AREA if x.size < width else cv2.INTER_LINEAR
        image = cv2.resize(image, (x.size, y.size), interpolation=method)
    rows, cols = _find_sources(y), _find_sources(x)
    return np.ascontiguousarray(image.take(rows, axis=0).take(cols, axis=1))


def _find_sources(axis: Axis) -> np.ndarray:
    """Return for every pixel of an axis the pixel of the scaled picture that it shows."""
    at = np.clip(np.arange(axis.side) - axis.start, 0, axis.size - 1)
    return axis.size - 1 - at if axis.mirrored else at


def paste_part(image: np.ndarray, source: Box, target: Box) -> np.ndarray:
    """Return a copy of the picture in which the target box shows the pixels of the source box, nothing else changed."""
    height, width = image.shape[:2]
    x0, y0, x1, y1 = pixel_box(source, width, height)
    u0, v0, u1, v1 = pixel_box(target, width, height)
    patch = image[y0:y1, x0:x1]
    if patch.shape[:2] != (v1 - v0, u1 - u0):
        method = cv2.INTER_AREA if (u1 - u0) < (x1 - x0) else cv2.INTER_LINEAR
        patch = cv2.resize(patch, (u1 - u0, v1 - v0), interpolation=method)
    changed = image.copy()
    changed[v0:v1, u0:u1] = patch
    return changed
