"""Class folders: `<split>/<class>/…/<image>`, the layout of ImageNet and of most home-made data sets."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from tnet_core.errors import TNetError
from training.data.boxes import NO_BOXES, Boxes, key, read_boxes_csv
from training.data.files import Entry, FileDataset, one_per_box
from training.data.reading import SUFFIXES
from training.data.splits import Which, keep_side, root_folder, split_folder, split_name
from training.recipe import DataSection

CLASS_LIST = "classes.txt"


def open_class_folders(
    data: DataSection,
    which: Which,
    name: str,
    readable: Callable[[Sequence[str]], Sequence[str]] = tuple,
) -> FileDataset:
    """A split of class folders. `readable` turns folder names, in label order, into class names.

    Labels follow root/classes.txt where there is one, else the sorted names of the training folders, so that
    they are the same in every split.
    """
    root = root_folder(data)
    folder = _folder_of(root, split_name(data, which), data)
    folders = _class_order(root, folder, data)
    boxes = {} if data.boxes is None else read_boxes_csv(root / data.boxes)
    entries = list_images(folder, folders, boxes, all_needed=which == "train" or data.holdout > 0)
    _check_boxes_used(boxes, entries, data)
    chosen = keep_side(entries, data, which)
    if data.crop_to_box:
        chosen = one_per_box(chosen)
    return FileDataset(
        name,
        which,
        readable(folders),
        chosen,
        shorter_side=data.shorter_side,
        crop_to_box=data.crop_to_box,
    )


def open_folder(
    path: Path | str, class_names: Sequence[str] | None = None, boxes: Path | str | None = None
) -> FileDataset:
    """Any folder of class folders as one split, for measuring a model.

    `class_names` are the model's, in label order: folders are matched to them by name, whether written as the
    data set's folders ('001.Black_footed_Albatross') or as the names shown ('Black-footed Albatross').
    """
    folder = Path(path).expanduser()
    if not folder.is_dir():
        raise TNetError(f"The folder {folder} does not exist.")
    found = class_folders(folder)
    table = {} if boxes is None else read_boxes_csv(Path(boxes))
    if class_names is None:
        listed = read_class_list(folder) or read_class_list(folder.parent) or ()
        order = tuple(listed) if set(found) <= set(listed) else found
        return FileDataset(folder.name, folder.name, order, list_images(folder, order, table, all_needed=False))
    labels = _match(found, class_names, folder)
    entries = [
        Entry(entry.path, labels[found[entry.label]], entry.name, entry.boxes)
        for entry in list_images(folder, found, table)
    ]
    return FileDataset(folder.name, folder.name, class_names, entries)


def class_folders(folder: Path) -> tuple[str, ...]:
    """Names of the sub-folders, sorted."""
    names = sorted(e.name for e in os.scandir(folder) if e.is_dir() and not e.name.startswith("."))
    if not names:
        raise TNetError(f"{folder} has no class folders; images must lie in one folder per class.")
    return tuple(names)


def list_images(
    folder: Path,
    classes: Sequence[str],
    boxes: Mapping[str, Boxes],
    *,
    all_needed: bool = True,
    ignore: Sequence[str] = (),  # folders that are no class
    suffix: str = "",  # take only files whose name ends so
) -> list[Entry]:
    """All images below folder/<class>, in order of label and name.

    With `all_needed` every class must have a folder; a folder that is there must hold images.
    """
    unknown = set(class_folders(folder)) - {*classes, *ignore}
    if unknown:
        raise TNetError(f"{folder} has a folder '{min(unknown)}' that is not among the {len(classes)} classes.")
    entries = []
    for label, name in enumerate(classes):
        if not (folder / name).is_dir():
            if all_needed:
                raise TNetError(f"{folder} has no folder for the class '{name}'.")
            continue
        files = [file for file in _images_below(folder / name) if file.endswith(suffix)]
        if not files:
            raise TNetError(f"The class folder {folder / name} holds no images; fill it or remove it.")
        taken: set[str] = set()
        for file in files:
            stem = file.rpartition(".")[0]
            # the same stem in two formats: the second one keeps its suffix
            unique = f"{name}/{stem if stem not in taken else file}"
            taken.add(stem)
            entries.append(Entry(f"{folder}/{name}/{file}", label, unique, boxes.get(key(f"{name}/{file}"), NO_BOXES)))
    return entries


def read_class_list(root: Path) -> tuple[str, ...] | None:
    """Folder names in label order from root/classes.txt; a number before the name (CUB) is left out."""
    path = root / CLASS_LIST
    if not path.is_file():
        return None
    try:
        lines = [line.strip() for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    except (OSError, UnicodeDecodeError) as error:
        raise TNetError(f"The class list {path} cannot be read ({error}).") from None
    words = [line.split(maxsplit=1) for line in lines]
    numbered = all(len(parts) == 2 and parts[0].isdigit() for parts in words)
    names = tuple(parts[1] for parts in words) if numbered else tuple(lines)
    if len(set(names)) != len(names) or not names:
        raise TNetError(f"The class list {path} must name every class once.")
    return names


def is_image(file: str) -> bool:
    return not file.startswith(".") and f".{file.rpartition('.')[2].lower()}" in SUFFIXES


def _images_below(folder: Path) -> list[str]:
    """Paths relative to the folder, sorted; also from sub-folders."""
    found = []
    for where, folders, files in os.walk(folder, followlinks=True):
        folders[:] = [name for name in folders if not name.startswith(".")]
        below = where[len(str(folder)) :].replace(os.sep, "/").lstrip("/")
        found += [f"{below}/{file}" if below else file for file in files if is_image(file)]
    return sorted(found)


def _folder_of(root: Path, split: str, data: DataSection) -> Path:
    """The folder of a split; the root itself where a holdout is to divide class folders that have no split."""
    if data.holdout and not (root / split).is_dir() and any(_has_images(Path(e.path)) for e in os.scandir(root)):
        return root
    return split_folder(root, split)


def _has_images(folder: Path) -> bool:
    return folder.is_dir() and any(is_image(entry.name) for entry in os.scandir(folder))


def _class_order(root: Path, folder: Path, data: DataSection) -> tuple[str, ...]:
    listed = read_class_list(root)
    if listed is not None:
        return listed
    train = root / data.train
    return class_folders(train if train.is_dir() and folder != root else folder)


def _check_boxes_used(boxes: Mapping[str, Boxes], entries: Sequence[Entry], data: DataSection) -> None:
    if data.boxes is not None and not any(entry.boxes.xywh for entry in entries):
        raise TNetError(
            f"The boxes file {data.boxes} ({len(boxes)} images) names none of the images in {data.root}; "
            "its column 'file' must hold '<class folder>/<file name>'."
        )


def _match(folders: Sequence[str], class_names: Sequence[str], where: Path) -> dict[str, int]:
    """Folder name -> label."""
    by_name = {plain(name): label for label, name in enumerate(class_names)}
    labels = {}
    for folder in folders:
        label = by_name.get(plain(folder))
        if label is None:
            raise TNetError(f"The folder '{folder}' in {where} is none of the model's {len(class_names)} classes.")
        labels[folder] = label
    return labels


def plain(name: str) -> str:
    """A class name without CUB's number, case and punctuation, for comparing ways to write it."""
    head, dot, tail = name.partition(".")
    name = tail if dot and head.isdigit() else name
    return "".join(c for c in name.casefold() if c.isalnum())
