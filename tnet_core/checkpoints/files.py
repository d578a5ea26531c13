"""The files a checkpoint may consist of, and bounded reading and atomic writing of them."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable
from pathlib import Path

from tnet_core.errors import TNetError

CONFIG_FILE = "config.json"
TENSOR_FILE = "model.safetensors"
EVALUATION_FILE = "evaluation.json"
README_FILE = "README.md"
REQUIRED_FILES = (CONFIG_FILE, TENSOR_FILE)
FORMAT_FILES = (CONFIG_FILE, TENSOR_FILE, EVALUATION_FILE, README_FILE)

# Nothing larger is read or downloaded.
MAX_BYTES = {CONFIG_FILE: 16 << 20, TENSOR_FILE: 8 << 30, EVALUATION_FILE: 16 << 20, README_FILE: 4 << 20}

_PICKLE_SUFFIXES = (".bin", ".pt", ".pth", ".ckpt", ".pkl", ".pickle")


def pickles_among(names: Iterable[str]) -> list[str]:
    """The names that are pickled weights by their suffix."""
    return sorted(name for name in names if name.lower().endswith(_PICKLE_SUFFIXES))


def read_bounded(path: Path, limit: int) -> bytes:
    """The bytes of a regular file of at most `limit` bytes."""
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise TNetError(f"'{path}' is not a file.")
        if status.st_size > limit:
            raise TNetError(f"'{path}' has {status.st_size} bytes; at most {limit} are accepted.")
        with path.open("rb") as file:
            data = file.read(limit + 1)
    except FileNotFoundError:
        raise TNetError(f"There is no file '{path}'.") from None
    except (OSError, ValueError) as error:  # ValueError: a path with a null character
        if isinstance(error, TNetError):
            raise
        raise TNetError(f"Cannot read '{path}': {reason(error)}.") from None
    if len(data) > limit:
        raise TNetError(f"'{path}' grew while it was read; at most {limit} bytes are accepted.")
    return data


def write_atomically(path: Path, write: Callable[[Path], object]) -> None:
    """Let `write` fill a temporary file beside `path`, then put it in place in one step."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        write(temporary)
        temporary.replace(path)
    except OSError as error:
        raise TNetError(f"Cannot write '{path}': {reason(error)}.") from None
    finally:
        temporary.unlink(missing_ok=True)


def reason(error: BaseException) -> str:
    """The cause of an error in a few words, on one line, without a full stop."""
    text = (error.strerror if isinstance(error, OSError) else None) or str(error) or type(error).__name__
    return text.strip().splitlines()[0][:200].rstrip(". ") if text.strip() else type(error).__name__


def readable_size(size: int) -> str:
    """'17 B', '1.2 kB', '20.4 MB', …"""
    if size < 1000:
        return f"{size} B"
    value, units = size / 1000, ["kB", "MB", "GB", "TB"]
    while value >= 1000 and len(units) > 1:
        value, units = value / 1000, units[1:]
    return f"{value:.1f} {units[0]}"
