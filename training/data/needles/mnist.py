"""Needles that show handwritten digits: the reader of MNIST's four gzipped idx files, and how digits are painted."""

from __future__ import annotations

import gzip
import math
import zlib
from functools import lru_cache
from pathlib import Path
from typing import Literal

import cv2
import numpy as np

from tnet_core.errors import TNetError
from tnet_core.schemas.files import expand_home
from training.data.needles.background import ONE
from training.data.needles.marks import Mark, Painter, draw_mark
from training.data.reading import is_file, is_folder

_FILES = {
    "train": ("train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz"),
    "test": ("t10k-images-idx3-ubyte.gz", "t10k-labels-idx1-ubyte.gz"),
}
MAX_UNPACKED_BYTES = 64 << 20  # unpacked; the largest file has 47 MB


def read_mnist(root: str, part: Literal["train", "test"]) -> tuple[np.ndarray, np.ndarray]:
    """Return digits (N, 28, 28) uint8, white on black, and their labels (N,) uint8."""
    folder = expand_home(root)
    if not root or not is_folder(folder):
        raise TNetError(
            f"The MNIST folder '{root}' does not exist; set 'data.root' to the folder with {_FILES[part][0]}."
            if root
            else "Source 'mnist' needs 'data.root': the folder with the four gzipped MNIST files."
        )
    return _read_part(folder.resolve(), part)


@lru_cache(maxsize=2)  # several data sets of one process share the digits
def _read_part(folder: Path, part: str) -> tuple[np.ndarray, np.ndarray]:
    images, labels = (read_idx(folder / name) for name in _FILES[part])
    if (
        images.ndim != 3
        or images.shape[1:] != (28, 28)
        or labels.shape != images.shape[:1]
        or labels.max(initial=0) > 9
    ):
        raise TNetError(
            f"The MNIST files in {folder} do not belong together: images {images.shape}, labels {labels.shape}."
        )
    missing = sorted(set(range(10)) - set(np.unique(labels).tolist()))
    if missing:
        raise TNetError(f"The MNIST labels in {folder} lack the digit(s) {', '.join(map(str, missing))}.")
    return images, labels


def read_idx(path: Path) -> np.ndarray:
    """Read a gzipped idx file of bytes: magic 0, 0, 8, number of dimensions; big-endian sizes; the bytes."""
    if not is_file(path):
        raise TNetError(f"The MNIST file {path} is missing.")
    try:
        with gzip.open(path) as stream:
            content = stream.read(MAX_UNPACKED_BYTES + 1)  # a few bytes may unpack to more than fits into memory
    except (OSError, EOFError, zlib.error) as error:
        raise TNetError(f"{path} cannot be read as a gzip file ({error}); fetch it again.") from None
    if len(content) > MAX_UNPACKED_BYTES:
        raise TNetError(
            f"{path} unpacks to more than {MAX_UNPACKED_BYTES >> 20} MB, which no file of MNIST does; fetch it again."
        )
    if len(content) < 4 or content[:3] != b"\0\0\x08" or not 1 <= content[3] <= 3:
        raise TNetError(f"{path} is no idx file of bytes as MNIST uses them; fetch it again.")
    start = 4 + 4 * content[3]
    shape = tuple(int.from_bytes(content[i : i + 4], "big") for i in range(4, start, 4))
    if len(content) < start or len(content) - start != math.prod(shape):
        raise TNetError(f"{path} does not hold the number of bytes its header states; fetch it again.")
    return np.frombuffer(content, np.uint8, offset=start).reshape(shape)


def make_digit_painter(images: np.ndarray, labels: np.ndarray) -> Painter:
    """Return what paints digits of a class, picked from images (N, 28, 28) uint8 with labels (N,)."""
    members = {int(digit): np.flatnonzero(labels == digit) for digit in np.unique(labels)}

    def paint(canvas: np.ndarray, mark: Mark, label: int, pick: int) -> None:
        chosen = members[label]
        draw_mark(canvas, mark, _warp_digit(images[chosen[pick % len(chosen)]], mark))

    return paint


def _warp_digit(digit: np.ndarray, mark: Mark) -> np.ndarray:
    """Return turn, scale and shear the digit (28, 28) as the mark says: (2 * reach, 2 * reach) uint8."""
    size = 2 * mark.reach
    # MNIST digits fill 20 of 28 pixels; a glyph's side is that of the digit itself.
    linear = mark.matrix / ONE * (mark.glyph / 20)
    shift = np.full(2, (size - 1) / 2) - linear @ np.full(2, 13.5)
    turned: np.ndarray = cv2.warpAffine(digit, np.column_stack([linear, shift]), (size, size), flags=cv2.INTER_LINEAR)
    return turned
