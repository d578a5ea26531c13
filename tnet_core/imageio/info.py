"""`ImageInfo`: what a trace remembers of its image; and the file as it was opened, hashed when somebody asks for it.

Hashing reads every byte, which is the only cost of a pyramidal file that grows with its size, and no
look needs it. So a large file is told by its place and status, and hashed when a trace is written,
compared or replayed: once per process, and only while the file is still the one that was opened.
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cachetools import LRUCache, cached

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
        """The key of caches in this process: it changes with the file."""
        return f"{self.device}-{self.inode}-{self.size}-{self.modified}-{self.changed}-{self.path}"

    @property
    def known_sha256(self) -> str | None:
        """The hash, if it was taken in this process already."""
        with _TURN:
            return _HASHES.get(self)

    def sha256(self) -> str:
        """Return 64 hexadecimal digits; whoever asks while the hash is being taken waits for it."""
        return _hash_file(self)

    def check(self) -> None:
        """Refuse a file that is not the one that was opened any more."""
        try:
            self.check_status(self.path.stat())
        except OSError as error:
            raise self.explain_unreadable(error) from None

    def check_status(self, status: os.stat_result) -> None:
        if OpenedFile.of(self.path, status) != self:
            raise TNetError(
                f"'{self.path.name}' changed after it was opened and cannot be told by its sha256 any more: open it "
                "again and repeat what was done with it."
            )

    def explain_unreadable(self, error: OSError) -> TNetError:
        return TNetError(
            f"'{self.path.name}' cannot be read any more ({error.strerror}), as its sha256 needs: open it again from "
            "where it is now."
        )


_HASHES: LRUCache[OpenedFile, str] = LRUCache(maxsize=256)
_TURN = threading.Condition()


@cached(_HASHES, key=lambda file: file, condition=_TURN)
def _hash_file(opened: OpenedFile) -> str:
    try:
        with opened.path.open("rb") as file:
            opened.check_status(os.fstat(file.fileno()))
            found = hashlib.file_digest(file, "sha256").hexdigest()
            opened.check_status(os.fstat(file.fileno()))  # it may have been written to meanwhile
    except OSError as error:
        raise opened.explain_unreadable(error) from None
    return found


@dataclass(frozen=True)
class ImageInfo:
    """The identity of an image, never its pixels. Two records are equal if they say the same; see `is_same` for images.

    Of a large file the hash is taken when `sha256` is first read, so that a traversal costs no more than its looks.
    Writing and pickling ask for it; comparing with ==, deep copies and printing read no file.
    """

    content: str | OpenedFile  # the sha256, or the file whose hash may not be taken yet
    hashed: str  # what the hash is of: "file" or "pixels"
    width: int
    height: int

    @property
    def sha256(self) -> str:
        """64 hexadecimal digits; of a large file that nobody has hashed yet this reads all of it."""
        return self.content if isinstance(self.content, str) else self.content.sha256()

    @property
    def known_sha256(self) -> str | None:
        """The hash where it costs nothing: None for a large file that nobody has hashed yet."""
        return self.content if isinstance(self.content, str) else self.content.known_sha256

    def is_same(self, other: ImageInfo) -> bool:
        """Tell whether both are the same image; takes hashes where nothing else tells."""
        if self == other:
            return True
        sizes = {file.size for file in (self.content, other.content) if isinstance(file, OpenedFile)}
        forms = {(info.hashed, info.width, info.height) for info in (self, other)}
        return len(sizes) < 2 and len(forms) == 1 and self.sha256 == other.sha256

    def __deepcopy__(self, _: Any) -> ImageInfo:
        return self  # nothing in it changes

    def __reduce__(self) -> tuple[Callable[..., ImageInfo], tuple[str, str, int, int]]:
        """Pickle it with its hash: the file may not be at hand where this arrives."""
        return ImageInfo, (self.sha256, self.hashed, self.width, self.height)
