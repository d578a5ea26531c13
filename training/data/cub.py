"""CUB-200-2011: the official layout, or plain class folders.

Class names come from the folders by a rule that can be undone: the number before the dot is the label plus one;
an underscore before a lower-case letter stands for a hyphen, any other for a space
('001.Black_footed_Albatross' -> 'Black-footed Albatross').
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from tnet_core.errors import TNetError
from training.data.files import FileDataset
from training.data.folders import open_class_folders
from training.data.listed import open_listed
from training.data.listing import is_file
from training.data.splits import Which, root_folder
from training.recipes.recipe import DataSection

NAME = "CUB-200-2011"


def open_cub(data: DataSection, which: Which) -> FileDataset:
    if is_file(root_folder(data) / "images.txt"):
        return open_listed(
            data,
            which,
            NAME,
            order=lambda classes, _seen: sorted(classes, key=_number),
            readable=lambda names: readable_names(tuple(names.values())),
        )
    return open_class_folders(data, which, NAME, readable_names)


def readable_names(folders: Sequence[str]) -> tuple[str, ...]:
    return tuple(re.sub("_(?=[a-z])", "-", re.sub(r"^\d+\.", "", folder)).replace("_", " ") for folder in folders)


def _number(class_id: str) -> int:
    if not class_id.isdigit():
        raise TNetError(f"classes.txt of {NAME} must number its classes, and '{class_id}' is no number.")
    return int(class_id)
