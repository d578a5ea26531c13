"""NABirds: the official layout. Labels count classes as images.txt reaches them, as the official code does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from training.data.files import FileDataset
from training.data.listed import open_listed
from training.data.splits import Which
from training.recipes.recipe import DataSection

NAME = "NABirds"


def open_nabirds(data: DataSection, which: Which) -> FileDataset:
    return open_listed(
        data, which, NAME, order=lambda _classes, seen: tuple(dict.fromkeys(seen)), readable=unique_names
    )


def unique_names(names: Mapping[str, str]) -> tuple[str, ...]:
    """The names, by class id; those that several classes share are told apart by the id."""
    times = Counter(names.values())
    return tuple(name if times[name] == 1 else f"{name} (class {class_id})" for class_id, name in names.items())
