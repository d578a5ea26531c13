"""Official sampling of a file whose single pixels cost as much as the tiles around them.

Every crop of official mode is made of the same source rows and columns: those that the virtual
S x S input is interpolated from. Their crossings are at most 2 S x 2 S pixels, read in one pass over
the file and kept with the source, so that no tile is decoded for a second look or a second traversal.
"""

from __future__ import annotations

import threading
from weakref import WeakKeyDictionary

import numpy as np

from tnet_core.imageio.source import ImageSource

MOST = 1 << 24  # pixels kept; larger inputs are read look by look


class _Crossings:
    """The pixels of one lattice, once they were read."""

    def __init__(self, rows: np.ndarray, cols: np.ndarray) -> None:
        self.rows, self.cols = rows, cols
        self.pixels: np.ndarray | None = None
        self.lock = threading.Lock()  # whoever comes second waits for the pass of the first


_KEPT: WeakKeyDictionary[ImageSource, _Crossings] = WeakKeyDictionary()  # the last of each source
_LOCK = threading.Lock()


class Lattice:
    """Stands in for `gather` of a source, for the rows and columns that can be asked for."""

    def __init__(self, source: ImageSource, rows: np.ndarray, cols: np.ndarray) -> None:
        self._source = source
        with _LOCK:
            kept = _KEPT.get(source)
            if kept is None or not (np.array_equal(kept.rows, rows) and np.array_equal(kept.cols, cols)):
                kept = _KEPT[source] = _Crossings(rows, cols)
        self._kept = kept

    def gather(self, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
        """As `ImageSource.gather`."""
        kept = self._kept
        if len(kept.rows) * len(kept.cols) > MOST:
            return self._source.gather(rows, cols)
        with kept.lock:
            if kept.pixels is None:
                kept.pixels = self._source.gather(kept.rows, kept.cols)
        return kept.pixels[np.searchsorted(kept.rows, rows)][:, np.searchsorted(kept.cols, cols)]
