"""`ImageSource`: where pixels come from, and the only way the traversal gets them."""

from __future__ import annotations

import hashlib
import os
from abc import ABC, abstractmethod
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from tnet_core.errors import TNetError
from tnet_core.images.decode import MAX_FILE_BYTES, array_to_rgb, decode_bytes, pil_to_rgb


class ImageSource(ABC):
    """An upright RGB image of `width` x `height` pixels, read piece by piece.

    `sha256` identifies it: of the file's bytes where there is a file, else of the RGB pixels
    (`hashed` says which).
    """

    width: int
    height: int
    name: str
    hashed: str  # "file" or "pixels"

    @property
    @abstractmethod
    def sha256(self) -> str: ...

    @abstractmethod
    def gather(self, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
        """The pixels where the given (increasing) rows and columns cross: (R, C, 3) uint8."""

    @abstractmethod
    def resized(self, box: tuple[int, int, int, int], size: tuple[int, int]) -> np.ndarray:
        """The pixels x0, y0, x1, y1 resized to (width, height) with antialiasing: uint8 HWC."""

    @staticmethod
    def open(image: Any) -> ImageSource:
        """From a path, encoded bytes, a Pillow image, an (H, W, 3) array, or a source itself."""
        if isinstance(image, ImageSource):
            return image
        if isinstance(image, (str, os.PathLike)):
            return _from_file(Path(image))
        if isinstance(image, (bytes, bytearray, memoryview)):
            return _from_bytes(bytes(image), "The image")
        if isinstance(image, Image.Image):
            return ArraySource(pil_to_rgb(image, "The image"), "image")
        if isinstance(image, np.ndarray):
            return ArraySource(array_to_rgb(image), "array")
        raise TNetError(
            f"An image must be a path, bytes, a Pillow image or an (H, W, 3) uint8 array, not {type(image).__name__}."
        )


class ArraySource(ImageSource):
    """An image held in memory as (H, W, 3) uint8."""

    def __init__(self, array: np.ndarray, name: str, file_sha256: str | None = None) -> None:
        self.array = array
        self.height, self.width = array.shape[:2]
        self.name = name
        self.hashed = "pixels" if file_sha256 is None else "file"
        self._file_sha256 = file_sha256

    @cached_property
    def sha256(self) -> str:
        if self._file_sha256 is not None:
            return self._file_sha256
        return hashlib.sha256(f"{self.width}x{self.height}:".encode() + self.array.tobytes()).hexdigest()

    @cached_property
    def _pil(self) -> Image.Image:
        return Image.fromarray(self.array)  # shares memory

    def gather(self, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
        return self.array[_as_slice(rows)][:, _as_slice(cols)]

    def resized(self, box: tuple[int, int, int, int], size: tuple[int, int]) -> np.ndarray:
        return np.asarray(self._pil.resize(size, Image.Resampling.BILINEAR, box=box))


def _as_slice(indices: np.ndarray) -> Any:
    """A slice where the indices are consecutive (no copy), else the indices."""
    if len(indices) and indices[-1] - indices[0] + 1 == len(indices):
        return slice(int(indices[0]), int(indices[-1]) + 1)
    return indices


def _from_file(path: Path) -> ArraySource:
    try:
        size = path.stat().st_size
        if not path.is_file():
            raise TNetError(f"'{path}' is not a file.")
        if size > MAX_FILE_BYTES:
            raise TNetError(f"'{path.name}' has {size / 2**20:.0f} MB; at most {MAX_FILE_BYTES // 2**20} are read.")
        data = path.read_bytes()
    except FileNotFoundError:
        raise TNetError(f"There is no file '{path}'.") from None
    except (OSError, ValueError) as error:
        if isinstance(error, TNetError):
            raise
        raise TNetError(f"'{path}' cannot be read ({getattr(error, 'strerror', None) or error}).") from None
    return _from_bytes(data, f"'{path.name}'", path.name)


def _from_bytes(data: bytes, label: str, name: str = "bytes") -> ArraySource:
    array = decode_bytes(data, label)
    return ArraySource(array, name, hashlib.sha256(data).hexdigest())
