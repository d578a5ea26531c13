"""Official sampling of a file whose single pixels cost as much as the tiles around them.

Every crop of official mode is made of the same source rows and columns: those that the virtual
S x S input is interpolated from. Their crossings are at most 2 S x 2 S pixels, read in one pass over
the file and kept, so that no tile is decoded for a second look.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

MOST = 1 << 24  # pixels kept; larger inputs are read look by look

Gather = Callable[[np.ndarray, np.ndarray], np.ndarray]


class Lattice:
    """Stands in for `gather` of a source, for the rows and columns that can be asked for."""

    def __init__(self, gather: Gather, rows: np.ndarray, cols: np.ndarray) -> None:
        self._gather, self.rows, self.cols = gather, rows, cols
        self._pixels: np.ndarray | None = None

    def gather(self, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
        """As `ImageSource.gather`."""
        if len(self.rows) * len(self.cols) > MOST:
            return self._gather(rows, cols)
        if self._pixels is None:
            self._pixels = self._gather(self.rows, self.cols)
        return self._pixels[np.searchsorted(self.rows, rows)][:, np.searchsorted(self.cols, cols)]
