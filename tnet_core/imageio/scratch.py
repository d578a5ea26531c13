"""A temporary folder of this process for what large pictures need beside their files: bounded, removed at the end.

It is kept by the picture's file, as that was when it was opened, and holds `MAX_SCRATCH_BYTES` at most: what
was not used for longest goes first (who has its files open may go on reading). What is held are folders: their size is
counted while they grow, and they may vanish by other hands, which no cache of Python values expects.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import shutil
import tempfile
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from pathlib import Path

from tnet_core.errors import TNetError

MAX_SCRATCH_BYTES = 8 << 30
SPARE_BYTES = 512 << 20  # left free on the disk
_PREFIX = "tnet-levels-"


@contextlib.contextmanager
def open_folder(key: str, size: int, write: Callable[[Path], None]) -> Iterator[Path]:
    """Yield the folder of a key, filled by `write` with `size` bytes if new; open its files before leaving."""
    with _get_lock(key):  # who asks for the same at the same time waits for the first
        known = _CACHE.get(key)
        yield _CACHE.put(key, size, write) if known is None else known


class _FolderCache:
    """Folders by key, the one used last at the end."""

    def __init__(self) -> None:
        self._folders: OrderedDict[str, tuple[Path, int]] = OrderedDict()
        self._root: Path | None = None
        self._lock = threading.Lock()

    def get(self, key: str) -> Path | None:
        with self._lock:
            if key not in self._folders or not self._folders[key][0].is_dir():
                self._folders.pop(key, None)
                return None
            self._folders.move_to_end(key)
            return self._folders[key][0]

    def put(self, key: str, size: int, write: Callable[[Path], None]) -> Path:
        with self._lock:
            folder = Path(tempfile.mkdtemp(dir=self._home()))
            self._make_room(size)
            self._folders[key] = folder, size  # counted while it grows
        try:
            write(folder)
        except BaseException as error:
            with self._lock:
                self._folders.pop(key, None)
            shutil.rmtree(folder, ignore_errors=True)
            if isinstance(error, OSError):
                raise TNetError(f"Temporary files cannot be written ({error.strerror}).") from None
            raise
        return folder

    def _home(self) -> Path:
        if self._root is None or not self._root.is_dir():
            _remove_orphans()
            self._root = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-"))
            atexit.register(_remove, self._root, os.getpid())
        return self._root

    def _make_room(self, size: int) -> None:
        if size > MAX_SCRATCH_BYTES:
            raise TNetError(
                f"This picture needs {size / 2**30:.1f} GB of temporary files; {MAX_SCRATCH_BYTES >> 30} are allowed."
            )
        while self._folders and sum(held for _, held in self._folders.values()) + size > MAX_SCRATCH_BYTES:
            _, (oldest, _) = self._folders.popitem(last=False)
            shutil.rmtree(oldest, ignore_errors=True)
        free = shutil.disk_usage(self._home()).free
        if free < size + SPARE_BYTES:
            raise TNetError(
                f"This picture needs {size / 2**30:.1f} GB of temporary files, but only {free / 2**30:.1f} GB are free."
            )


def _remove(folder: Path, owner: int) -> None:
    if os.getpid() == owner:  # a forked process leaves its parent's files alone
        shutil.rmtree(folder, ignore_errors=True)


def _remove_orphans() -> None:
    """Remove what processes that were killed have left behind."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        owner = folder.name.removeprefix(_PREFIX).partition("-")[0]
        with contextlib.suppress(OSError):
            if owner.isdecimal() and folder.stat().st_uid == os.getuid() and not _is_alive(int(owner)):
                shutil.rmtree(folder, ignore_errors=True)


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True  # somebody else's
    return True


_CACHE = _FolderCache()
_LOCKS: dict[str, threading.Lock] = {}
_LOCKS_LOCK = threading.Lock()


def _get_lock(key: str) -> threading.Lock:
    with _LOCKS_LOCK:
        return _LOCKS.setdefault(key, threading.Lock())
