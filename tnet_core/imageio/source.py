"""`ImageSource`: where pixels come from, and the only way the traversal gets them."""

from __future__ import annotations

import hashlib
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from tnet_core.errors import TNetError
from tnet_core.imageio.decode import MAX_FILE_BYTES, array_to_rgb, decode_bytes, pil_to_rgb, tensor_to_rgb
from tnet_core.imageio.info import ImageInfo, OpenedFile
from tnet_core.imageio.large import find_layout
from tnet_core.imageio.layouts import Layout
from tnet_core.imageio.orientation import Turn
from tnet_core.imageio.pyramid import average_level, choose_factor, find_touched, resize_cut

_AT_ONCE = 1 << 24  # pixels of a cut that is read whole; a larger one is averaged line by line
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


class LargeSource(ImageSource):
    """A file of any size, of which only the parts and resolutions that are asked for are decoded.

    Levels are read in the order in which the file stores them, and what was read is turned upright.
    """

    hashed = "file"

    def __init__(self, file: OpenedFile, layout: Layout, orientation: int) -> None:
        self.file, self.layout = file, layout
        self.turn = Turn(orientation, layout.width, layout.height)
        self.width, self.height = self.turn.upright_size
        self.scattered = layout.scattered

    def __reduce__(self) -> tuple[Callable[[OpenedFile], LargeSource], tuple[OpenedFile]]:
        return _reopen, (self.file,)

    @cached_property
    def sha256(self) -> str:  # type: ignore[override]
        return self.file.sha256()

    def info(self) -> ImageInfo:
        return ImageInfo(self.file, "file", self.width, self.height)

    @property
    def identity(self) -> str:
        return self.file.key

    def gather(self, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
        out = np.empty((*self.turn.turn_size((len(rows), len(cols))), 3), np.uint8)
        if not out.size:
            return out.reshape(len(rows), len(cols), 3)
        rows, cols = self.turn.find_stored_crossing(rows, cols)
        level = self.layout.level(1)
        first, width = int(cols[0]), int(cols[-1] - cols[0]) + 1
        at = 0
        while at < len(rows):  # one row of tiles at a time
            top = int(rows[at])
            until = int(np.searchsorted(rows, (top // level.block + 1) * level.block))
            lines = level.read(first, top, width, int(rows[until - 1]) - top + 1)
            out[at:until] = lines[rows[at:until] - top][:, cols - first]
            at = until
        return self.turn.turn_upright(out)

    def resized(self, box: tuple[int, int, int, int], size: tuple[int, int]) -> np.ndarray:
        factor = choose_factor(self.layout.factors, box, size)
        level, (x0, y0, x1, y1) = self.layout.level(factor), self.turn.find_stored_box(box)
        if factor == 1 and (x1 - x0) * (y1 - y0) <= _AT_ONCE:
            cut = self.turn.turn_upright(level.read(x0, y0, x1 - x0, y1 - y0))
            return resize_cut(np.ascontiguousarray(cut), size)
        shrunk = min(size[0], box[2] - box[0]), min(size[1], box[3] - box[1])
        pixels = self.turn.turn_upright(average_level(level, (x0, y0, x1, y1), self.turn.turn_size(shrunk)))
        return resize_cut(np.ascontiguousarray(pixels), size)

    def ready(self, box: tuple[int, int, int, int], size: tuple[int, int]) -> None:
        self.layout.level(choose_factor(self.layout.factors, box, size))

    @property
    def held(self) -> int:
        return self.layout.held

    def pixels_read(self, box: tuple[int, int, int, int], size: tuple[int, int]) -> int:
        rows, cols = find_touched(self.turn.find_stored_box(box), choose_factor(self.layout.factors, box, size))
        return (rows.stop - rows.start) * (cols.stop - cols.start)


def _open_large(file: OpenedFile) -> LargeSource | None:
    found = find_layout(file)
    return None if found is None else LargeSource(file, found[0](file.key), found[1])


def _reopen(file: OpenedFile) -> LargeSource:
    """Open the same file again, in another process."""
    file.check()
    source = _open_large(file)
    assert source is not None  # it was opened before
    return source


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
        return ArraySource(tensor_to_rgb(image))
    raise TNetError(
        "An image must be a path, bytes, a Pillow image, an (H, W, 3) uint8 array or a (3, H, W) tensor, "
        f"not {type(image).__name__}."
    )


def _is_consecutive(indices: np.ndarray) -> bool:
    return len(indices) > 0 and bool(indices[-1] - indices[0] + 1 == len(indices))


def _from_file(path: Path) -> ImageSource:
    try:
        status = path.stat()
        if not path.is_file():
            raise TNetError(f"'{path}' is not a file.")
        if (large := _open_large(OpenedFile.of(path, status))) is not None:
            return large
        if status.st_size > MAX_FILE_BYTES:
            raise TNetError(
                f"'{path.name}' has {status.st_size / 2**20:.0f} MB; at most {MAX_FILE_BYTES // 2**20} are read."
            )
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
