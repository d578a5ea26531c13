"""The layout that CUB and NABirds share: text files that list images, classes, splits and boxes by image id."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path, PurePosixPath

from tnet_core.errors import TNetError
from training.data.boxes import NO_BOXES, Boxes, checked, read_boxes_csv
from training.data.files import Entry, FileDataset, check_boxes_used
from training.data.listing import is_file, read_lines
from training.data.splits import Which, divided, listed_as_train, root_folder, split_name
from training.recipes.recipe import DataSection


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
    root = root_folder(data)
    images = _table(root / "images.txt")
    class_of = _table(root / "image_class_labels.txt")
    classes = _table(root / "classes.txt")
    in_train = _table(root / "train_test_split.txt")
    boxes = _boxes(root, data)
    train = listed_as_train(split_name(data, which), root / "train_test_split.txt")

    seen = [_value(class_of, image, root / "image_class_labels.txt") for image in images]
    names = {class_id: _value(classes, class_id, root / "classes.txt") for class_id in order(classes, seen)}
    labels = {class_id: label for label, class_id in enumerate(names)}
    entries = []
    for (image, file), class_id in zip(images.items(), seen, strict=True):
        if class_id not in labels:
            raise TNetError(
                f"{root / 'image_class_labels.txt'} gives {file} the class {class_id}, which is not listed."
            )
        if (_value(in_train, image, root / "train_test_split.txt") == "1") == train:
            _check_inside(file, root / "images.txt")
            stem = file.rpartition(".")[0]
            path = f"{root}/images/{file}"
            entries.append(Entry(path, labels[class_id], stem, boxes.get(image) or boxes.get(stem) or NO_BOXES))
    if not entries:
        raise TNetError(f"{root} lists no images for the split '{split_name(data, which)}'.")
    if data.boxes is not None:
        check_boxes_used(data.boxes, boxes, entries, root)
    return divided(data, which, name, readable(names), entries)


def _table(path: Path) -> dict[str, str]:
    """'<id> <rest of the line>' of every line, in the order of the file."""
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


def _value(table: dict[str, str], key: str, path: Path) -> str:
    if key not in table:
        raise TNetError(f"{path} has no line for {key}.")
    return table[key]


def _boxes(root: Path, data: DataSection) -> dict[str, Boxes]:
    """By image id from the data set's own list, or by name from the CSV that the recipe names."""
    if data.boxes is not None:
        return read_boxes_csv(root / data.boxes)
    path = root / "bounding_boxes.txt"
    if not is_file(path):
        return {}
    return {image: Boxes((checked(line.split(), f"{path}, image {image},"),)) for image, line in _table(path).items()}
