"""Folders packed as zips."""

from __future__ import annotations

import zipfile
from pathlib import Path


def zipped(folder: Path, file: Path) -> Path:
    """Everything in a folder, the folder itself in front of it."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as packed:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                packed.write(path, f"{folder.name}/{path.relative_to(folder).as_posix()}")
    return file
