"""Pictures that were brought, kept open: the next question about one of them need not decode it again."""

from __future__ import annotations

import threading
from collections import OrderedDict
from pathlib import Path

import tnet_core as tn

PICTURE_GONE = "This picture is not here any more: choose or upload it again."
MAX_OPEN_BYTES = 512 << 20  # one of the largest kind that is decoded whole fits
MAX_OPEN_FILES = 3  # those that are read in parts hold little more than rows of tiles and open files

_Key = tuple[str, int, int, int, int]


class OpenImages:
    """Image sources by file, as long as the file stays as it is; the one used last at the end."""

    def __init__(self) -> None:
        self._sources: OrderedDict[_Key, tn.ImageSource] = OrderedDict()
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
            source = self._sources.pop(key, None)
            if source is not None:
                self._sources[key] = source
                return source
        source = tn.ImageSource.open(path, most_pixels=most_pixels)
        with self._lock:
            self._sources[key] = source
            while (
                len(self._sources) > MAX_OPEN_FILES
                or sum(source.held for source in self._sources.values()) > MAX_OPEN_BYTES
            ):
                self._sources.popitem(last=False)
        return source


def _key(path: Path) -> _Key:
    status = path.stat()
    return str(path), status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns
