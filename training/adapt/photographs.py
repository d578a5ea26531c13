"""Folders of photographs, with or without labels, divided once and for all into those to learn from and the rest."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path

from tnet_core.errors import TNetError
from training.adapt.classes import Classes
from training.adapt.options import AdaptOptions, Labels
from training.data.dataset import Entry, FileDataset, held_out
from training.data.reading import images_below, is_folder
from training.evaluation.stream import spread

TRAIN, HELD_OUT = "train", "held-out"


@dataclass(frozen=True)
class Photographs:
    train: FileDataset
    held_out: FileDataset


def open_photographs(options: AdaptOptions, classes: Classes, count: int) -> Photographs:
    """Both sides of the division; `count` is the number of the model's classes."""
    folders = {folder: _entries(folder, options, classes) for folder in options.images}
    often = Counter(entry.name for entries in folders.values() for entry in entries)
    sides: dict[bool, list[Entry]] = {True: [], False: []}
    for number, (folder, entries) in enumerate(folders.items()):
        for kept_back in (False, True):
            # decided by its name in its own folder, whatever other folders are given
            side = [entry for entry in entries if held_out(entry.name, options.holdout) == kept_back]
            chosen = (side[i] for i in spread(len(side), options.most(number, held_out=kept_back)))
            sides[kept_back] += [
                entry if often[entry.name] == 1 else replace(entry, name=f"{_title(folder)}/{entry.name}")
                for entry in chosen
            ]
    divided = ((TRAIN, sides[False]), (HELD_OUT, sides[True]))
    for split, side in divided:
        if len(side) < 2:
            raise TNetError(
                f"Of {often.total()} images only {len(side)} belong to the part '{split}'; give more images or another "
                "--holdout."
            )
    names = classes.names or tuple(f"class {i}" for i in range(count))  # a data set names its classes
    title = " + ".join(dict.fromkeys(_title(folder) for folder in options.images))
    return Photographs(*(FileDataset(title, split, names, side) for split, side in divided))


def _entries(folder: Path, options: AdaptOptions, classes: Classes) -> list[Entry]:
    """An image's name is its path in the folder without suffix: '<class>/<file stem>' where there are classes."""
    place = folder.expanduser()
    if not is_folder(place):
        raise TNetError(f"The folder {folder} does not exist.")
    files = images_below(place)
    if not files:
        raise TNetError(f"There are no images in {folder}.")
    return [Entry(f"{place}/{file}", _label(file, options.labels, classes, folder), _stem(file)) for file in files]


def _label(file: str, labels: Labels, classes: Classes, folder: Path) -> int:
    if labels == "none":
        return 0  # replaced by the prediction
    class_folder, slash, _ = file.partition("/")
    if labels == "folders" and not slash:
        raise TNetError(f"{folder / file} lies in no class folder, which --labels folders needs.")
    try:
        return classes.label_of(class_folder) if labels == "folders" else classes.label_of_file(_stem(Path(file).name))
    except TNetError as error:
        raise TNetError(f"{folder / file} has no label: {error}") from None


def _stem(file: str) -> str:
    return file.rpartition(".")[0]


def _title(folder: Path) -> str:
    """'cub200/train' says more than 'train'."""
    parts = folder.expanduser().resolve().parts[-2:]
    return "/".join(parts) if parts[-1].lower() in ("train", "val", "validation", "test", "images") else parts[-1]
