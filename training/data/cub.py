"""CUB-200-2011: the official layout, or plain class folders.

Class names come from the folders by a rule that can be undone: the number before the dot is the label plus one;
an underscore before a lower-case letter stands for a hyphen, any other for a space
('001.Black_footed_Albatross' -> 'Black-footed Albatross').
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from training.data.files import FileDataset
from training.data.folders import open_class_folders
from training.data.listed import open_listed
from training.data.splits import Which, root_folder
from training.recipe import DataSection

NAME = "CUB-200-2011"


def open_cub(data: DataSection, which: Which) -> FileDataset:
    if (root_folder(data) / "images.txt").is_file():
        return open_listed(data, which, NAME, class_ids=by_number, readable=readable_names)
    return open_class_folders(data, which, NAME, readable_names)


def by_number(classes: dict[str, str], seen: Sequence[str]) -> list[str]:
    """Class ids in label order: CUB numbers its classes from 1."""
    return sorted(classes, key=int)


def readable_names(folders: Sequence[str]) -> tuple[str, ...]:
    return tuple(_readable(folder) for folder in folders)


def _readable(folder: str) -> str:
    return re.sub("_(?=[a-z])", "-", re.sub(r"^\d+\.", "", folder)).replace("_", " ")
