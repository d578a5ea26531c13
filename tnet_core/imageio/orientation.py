"""The eight EXIF orientations, piece by piece: where an upright cut lies in the file, and how to turn it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

Box = tuple[int, int, int, int]  # x0, y0, x1, y1

# stored = upright, with rows and columns exchanged, then rows and columns in reverse
_STEPS = {
    2: (False, False, True),
    3: (False, True, True),
    4: (False, True, False),
    5: (True, False, False),
    6: (True, True, False),
    7: (True, True, True),
    8: (True, False, True),
}


@dataclass(frozen=True)
class Turn:
    """How to turn a file that stores `width` x `height` pixels."""

    orientation: int
    width: int
    height: int

    @property
    def _steps(self) -> tuple[bool, bool, bool]:
        return _STEPS.get(self.orientation, (False, False, False))

    @property
    def upright_size(self) -> tuple[int, int]:
        """Width and height as the picture is seen."""
        return self.turn_size((self.width, self.height))

    def turn_size(self, size: tuple[int, int]) -> tuple[int, int]:
        """Return width and height on the other side of the turn, either way."""
        return (size[1], size[0]) if self._steps[0] else size

    def find_stored_box(self, box: Box) -> Box:
        exchanged, rows, cols = self._steps
        x0, y0, x1, y1 = (box[1], box[0], box[3], box[2]) if exchanged else box
        if rows:
            y0, y1 = self.height - y1, self.height - y0
        if cols:
            x0, x1 = self.width - x1, self.width - x0
        return x0, y0, x1, y1

    def find_stored_crossing(self, rows: np.ndarray, cols: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Convert increasing rows and columns of the upright picture -> increasing ones of the file."""
        exchanged, back_rows, back_cols = self._steps
        if exchanged:
            rows, cols = cols, rows
        return (
            self.height - 1 - rows[::-1] if back_rows else rows,
            self.width - 1 - cols[::-1] if back_cols else cols,
        )

    def turn_upright(self, pixels: np.ndarray) -> np.ndarray:
        """Turn a stored cut as it is seen: a view."""
        exchanged, rows, cols = self._steps
        pixels = pixels[:: -1 if rows else 1, :: -1 if cols else 1]
        return pixels.transpose(1, 0, 2) if exchanged else pixels

    def turn_back(self, pixels: np.ndarray) -> np.ndarray:
        """Turn an upright cut into the order in which the file stores it: a view."""
        exchanged, rows, cols = self._steps
        pixels = pixels.transpose(1, 0, 2) if exchanged else pixels
        return pixels[:: -1 if rows else 1, :: -1 if cols else 1]
