"""The files a checkpoint may consist of, and bounded reading and atomic writing of them."""

from __future__ import annotations

import contextlib
import re
import secrets
import shutil
import stat
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from tnet_core.errors import TNetError, reason
from tnet_core.schemas.text import parse_json

CONFIG_FILE = "config.json"
TENSOR_FILE = "model.safetensors"
EVALUATION_FILE = "evaluation.json"
README_FILE = "README.md"
REQUIRED_FILES = (CONFIG_FILE, TENSOR_FILE)
FORMAT_FILES = (CONFIG_FILE, TENSOR_FILE, EVALUATION_FILE, README_FILE)

# Nothing larger is read or downloaded.
MAX_BYTES = {CONFIG_FILE: 16 << 20, TENSOR_FILE: 8 << 30, EVALUATION_FILE: 16 << 20, README_FILE: 4 << 20}

_TEMPORARY_NAME = re.compile(r"\.[0-9a-f]{16}\.tmp")
_PICKLE_SUFFIXES = (".bin", ".pt", ".pth", ".ckpt", ".pkl", ".pickle")


def find_pickles(names: Iterable[str]) -> list[str]:
    """Return the names that are pickled weights by their suffix."""
    return sorted(name for name in names if name.lower().endswith(_PICKLE_SUFFIXES))


def expand_home(path: Path | str) -> Path:
    """Return the path with a home folder in place of '~'; as it is where nobody has that name or no home is known."""
    try:
        return Path(path).expanduser()
    except RuntimeError:
        return Path(path)


def read_bounded(path: Path, limit: int) -> bytes:
    """Return the bytes of a regular file of at most `limit` bytes."""
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


def read_json(path: Path, limit: int) -> Any:
    """Return the value in a JSON file of at most `limit` bytes."""
    data = read_bounded(path, limit)
    try:
        return parse_json(data)
    except TNetError as error:
        raise TNetError(f"'{path}' cannot be used: {error}") from None


def make_temporary_name() -> str:
    """Return a new name for what is being written: short, since the final name may have all bytes that fit."""
    return f".{secrets.token_hex(8)}.tmp"


def is_temporary_name(name: str) -> bool:
    """Return whether a name is one that `make_temporary_name` makes; a user's own files have others."""
    return _TEMPORARY_NAME.fullmatch(name) is not None


def write_atomically(path: Path, write: Callable[[Path], object]) -> None:
    """Let `write` fill a temporary file beside `path`, then put it in place in one step."""
    temporary = path.with_name(make_temporary_name())
    try:
        write(temporary)
        temporary.replace(path)
    except OSError as error:
        raise TNetError(f"Cannot write '{path}': {reason(error)}.") from None
    finally:
        temporary.unlink(missing_ok=True)


def is_dead_link(path: Path) -> bool:
    """Return whether a path is a symbolic link that leads nowhere: nothing is there, and yet it is somebody's."""
    return path.is_symlink() and not path.exists()


def check_new_folder(out: Path, option: str = "") -> None:
    """Refuse a place where something is already, or where no folder can be made; `option` is what names it."""
    try:
        if out.is_file() or is_dead_link(out) or (out.is_dir() and any(out.iterdir())):
            where = f" with {option}" if option else ""
            raise TNetError(f"There is something at '{out}' already; name a new folder{where}.")
        if not out.absolute().parent.is_dir():
            raise TNetError(f"There is no folder '{out.absolute().parent}' to make '{out.name}' in.")
    except OSError as error:
        raise TNetError(f"Cannot write '{out}': {reason(error)}.") from None


@contextlib.contextmanager
def temporary_folder(out: Path) -> Iterator[Path]:
    """Yield a new folder beside `out`, to be renamed to it when it is complete; nothing stays of it otherwise."""
    temporary = out.absolute().parent / make_temporary_name()
    try:
        temporary.mkdir()
        yield temporary
    except OSError as error:
        raise TNetError(f"Cannot write '{out}': {reason(error)}.") from None
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def format_size(size: int) -> str:
    """Return a size as '17 B', '1.2 kB', '20.4 MB', …"""
    if size < 1000:
        return f"{size} B"
    value, units = size / 1000, ["kB", "MB", "GB", "TB"]
    while value >= 1000 and len(units) > 1:
        value, units = value / 1000, units[1:]
    return f"{value:.1f} {units[0]}"
