"""The images of a run: the pictures below a folder, or the lines of a list."""

from __future__ import annotations

import csv
import hashlib
import io
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tnet_core.errors import TNetError, reason
from tnet_core.imageio.decode import SUFFIXES
from tnet_core.schemas.files import read_bounded

MAX_LIST_BYTES = 1 << 30


@dataclass(frozen=True, slots=True)
class ListedImage:
    """One image to look at: its name relative to `root`, and the name of its class where one is given."""

    name: str
    label: str | None = None


@dataclass(frozen=True)
class ImageList:
    """Images in a fixed order, which all processes of a run share."""

    root: Path
    images: tuple[ListedImage, ...]

    def digest(self) -> str:
        """Return the sha256 of all names and classes: two runs with the same one have the same images."""
        found = hashlib.sha256()
        for image in self.images:
            found.update(os.fsencode(image.name) + b"\0" + os.fsencode(image.label or "") + b"\0")
        return found.hexdigest()


def list_images(source: Path) -> ImageList:
    """Return the images of a folder, of a text file with a path per line, or of a CSV file with `file` and `label`."""
    try:
        is_folder, is_file = source.is_dir(), source.is_file()
    except (OSError, ValueError) as error:
        raise TNetError(f"Cannot read '{source}': {reason(error)}.") from None
    if is_folder:
        found = ImageList(source, tuple(_list_folder(source)))
        if not found.images:
            raise TNetError(f"There is no image in the folder '{source}' or below it.")
        return found
    if not is_file:
        raise TNetError(f"There is no folder or list '{source}'.")
    images = _read_list(source)
    if not images:
        raise TNetError(f"The list '{source}' names no image.")
    return ImageList(source.parent, images)


def _list_folder(root: Path) -> Iterator[ListedImage]:
    """Yield the pictures below a folder by name; the folder directly below the root names the class."""

    def refuse(error: OSError) -> None:
        raise TNetError(f"Cannot list '{error.filename}': {reason(error)}.") from None

    for folder, below, files in os.walk(root, onerror=refuse):
        below[:] = sorted(name for name in below if not name.startswith("."))
        inside = Path(folder).relative_to(root)
        label = inside.parts[0] if inside.parts else None
        for name in sorted(files):
            if not name.startswith(".") and Path(name).suffix.lower() in SUFFIXES:
                yield ListedImage(str(inside / name), label)


def _read_list(path: Path) -> tuple[ListedImage, ...]:
    data = read_bounded(path, MAX_LIST_BYTES)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise TNetError(f"The list '{path}' is not UTF-8 text.") from None
    if path.suffix.lower() != ".csv":
        return tuple(ListedImage(name) for line in text.split("\n") if (name := line.rstrip("\r")))
    try:
        rows = list(csv.DictReader(io.StringIO(text, newline=""), strict=True))
    except csv.Error as error:
        raise TNetError(f"The list '{path}' is not a CSV file: {error}.") from None
    if rows and "file" not in rows[0]:
        raise TNetError(f"The list '{path}' has no column 'file'; its first line names the columns: file,label.")
    return tuple(ListedImage(row["file"], row.get("label") or None) for row in rows if row["file"])


def match_label(label: str | None, class_names: Sequence[str]) -> int | None:
    """Return the class with this name, also where case, a number in front or underscores differ; None if unclear."""
    if label is None:
        return None
    if label in class_names:
        return class_names.index(label)
    near = [number for number, name in enumerate(class_names) if _simplify(name) == _simplify(label)]
    return near[0] if len(near) == 1 else None


def _simplify(name: str) -> str:
    without_number = re.sub(r"^\d+[.\s_-]+(?=\D)", "", name.strip())
    return re.sub(r"[\s_-]+", " ", without_number).strip().casefold()
