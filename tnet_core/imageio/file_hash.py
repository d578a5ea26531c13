"""A file as it was when it was opened, and its sha256 when somebody asks for it.

Hashing reads every byte, which is the only cost of a pyramidal file that grows with its size, and no
look needs it. So a large file is told by its place and status, and hashed when a trace is written,
compared or replayed: once per process, and only while the file is still the one that was opened.
"""

from __future__ import annotations

import hashlib
import os
import threading
from dataclasses import dataclass
from pathlib import Path

from tnet_core.errors import TNetError


@dataclass(frozen=True)
class OpenedFile:
    """Equal for the same file, unchanged; small and without an open file, so that it can outlive its picture."""

    path: Path  # absolute
    device: int
    inode: int
    size: int  # bytes
    modified: int  # nanoseconds
    changed: int  # nanoseconds, of the status too

    @staticmethod
    def of(path: Path, status: os.stat_result) -> OpenedFile:
        where, when = (status.st_dev, status.st_ino), (status.st_mtime_ns, status.st_ctime_ns)
        return OpenedFile(path.absolute(), *where, status.st_size, *when)

    @property
    def key(self) -> str:
        """What is built from this file is kept by this, in this process."""
        return f"{self.device}-{self.inode}-{self.size}-{self.modified}-{self.changed}-{self.path}"

    @property
    def known_sha256(self) -> str | None:
        """The hash, if it was taken in this process already."""
        return _KNOWN.get(self)

    def sha256(self) -> str:
        """64 hexadecimal digits; whoever asks while it is being taken waits for it."""
        try:
            with _lock_of(self):
                found = _KNOWN.get(self)
                return self._remember(self._hashed()) if found is None else found
        finally:
            with _LOCK:
                _TAKING.pop(self, None)  # who waits has the lock already, who comes later finds the hash

    def check(self) -> None:
        """Refuse a file that is not the one that was opened any more."""
        try:
            self._compare(self.path.stat())
        except OSError as error:
            raise self._unreadable(error) from None

    def _hashed(self) -> str:
        try:
            with self.path.open("rb") as file:
                self._compare(os.fstat(file.fileno()))
                found = hashlib.file_digest(file, "sha256").hexdigest()
                self._compare(os.fstat(file.fileno()))  # it may have been written to meanwhile
        except OSError as error:
            raise self._unreadable(error) from None
        return found

    def _remember(self, sha256: str) -> str:
        with _LOCK:
            while len(_KNOWN) >= _MOST:
                del _KNOWN[next(iter(_KNOWN))]
            _KNOWN[self] = sha256
        return sha256

    def _compare(self, status: os.stat_result) -> None:
        if OpenedFile.of(self.path, status) != self:
            raise TNetError(
                f"'{self.path.name}' changed after it was opened and cannot be told by its sha256 any more: open it "
                "again and repeat what was done with it."
            )

    def _unreadable(self, error: OSError) -> TNetError:
        return TNetError(
            f"'{self.path.name}' cannot be read any more ({error.strerror}), as its sha256 needs: open it again from "
            "where it is now."
        )


_KNOWN: dict[OpenedFile, str] = {}
_MOST = 256
_TAKING: dict[OpenedFile, threading.Lock] = {}
_LOCK = threading.Lock()


def _lock_of(file: OpenedFile) -> threading.Lock:
    with _LOCK:
        return _TAKING.setdefault(file, threading.Lock())
