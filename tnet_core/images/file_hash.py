"""sha256 of a file, read in pieces, and computed once while the file stays as it is.

A huge file costs a second per some hundred megabytes. The trace needs it to recognise its picture,
so it is never left out; but the same file opened again in the same process is not read again.
"""

from __future__ import annotations

import hashlib
import os
import threading
from pathlib import Path

_KNOWN: dict[tuple[str, int, int, int, int, int], str] = {}
_MOST = 256
_LOCK = threading.Lock()


def file_sha256(path: Path) -> str:
    """64 hexadecimal digits; raises OSError."""
    with path.open("rb") as file:
        seen = _fingerprint(path, os.fstat(file.fileno()))
        known = _KNOWN.get(seen)
        if known is not None:
            return known
        found = hashlib.file_digest(file, "sha256").hexdigest()
        if _fingerprint(path, os.fstat(file.fileno())) != seen:
            raise OSError(None, "it changed while it was read")
    with _LOCK:
        while len(_KNOWN) >= _MOST:
            del _KNOWN[next(iter(_KNOWN))]
        _KNOWN[seen] = found
    return found


def _fingerprint(path: Path, status: os.stat_result) -> tuple[str, int, int, int, int, int]:
    changed = status.st_mtime_ns, status.st_ctime_ns
    return (str(path.absolute()), status.st_dev, status.st_ino, status.st_size, *changed)
