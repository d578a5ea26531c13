"""sha256 of files, and a memory of files that were found good so that each is hashed once.

The memory is one small JSON file in this project's own cache folder (`TNET_CACHE`, by default
`tnet-explorer` in the user's cache). A verdict holds for a file only while its path, size, times of
change and inode are what they were; anything else means hashing again. Losing the memory is
harmless, so it never raises.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import time
from pathlib import Path
from typing import Any

from tnet_core.errors import TNetError, reason
from tnet_core.schemas.files import expand_home, read_json, write_atomically
from tnet_core.schemas.registry import FileDigest

_MEMORY_BYTES = 1 << 20
_MEMORY_ENTRIES = 1000
_SETTLED_NS = 100_000_000  # a file touched less than 0.1 s ago could change again within one clock tick


def cache_folder() -> Path:
    """Return the folder where this project keeps what it may lose."""
    chosen = os.environ.get("TNET_CACHE")
    if chosen:
        return expand_home(chosen)
    base = expand_home(os.environ.get("XDG_CACHE_HOME") or "~/.cache")
    if base.parts[:1] == ("~",):  # nobody has a home here, so nothing is kept
        base = Path(os.devnull)
    return base / "tnet-explorer"


def digest(path: Path, *, remembered: bool = True) -> FileDigest:
    """Return sha256 and size of a file; a remembered verdict saves the hashing."""
    try:
        with path.open("rb") as file:
            status = os.fstat(file.fileno())
            if remembered and (known := _recall(path, status)) is not None:
                return FileDigest(known, status.st_size)
            found = hashlib.file_digest(file, "sha256").hexdigest()
            unchanged = _make_fingerprint(os.fstat(file.fileno())) == _make_fingerprint(status)
    except OSError as error:
        raise TNetError(f"Cannot read '{path}': {reason(error)}.") from None
    if not unchanged:
        raise TNetError(f"'{path}' changed while it was checked; try again.")
    return FileDigest(found, status.st_size)


def is_remembered(path: Path) -> bool:
    """Tell whether the file is exactly what it was when it was last found good."""
    try:
        return _recall(path, path.stat()) is not None
    except OSError:
        return False


def remember(path: Path, sha256: str, *, patiently: bool = False) -> None:
    """Note that the file, as it is now, was found good; patiently means also if it is brand new."""
    try:
        status = path.stat()
        missing = _SETTLED_NS - (time.time_ns() - max(status.st_mtime_ns, status.st_ctime_ns))
        if missing > 0:
            if not patiently:
                return
            time.sleep(min(missing, _SETTLED_NS) / 1e9)
            if _make_fingerprint(path.stat()) != _make_fingerprint(status):
                return
        record = [*_make_fingerprint(status), sha256]
        memory = _read_memory()
        if memory.get(_make_key(path)) == record:
            return
        memory.pop(_make_key(path), None)
        memory[_make_key(path)] = record
        kept = dict(list(memory.items())[-_MEMORY_ENTRIES:])
        target = _memory_path()
        target.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(target, lambda temporary: temporary.write_text(json.dumps(kept), encoding="utf-8"))
    except (OSError, TNetError):
        return


def check_digest(path: Path, expected: FileDigest, *, remembered: bool = True) -> str | None:
    """Return what is wrong with a file, None if it is what it must be."""
    try:
        size = path.stat().st_size
    except OSError as error:
        return f"'{path.name}' cannot be read ({reason(error)})"
    if size != expected.size:  # cheap, so it comes first
        return f"'{path.name}' has {size} bytes instead of {expected.size}"
    found = digest(path, remembered=remembered)
    if found.sha256 != expected.sha256:
        return f"'{path.name}' has sha256 {found.sha256} instead of {expected.sha256}"
    remember(path, found.sha256)
    return None


def matches_etag(path: Path, sha256: str, etag: str) -> bool | None:
    """Compare a file with the Hub's own name for its content; None if that name is not a hash.

    Large files are named by their sha256. Small ones carry git's blob id, and some mirrors use the
    plain SHA-1 of the content.
    """
    if re.fullmatch(r"[0-9a-f]{64}", etag):
        return sha256 == etag
    if re.fullmatch(r"[0-9a-f]{40}", etag):
        with path.open("rb") as file:
            plain = hashlib.sha1(usedforsecurity=False)
            blob = hashlib.sha1(b"blob %d\0" % os.fstat(file.fileno()).st_size, usedforsecurity=False)
            while chunk := file.read(1 << 20):
                plain.update(chunk)
                blob.update(chunk)
        return etag in (plain.hexdigest(), blob.hexdigest())
    return None


def _memory_path() -> Path:
    return cache_folder() / "verdicts.json"


def _read_memory() -> dict[str, Any]:
    try:
        found = read_json(_memory_path(), _MEMORY_BYTES)
    except TNetError:
        return {}
    return found if isinstance(found, dict) else {}


def _make_key(path: Path) -> str:
    return os.path.realpath(path)


def _make_fingerprint(status: os.stat_result) -> list[int]:
    return [status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino]


def _recall(path: Path, status: os.stat_result) -> str | None:
    record = _read_memory().get(_make_key(path))
    if isinstance(record, list) and len(record) == 5 and record[:4] == _make_fingerprint(status):
        sha256 = record[4]
        if isinstance(sha256, str) and re.fullmatch(r"[0-9a-f]{64}", sha256):
            return sha256
    return None
