"""`ImageSource`: where pixels come from, and the only way the traversal gets them."""

from __future__ import annotations

import hashlib
import os
import re
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from PIL import Image

from tnet_core.errors import TNetError
from tnet_core.imageio.decode import MAX_FILE_BYTES, array_to_rgb, decode_bytes, pil_to_rgb
from tnet_core.imageio.info import ImageInfo

_ADDRESS = re.compile(r"(?:https?|ftp|file|s3|gs|data):/", re.IGNORECASE)  # a Path has one slash left of two


class ImageSource(ABC):
    """An upright RGB image of `width` x `height` pixels, read piece by piece.

    `sha256` identifies it: of the file's bytes where there is a file, else of the RGB pixels
    (`hashed` says which). That of a file read in parts is taken when it is first asked for.
    """

    width: int
    height: int
    sha256: str
    hashed: str  # "file" or "pixels"
    scattered = False  # whether single pixels here and there cost as much as everything around them

    @abstractmethod
    def gather(self, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
        """Return the pixels where the given (increasing) rows and columns cross: (R, C, 3) uint8."""

    @abstractmethod
    def resized(self, box: tuple[int, int, int, int], size: tuple[int, int]) -> np.ndarray:
        """Return the pixels x0, y0, x1, y1, and no others, resized to (width, height): uint8 HWC.

        Once, with antialiasing: an axis that shrinks is averaged, one that grows is interpolated.
        """

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.width} x {self.height} pixels>"

    def info(self) -> ImageInfo:
        """Return what a trace remembers of this image."""
        return ImageInfo(self.sha256, self.hashed, self.width, self.height)

    @property
    def identity(self) -> str:
        """Tells this image from any other in this process, at no cost."""
        return f"{self.hashed}-{self.sha256}"

    def ready(self, box: tuple[int, int, int, int], size: tuple[int, int]) -> None:  # noqa: B027 - most need nothing
        """Make what `resized` would have to make first, if anything, so that it takes its short time later."""

    def sha256_of(self, what: str) -> str | None:
        """Return the sha256 of the "file" or of the "pixels"; None where it cannot be told."""
        return self.sha256 if what == self.hashed else None

    @property
    def held(self) -> int:
        """Bytes of memory that an open source keeps, about."""
        return 3 * self.width * self.height

    def pixels_read(self, box: tuple[int, int, int, int], size: tuple[int, int]) -> int:
        """Return how many pixels `resized` looks at; fewer than the cut has where a smaller version is at hand."""
        x0, y0, x1, y1 = box
        return (x1 - x0) * (y1 - y0)

    @staticmethod
    def open(image: Any, *, most_pixels: int | None = None) -> ImageSource:
        """Open a path, encoded bytes, a Pillow image, an (H, W, 3) array, a (3, H, W) tensor, or a source itself.

        A contiguous uint8 array is not copied, whatever its size: leave it as it is while the
        source is in use. Files can be far larger than memory, and their pixels take time: who opens
        what strangers send sets `most_pixels`.
        """
        source = _open_any(image)
        if most_pixels is not None and source.width * source.height > most_pixels:
            raise TNetError(
                f"The image has {source.width} x {source.height} pixels; at most {most_pixels / 1e6:.0f} million are "
                "opened here."
            )
        return source


