"""CUB-200-2011 and NABirds: text files that list images, classes, splits and boxes by image id.

CUB may also lie in plain class folders. Its class names come from the folders by a rule that can be undone: the number
before the dot is the label plus one; an underscore before a lower-case letter stands for a hyphen, any other for a
space ('001.Black_footed_Albatross' -> 'Black-footed Albatross'). Labels of NABirds count classes as images.txt reaches
them, as the official code does.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path, PurePosixPath

from tnet_core.errors import TNetError
from training.data.dataset import (
    FileDataset,
    ImageFile,
    Which,
    choose_split,
    find_root,
    is_train_split,
    make_side,
)
from training.data.folders import open_class_folders
from training.data.reading import is_file, read_lines
from training.data.sample import NO_BOXES, Boxes, parse_box, read_boxes_csv
from training.recipes.recipe import DataSection

CUB, NABIRDS = "CUB-200-2011", "NABirds"


def open_listed(
    data: DataSection,
    which: Which,
    name: str,
    *,
    order: Callable[[Mapping[str, str], Sequence[str]], Sequence[str]],
    readable: Callable[[Mapping[str, str]], Sequence[str]],
) -> FileDataset:
    """Read images.txt, image_class_labels.txt, classes.txt, train_test_split.txt and, if there, bounding_boxes.txt.

    `order` puts class ids in label order, given the names of all classes by id and the class id of every image in
    the order of images.txt; `readable` turns the names by id, in label order, into those that are shown.
    """
    root = find_root(data)
    images = _read_table(root / "images.txt")
    class_of = _read_table(root / "image_class_labels.txt")
    classes = _read_table(root / "classes.txt")
    in_train = _read_table(root / "train_test_split.txt")
    boxes = _read_boxes(root, data)
    train = is_train_split(choose_split(data, which), root / "train_test_split.txt")

    seen = [_look_up(class_of, image, root / "image_class_labels.txt") for image in images]
    names = {class_id: _look_up(classes, class_id, root / "classes.txt") for class_id in order(classes, seen)}
    labels = {class_id: label for label, class_id in enumerate(names)}
    entries = []
    for (image, file), class_id in zip(images.items(), seen, strict=True):
        if class_id not in labels:
            raise TNetError(
                f"{root / 'image_class_labels.txt'} gives {file} the class {class_id}, which is not listed."
            )
        if (_look_up(in_train, image, root / "train_test_split.txt") == "1") == train:
            _check_inside(file, root / "images.txt")
            stem = file.rpartition(".")[0]
            path = f"{root}/images/{file}"
            entries.append(ImageFile(path, labels[class_id], stem, boxes.get(image) or boxes.get(stem) or NO_BOXES))
    if not entries:
        raise TNetError(f"{root} lists no images for the split '{choose_split(data, which)}'.")
    return make_side(data, which, name, readable(names), entries, boxes)


def _read_table(path: Path) -> dict[str, str]:
    """Return '<id>' and '<rest of the line>' of every line, in the order of the file."""
    if not is_file(path):
        raise TNetError(f"The data folder {path.parent} lacks {path.name}, one of the data set's list files.")
    table: dict[str, str] = {}
    for number, line in enumerate(read_lines(path), 1):
        if not line.strip():
            continue
        words = line.strip().split(maxsplit=1)
        if len(words) != 2 or words[0] in table:
            raise TNetError(f"{path}, line {number}, must hold an id that occurs once and a value.")
        table[words[0]] = words[1]
    if not table:
        raise TNetError(f"The list {path} is empty.")
    return table


def _check_inside(file: str, path: Path) -> None:
    """Refuse an image that lies outside the folder of images."""
    if PurePosixPath(file).is_absolute() or ".." in PurePosixPath(file).parts:
        raise TNetError(f"{path} names '{file:.120}', which is not a file in the folder 'images'.")


def _look_up(table: dict[str, str], key: str, path: Path) -> str:
    if key not in table:
        raise TNetError(f"{path} has no line for {key}.")
    return table[key]


def _read_boxes(root: Path, data: DataSection) -> dict[str, Boxes]:
    """Return boxes by image id from the data set's own list, or by name from the CSV that the recipe names."""
    if data.boxes is not None:
        return read_boxes_csv(root / data.boxes)
    path = root / "bounding_boxes.txt"
    if not is_file(path):
        return {}
    return {
        image: Boxes((parse_box(line.split(), f"{path}, image {image},"),)) for image, line in _read_table(path).items()
    }


def open_cub(data: DataSection, which: Which) -> FileDataset:
    if is_file(find_root(data) / "images.txt"):
        return open_listed(
            data,
            which,
            CUB,
            order=lambda classes, _seen: sorted(classes, key=_parse_class_number),
            readable=lambda names: name_cub_classes(tuple(names.values())),
        )
    return open_class_folders(data, which, CUB, name_cub_classes)


def name_cub_classes(folders: Sequence[str]) -> tuple[str, ...]:
    return tuple(re.sub("_(?=[a-z])", "-", re.sub(r"^\d+\.", "", folder)).replace("_", " ") for folder in folders)


def _parse_class_number(class_id: str) -> int:
    if not class_id.isdigit():
        raise TNetError(f"classes.txt of {CUB} must number its classes, and '{class_id}' is no number.")
    return int(class_id)


def open_nabirds(data: DataSection, which: Which) -> FileDataset:
    return open_listed(
        data, which, NABIRDS, order=lambda _classes, seen: tuple(dict.fromkeys(seen)), readable=make_names_unique
    )


def make_names_unique(names: Mapping[str, str]) -> tuple[str, ...]:
    """Return the names, by class id; those that several classes share are told apart by the id."""
    times = Counter(names.values())
    return tuple(name if times[name] == 1 else f"{name} (class {class_id})" for class_id, name in names.items())
