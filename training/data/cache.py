"""A memory-mapped file of decoded images, so that an epoch does not decode them again.

Layout: the pixels of all images, one after another; an int64 table (offset, height, width, and height
and width of the image file) per image; the number of images and a mark that ends the file. It is written
beside its final name and renamed when complete, under a lock, so that several processes may ask for it
at once and an interrupted or failed attempt leaves nothing that could be mistaken for a cache.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import BinaryIO, Protocol

import numpy as np
from tqdm import tqdm

from tnet_core.errors import TNetError
from tnet_core.schemas.files import expand_home

MARK = b"tnet-pixels-v01\n"
ROW_BYTES = 5 * 8  # bytes of the table per image
TAIL_BYTES = len(MARK) + 8
CHUNK = 64  # images decoded ahead of writing


class Decodable(Protocol):
    name: str
    split: str

    def __len__(self) -> int: ...

    def read_pixels(self, index: int) -> tuple[np.ndarray, tuple[int, int]]: ...

    def describe_pixels(self, index: int) -> str: ...


class PixelCache:
    """Indexable like `dataset.read_pixels`; images are read-only views of the file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._table, self._pixels = _map_file(path)

    def __len__(self) -> int:
        return len(self._table)

    def __getitem__(self, index: int) -> tuple[np.ndarray, tuple[int, int]]:
        offset, height, width, full_height, full_width = (int(value) for value in self._table[index])
        image = self._pixels[offset : offset + height * width * 3].reshape(height, width, 3)
        return image, (full_height, full_width)

    def __reduce__(self) -> tuple[type[PixelCache], tuple[Path]]:
        return PixelCache, (self.path,)  # another process maps the file anew instead of receiving its bytes


def open_pixel_cache(dataset: Decodable, folder: Path | str, *, progress: bool = True) -> PixelCache:
    """Return the cache of a data set in `folder`, built now if it is not there or belongs to other files."""
    folder = expand_home(folder)
    label = "".join(c if c.isalnum() else "-" for c in f"{dataset.name}-{dataset.split}".lower())
    path = folder / f"{label}-{_make_fingerprint(dataset)}.pixels"
    if _is_complete(path, len(dataset)):
        return PixelCache(path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with _open_as_sole_writer(path, len(dataset)) as file:
            if file is not None:
                _write(dataset, file, progress)
    except OSError as error:
        raise TNetError(
            f"The cache of decoded images cannot be written to {folder} ({error.strerror or error}); make room there, "
            "choose another folder with data.cache=FOLDER, or train without a cache (data.cache=null)."
        ) from None
    return PixelCache(path)


def _make_fingerprint(dataset: Decodable) -> str:
    digest = hashlib.sha256(MARK)
    for index in range(len(dataset)):
        digest.update(dataset.describe_pixels(index).encode() + b"\n")
    return digest.hexdigest()[:16]


@contextlib.contextmanager
def _open_as_sole_writer(path: Path, count: int) -> Iterator[BinaryIO | None]:
    """Yield an empty file that becomes `path` when the block ends well, or None if another process was first.

    The lock is held on the unfinished file itself. Who waited for it finds that the file was renamed
    (then the cache is there) or removed (then it is their turn).
    """
    partial = path.with_suffix(".partial")
    while True:
        with open(os.open(partial, os.O_RDWR | os.O_CREAT, 0o644), "r+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            try:
                ours = os.path.samestat(os.fstat(file.fileno()), partial.stat())
            except FileNotFoundError:
                ours = False
            if not ours and not _is_complete(path, count):
                continue
            if _is_complete(path, count):
                if ours:
                    partial.unlink()
                yield None
                return
            try:
                file.truncate()  # what a killed process left
                yield file
                file.flush()
                os.fsync(file.fileno())
                partial.replace(path)
            except BaseException:
                partial.unlink(missing_ok=True)
                raise
            return


def _write(dataset: Decodable, file: BinaryIO, progress: bool) -> None:
    table = np.zeros((len(dataset), 5), np.int64)
    offset = 0
    title = f"Decoding {dataset.name} ({dataset.split}) once"
    with (
        ThreadPoolExecutor(os.cpu_count() or 1) as pool,
        tqdm(total=len(dataset), desc=title, unit="image", disable=None if progress else True) as bar,
    ):
        for start in range(0, len(dataset), CHUNK):
            indices = range(start, min(start + CHUNK, len(dataset)))
            for index, (image, full) in zip(indices, pool.map(dataset.read_pixels, indices), strict=True):
                table[index] = (offset, *image.shape[:2], *full)
                file.write(np.ascontiguousarray(image).data)
                offset += image.size
                bar.update()
    file.write(bytes(-offset % 8))
    file.write(table.tobytes())
    file.write(len(dataset).to_bytes(8, "little") + MARK)


def _is_complete(path: Path, count: int) -> bool:
    if not path.is_file():
        return False
    size = path.stat().st_size
    with path.open("rb") as file:
        file.seek(max(size - TAIL_BYTES, 0))
        return size >= TAIL_BYTES + ROW_BYTES * count and file.read() == count.to_bytes(8, "little") + MARK


def _map_file(path: Path) -> tuple[np.ndarray, np.ndarray]:
    try:
        whole = np.memmap(path, np.uint8, "r")
    except (OSError, ValueError) as error:
        raise TNetError(f"The cache {path} cannot be opened ({error}); remove it and start again.") from None
    count = int.from_bytes(whole[-TAIL_BYTES : -len(MARK)].tobytes(), "little")
    end = len(whole) - TAIL_BYTES
    start = end - ROW_BYTES * count
    if bytes(whole[-len(MARK) :]) != MARK or start < 0:
        raise TNetError(f"The cache {path} is damaged; remove it and start again.")
    # a plain array over the map: indexing it costs less than indexing a memmap
    return whole[start:end].view(np.int64).reshape(count, 5), np.asarray(whole)
