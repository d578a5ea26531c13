"""A picture at several resolutions: which to read a cut from, and how it becomes the wanted size.

**The rule.** A cut is read from the coarsest level that still has twice the wanted resolution on
both axes. From the original itself it is resized exactly as a picture in memory is; from a coarser
level, by averaging areas, where borders may fall inside a level's pixels and count by the part that
is inside. So the pixels read for a look are bounded, whatever the size of the picture.

Twice, because at just the wanted resolution pixels of the level and wanted pixels would lie across
each other and blur: on a sharp photograph that moved single values by 60 of 255, twice by 20, and
the mean by 2.5 and 1.3.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import cv2
import numpy as np

Box = tuple[int, int, int, int]  # x0, y0, x1, y1

STEP = 4  # from one level to the next, in pyramids that are built here
DETAIL = 2  # level pixels per wanted pixel on each axis, at least
TOP = 1024  # the longest side of the coarsest level of such a pyramid, at most
_OUTPUTS = 32  # wanted pixels of an axis that are averaged at a time, or fewer where they take
_ALONG = 512  # … more than so many pixels of the level
_PIXELS = 1 << 21
_MAX_AVERAGED = 1 << 22  # pixels into one: OpenCV adds up bytes in 32 bits


class Level(Protocol):
    """RGB pixels of one resolution; each stands for factor x factor pixels of the original."""

    width: int
    height: int
    factor: int
    block: int  # rows that are best read together

    def read(self, x: int, y: int, width: int, height: int) -> np.ndarray:
        """Return (height, width, 3) uint8."""
        ...


def choose_factor(factors: Sequence[int], box: Box, size: tuple[int, int]) -> int:
    """Return the factor of the level to read, by the rule above; 1 is the original."""
    x0, y0, x1, y1 = box
    needed = min((x1 - x0) / size[0], (y1 - y0) / size[1])
    return max((f for f in factors if DETAIL * f <= needed), default=1)


def find_touched(box: Box, factor: int) -> tuple[slice, slice]:
    """Return rows and columns of a level that a cut of the original touches."""
    x0, y0, x1, y1 = box
    return slice(y0 // factor, -(-y1 // factor)), slice(x0 // factor, -(-x1 // factor))


def average_level(level: Level, box: Box, size: tuple[int, int]) -> np.ndarray:
    """Average a cut of the original from a coarser level: (height, width, 3) uint8.

    Sums are torch's, not numpy's: the threads of numpy's algebra go on spinning for a while, and the network that
    looks at the cut next would have to share the processor with them (twice the time, on two cores).
    """
    import torch  # not above: a file is opened, or refused, without

    x0, y0, x1, y1 = (side / level.factor for side in box)
    across, down = _split_axis(x0, x1, size[0], level.width), _split_axis(y0, y1, size[1], level.height)
    out = np.empty((size[1], size[0], 3), np.uint8)
    row = 0
    for top, bottom, vertical in down:
        col = 0
        for pieces in _group_pieces(across, bottom - top):
            first, last = pieces[0][0], pieces[-1][1]
            pixels = torch.from_numpy(level.read(first, top, last - first, bottom - top).astype(np.float32))
            lines = torch.tensordot(torch.from_numpy(vertical), pixels, 1)  # (rows, columns of the level, 3)
            columns = lines.transpose(0, 1).contiguous()
            for left, right, horizontal in pieces:
                part = torch.tensordot(torch.from_numpy(horizontal), columns[left - first : right - first], 1)
                out[row : row + len(vertical), col : col + len(horizontal)] = part.round_().transpose(0, 1).numpy()
                col += len(horizontal)
        row += len(vertical)
    return out


_Piece = tuple[int, int, np.ndarray]  # first and last pixel of a level, and how much each counts: (outputs, pixels)


def _group_pieces(pieces: list[_Piece], rows: int) -> list[list[_Piece]]:
    """Return all columns at once, or piece by piece where that would be many pixels."""
    many = (pieces[-1][1] - pieces[0][0]) * rows > _PIXELS
    return [[piece] for piece in pieces] if many else [pieces]


def _split_axis(start: float, stop: float, outputs: int, limit: int) -> list[_Piece]:
    """Divide an axis into pieces, `outputs` in all."""
    edges = np.linspace(start, stop, outputs + 1)
    step = max(1, min(_OUTPUTS, int(_ALONG * outputs / (stop - start))))
    pieces = []
    for at in range(0, outputs, step):
        begin, end = edges[at:-1][:step, None], edges[at + 1 :][:step, None]
        pixels = np.arange(int(begin[0, 0]), int(np.ceil(end[-1, 0])))
        overlap = np.clip(np.minimum(end, pixels + 1) - np.maximum(begin, pixels), 0, None)
        shares = (overlap / overlap.sum(1, keepdims=True)).astype(np.float32)
        # Some writers round a level's size down: its last pixel then stands for what is missing too.
        first = min(int(pixels[0]), limit - 1)
        last = min(int(pixels[-1]) + 1, limit)
        if shares.shape[1] > last - first:
            shares = np.hstack([shares[:, : last - first - 1], shares[:, last - first - 1 :].sum(1, keepdims=True)])
        pieces.append((first, last, shares))
    return pieces


def resize_cut(pixels: np.ndarray, size: tuple[int, int]) -> np.ndarray:
    """Resize (H, W, 3) uint8 to (width, height): an axis that shrinks is averaged, one that grows interpolated."""
    height, width = pixels.shape[:2]
    # OpenCV averages areas only where no axis grows, so first shrink, then enlarge.
    across, down = min(size[0], width), min(size[1], height)
    if width * height > _MAX_AVERAGED * across * down:
        halfway = (min(width, 64 * across), min(height, 64 * down))
        pixels = cv2.resize(pixels, halfway, interpolation=cv2.INTER_AREA)
    pixels = cv2.resize(pixels, (across, down), interpolation=cv2.INTER_AREA)
    return cv2.resize(pixels, size, interpolation=cv2.INTER_LINEAR_EXACT)
