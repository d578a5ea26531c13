"""What lies in a folder. A folder that may not be read is said, not taken for an empty one."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from tnet_core.checkpoints.files import read_bounded, reason
from tnet_core.errors import TNetError
from training.data.reading import SUFFIXES

MAX_LIST_BYTES = 64 << 20  # of a text file that lists images or classes; NABirds needs 4 MB


def is_folder(path: Path) -> bool:
    return stat.S_ISDIR(_mode(path))


def is_file(path: Path) -> bool:
    return stat.S_ISREG(_mode(path))


def _mode(path: Path) -> int:
    """The kind of what is there; 0 for nothing."""
    try:
        return path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError, ValueError):  # ValueError: a path with a null character
        return 0
    except OSError as error:
        raise TNetError(f"{path} cannot be read ({reason(error)}).") from None


def entries_of(folder: Path) -> list[os.DirEntry[str]]:
    """What is not hidden, sorted by name."""
    try:
        with os.scandir(folder) as found:
            return sorted((entry for entry in found if not entry.name.startswith(".")), key=lambda entry: entry.name)
    except OSError as error:
        raise TNetError(f"The folder {folder} cannot be read ({reason(error)}).") from None


def sub_folders(folder: Path) -> list[str]:
    """Names of the folders in it, sorted; links to folders too."""
    return [entry.name for entry in entries_of(folder) if _leads_to_folder(entry)]


def images_below(folder: Path) -> list[str]:
    """Paths relative to the folder, sorted; also from sub-folders.

    Links are followed, but no folder is entered twice, and none that the given one lies in: a link that leads
    upwards would bring the same images again and again.
    """
    above = (*folder.absolute().parents, *folder.resolve().parents)
    seen = {_id(place) for place in above} - {None}
    found: list[str] = []
    pending = [""]
    while pending:
        below = pending.pop()
        identity = _id(folder / below)
        if identity in seen:
            continue
        if identity is not None:
            seen.add(identity)
        folders: list[os.DirEntry[str]] = []
        for entry in entries_of(folder / below):
            if _leads_to_folder(entry):
                folders.append(entry)
            elif is_image(entry.name):
                found.append(below + entry.name)
        # taken from the end: folders by name, before the links that may lead to one of them
        folders.sort(key=lambda entry: (entry.is_symlink(), entry.name), reverse=True)
        pending += [f"{below}{entry.name}/" for entry in folders]
    return sorted(found)


def is_image(file: str) -> bool:
    return not file.startswith(".") and f".{file.rpartition('.')[2].lower()}" in SUFFIXES


def read_lines(path: Path) -> list[str]:
    """The lines of a list, as text."""
    try:
        return read_bounded(path, MAX_LIST_BYTES).decode("utf-8").splitlines()
    except UnicodeDecodeError:
        raise TNetError(f"The list {path} is not text in UTF-8.") from None


def _leads_to_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError as error:
        if error.errno == errno.ELOOP:  # a link to itself
            return False
        raise TNetError(f"{entry.path} cannot be read ({reason(error)}).") from None


def _id(folder: Path) -> tuple[int, int] | None:
    try:
        status = folder.stat()
    except OSError:  # listing it will say why
        return None
    return status.st_dev, status.st_ino