class ArraySource(ImageSource):
    """An image held in memory as (H, W, 3) uint8, without a copy of its own."""

    def __init__(self, array: np.ndarray, file_sha256: str | None = None) -> None:
        self.array = np.ascontiguousarray(array).view()
        self.array.setflags(write=False)  # ours; the caller's own array stays as it is
        self.height, self.width = array.shape[:2]
        self.hashed = "pixels" if file_sha256 is None else "file"
        self.sha256 = self._pixel_hash() if file_sha256 is None else file_sha256

    def sha256_of(self, what: str) -> str | None:
        return self._pixel_hash() if what == "pixels" != self.hashed else super().sha256_of(what)

    def _pixel_hash(self) -> str:
        digest = hashlib.sha256(f"{self.width}x{self.height}:".encode())
        digest.update(self.array.data)
        return digest.hexdigest()

    def gather(self, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
        if _is_consecutive(cols):
            across = slice(int(cols[0]), int(cols[-1]) + 1)
            if _is_consecutive(rows):
                return self.array[rows[0] : rows[-1] + 1, across]  # a view
            return self.array[rows, across]
        # By number in the whole picture: several times quicker than crossing two lists of indices,
        # and unlike taking rows first it copies no full rows.
        return self.array.reshape(-1, 3).take(rows[:, None] * self.width + cols, axis=0)

    def resized(self, box: tuple[int, int, int, int], size: tuple[int, int]) -> np.ndarray:
        x0, y0, x1, y1 = box
        return resize_cut(self.array[y0:y1, x0:x1], size)  # the cut itself, so that no filter can reach beyond it


def _open_any(image: Any) -> ImageSource:
    if isinstance(image, ImageSource):
        return image
    if isinstance(image, (str, os.PathLike)):
        if _ADDRESS.match(str(image)):
            raise TNetError(f"'{image!s:.200}' is an address; download the picture and give its file or its bytes.")
        return _from_file(Path(image))
    if isinstance(image, (bytes, bytearray, memoryview)):
        return _from_bytes(bytes(image), "The image")
    if isinstance(image, Image.Image):
        return ArraySource(pil_to_rgb(image, "The image"))
    if isinstance(image, np.ndarray):
        return ArraySource(array_to_rgb(image))
    if hasattr(image, "detach") and hasattr(image, "ndim"):  # a tensor, without importing PyTorch for it
        return ArraySource(array_to_rgb(_from_tensor(image), "The tensor"))
    raise TNetError(
        "An image must be a path, bytes, a Pillow image, an (H, W, 3) uint8 array or a (3, H, W) tensor, "
        f"not {type(image).__name__}."
    )


def _from_tensor(tensor: Any) -> np.ndarray:
    """Convert (3, H, W) uint8, or floats in [0, 1] -> (H, W, 3); the channels may also come last."""
    if tensor.ndim == 3 and tensor.shape[0] in (1, 3, 4):
        tensor = tensor.permute(1, 2, 0)
    elif tensor.ndim != 2 and (tensor.ndim != 3 or tensor.shape[2] not in (1, 3, 4)):
        raise TNetError(f"A tensor must have shape (3, H, W), not {tuple(tensor.shape)}; give images one by one.")
    if tensor.is_floating_point():
        tensor = tensor.float()  # NumPy knows no bfloat16
    return np.asarray(tensor.detach().cpu().numpy())


def _is_consecutive(indices: np.ndarray) -> bool:
    return len(indices) > 0 and bool(indices[-1] - indices[0] + 1 == len(indices))


def _from_file(path: Path) -> ImageSource:
    from tnet_core.imageio.large import open_large  # is a source itself

    try:
        status = path.stat()
        size = status.st_size
        if not path.is_file():
            raise TNetError(f"'{path}' is not a file.")
        large = open_large(path, status, f"'{path.name}'")
        if large is not None:
            return large
        if size > MAX_FILE_BYTES:
            raise TNetError(f"'{path.name}' has {size / 2**20:.0f} MB; at most {MAX_FILE_BYTES // 2**20} are read.")
        data = path.read_bytes()
    except FileNotFoundError:
        raise TNetError(f"There is no file '{path}'.") from None
    except (OSError, ValueError) as error:
        if isinstance(error, TNetError):
            raise
        raise TNetError(f"'{path}' cannot be read ({getattr(error, 'strerror', None) or error}).") from None
    return _from_bytes(data, f"'{path.name}'")


def _from_bytes(data: bytes, label: str) -> ArraySource:
    return ArraySource(decode_bytes(data, label), hashlib.sha256(data).hexdigest())


_MAX_AVERAGED = 1 << 22  # pixels into one: OpenCV adds up bytes in 32 bits


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
