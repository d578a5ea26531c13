"""Pictures that visitors brought: the folder of uploads, which forgets old files, and pictures that stay open."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from cachetools import Cache, LRUCache

import tnet_core as tn


@contextmanager
def open_upload_folder(keep_seconds: float, every_seconds: float) -> Iterator[Path]:
    """Make a folder that is Gradio's folder for uploads inside this context, and keep it free of old files.

    Gradio itself forgets files of uploads that were cut off.
    """
    folder = Path(tempfile.mkdtemp(prefix="tnet-explorer-"))
    before = os.environ.get("GRADIO_TEMP_DIR")
    os.environ["GRADIO_TEMP_DIR"] = str(folder)
    over = threading.Event()

    def sweep() -> None:
        while not over.wait(every_seconds):
            remove_old_files(folder, keep_seconds)

    def end(number: int, _: object) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        signal.signal(number, signal.SIG_DFL)
        signal.raise_signal(number)

    threading.Thread(target=sweep, daemon=True).start()
    former = signal.signal(signal.SIGTERM, end)  # how hosts end a process: no `finally` runs then
    try:
        yield folder
    finally:
        over.set()
        signal.signal(signal.SIGTERM, former)
        if before is None:
            del os.environ["GRADIO_TEMP_DIR"]
        else:
            os.environ["GRADIO_TEMP_DIR"] = before
        shutil.rmtree(folder, ignore_errors=True)


def remove_old_files(folder: Path, keep_seconds: float) -> None:
    """Remove files that were not written to for so long, and folders that are empty as long."""
    oldest = time.time() - keep_seconds
    for path in sorted(folder.rglob("*"), reverse=True):  # what lies in a folder before the folder
        with suppress(OSError):  # somebody else was faster, or something came into the folder
            if path.lstat().st_mtime < oldest:
                path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()


PICTURE_GONE = "This picture is not here any more: choose or upload it again."
MAX_OPEN_BYTES = 512 << 20  # one of the largest kind that is decoded whole fits
MAX_OPEN_FILES = 3  # those that are read in parts hold little more than rows of tiles and open files

_Key = tuple[str, int, int, int, int]


class OpenImages:
    """Image sources by file, as long as the file stays as it is."""

    def __init__(self) -> None:
        self._sources: LRUCache[_Key, tn.ImageSource] = LRUCache(MAX_OPEN_FILES)
        self._lock = threading.Lock()

    def open(self, path: Path, most_pixels: int | None) -> tn.ImageSource:
        """Return the picture of a file. Nobody waits for what another one is opening."""
        try:
            key = _key(path)
            if not path.is_file():
                raise FileNotFoundError
        except (OSError, ValueError):
            raise tn.TNetError(PICTURE_GONE) from None
        with self._lock:
            source = self._sources.get(key)
        if source is not None:
            return source
        source = tn.ImageSource.open(path, most_pixels=most_pixels)
        with self._lock:
            self._sources[key] = source
            while self._count_bytes() > MAX_OPEN_BYTES:
                self._sources.popitem()  # the one that was not used for longest
        return source

    def _count_bytes(self) -> int:
        """Return what all hold now, which grows while they are read; asking for it here is no use of them."""
        return sum(Cache.__getitem__(self._sources, key).held for key in self._sources)


def _key(path: Path) -> _Key:
    status = path.stat()
    return str(path), status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns
