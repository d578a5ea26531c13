"""Class folders: `<split>/<class>/…/<image>`, the layout of ImageNet and of most home-made data sets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from timm.data import ImageNetInfo

from tnet_core.errors import TNetError
from tnet_core.schemas.files import expand_home
from training.data.dataset import (
    FileDataset,
    ImageFile,
    Which,
    check_boxes_used,
    choose_split,
    find_root,
    find_split_folder,
    make_side,
)
from training.data.reading import (
    find_images,
    is_file,
    is_folder,
    is_image,
    list_folder,
    list_sub_folders,
    name_readably,
    read_lines,
)
from training.data.sample import NO_BOXES, Boxes, make_key, read_boxes_csv
from training.recipes.recipe import DataSection

CLASS_LIST = "classes.txt"


def open_class_folders(
    data: DataSection,
    which: Which,
    name: str,
    readable: Callable[[Sequence[str]], Sequence[str]] = tuple,
) -> FileDataset:
    """Open a split of class folders. `readable` turns folder names, in label order, into class names.

    Labels follow root/classes.txt where there is one, else the sorted names of the training folders, so that
    they are the same in every split.
    """
    root = find_root(data)
    folder = _find_split(root, choose_split(data, which), data)
    folders = _order_classes(root, folder, data)
    boxes = {} if data.boxes is None else read_boxes_csv(root / data.boxes)
    entries = list_images(folder, folders, boxes, all_needed=which == "train" or data.holdout > 0)
    return make_side(data, which, name, tuple(map(name_readably, readable(folders))), entries, boxes)


def open_folder(path: Path | str, boxes: Path | str | None = None) -> FileDataset:
    """Open any folder of class folders as one split, for measuring a model."""
    folder = expand_home(path)
    if not is_folder(folder):
        raise TNetError(f"The folder {folder} does not exist.")
    found = list_class_folders(folder)
    table = {} if boxes is None else read_boxes_csv(Path(boxes))
    listed = read_class_list(folder) or read_class_list(folder.parent) or ()
    order = tuple(listed) if set(found) <= set(listed) else found
    entries = list_images(folder, order, table, all_needed=False)
    if boxes is not None:
        check_boxes_used(boxes, table, entries, folder)
    return FileDataset(folder.name, folder.name, tuple(map(name_readably, order)), entries)


def put_spaces_into_names(folders: Sequence[str]) -> tuple[str, ...]:
    """Return folder names as class names: 'American_bulldog' becomes 'American bulldog'."""
    return tuple(folder.replace("_", " ") for folder in folders)


def list_class_folders(folder: Path) -> tuple[str, ...]:
    """Return names of the sub-folders, sorted."""
    names = list_sub_folders(folder)
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
) -> list[ImageFile]:
    """Return all images below folder/<class>, in order of label and name.

    With `all_needed` every class must have a folder; a folder that is there must hold images.
    """
    unknown = set(list_class_folders(folder)) - {*classes, *ignore}
    if unknown:
        raise TNetError(f"{folder} has a folder '{min(unknown)}' that is not among the {len(classes)} classes.")
    entries = []
    for label, name in enumerate(classes):
        if "/" in name or name in (".", ".."):
            raise TNetError(f"The class list of {folder} must hold names of folders, and '{name:.80}' is a path.")
        if not is_folder(folder / name):
            if all_needed:
                raise TNetError(f"{folder} has no folder for the class '{name}'.")
            continue
        files = [file for file in find_images(folder / name) if file.endswith(suffix)]
        if not files:
            raise TNetError(f"The class folder {folder / name} holds no images; fill it or remove it.")
        taken: set[str] = set()
        for file in files:
            stem = file.rpartition(".")[0]
            # the same stem in two formats: the second one keeps its suffix
            unique = f"{name}/{stem if stem not in taken else file}"
            taken.add(stem)
            drawn = boxes.get(make_key(f"{name}/{file}"), NO_BOXES)
            entries.append(ImageFile(f"{folder}/{name}/{file}", label, name_readably(unique), drawn))
    return entries


def read_class_list(root: Path) -> tuple[str, ...] | None:
    """Return folder names in label order from root/classes.txt; a number before the name (CUB) is left out."""
    path = root / CLASS_LIST
    if not is_file(path):
        return None
    lines = [line.strip() for line in read_lines(path) if line.strip()]
    words = [line.split(maxsplit=1) for line in lines]
    numbered = all(len(parts) == 2 and parts[0].isdigit() for parts in words)
    names = tuple(parts[1] for parts in words) if numbered else tuple(lines)
    if len(set(names)) != len(names) or not names:
        raise TNetError(f"The class list {path} must name every class once.")
    return names


def _find_split(root: Path, split: str, data: DataSection) -> Path:
    """Return the folder of a split; the root itself where a holdout is to divide class folders that have no split."""
    if (
        data.holdout
        and not is_folder(root / split)
        and any(_has_images(root / name) for name in list_sub_folders(root))
    ):
        return root
    return find_split_folder(root, split)


def _has_images(folder: Path) -> bool:
    return any(is_image(entry.name) for entry in list_folder(folder))


def _order_classes(root: Path, folder: Path, data: DataSection) -> tuple[str, ...]:
    listed = read_class_list(root)
    if listed is not None:
        return listed
    train = root / data.train
    return list_class_folders(train if is_folder(train) and folder != root else folder)


def open_imagenet(data: DataSection, which: Which) -> FileDataset:
    return open_class_folders(data, which, "ImageNet", name_imagenet_classes)


def name_imagenet_classes(ids: Sequence[str]) -> tuple[str, ...]:
    """Return the first of each class's synonyms; all of them where that is shared; with the id where even these are.

    Folders that are none of the 1000 classes keep their name.
    """
    info = ImageNetInfo("imagenet-1k")
    known = dict(zip(info.label_names(), info.label_descriptions(), strict=True))
    first = Counter(text.partition(",")[0] for text in known.values())
    whole = Counter(known.values())

    def name(class_id: str) -> str:
        text = known.get(class_id, class_id)
        short = text.partition(",")[0]
        if first[short] <= 1:
            return short
        return text if whole[text] == 1 and text != short else f"{text} ({class_id})"

    return tuple(name(class_id) for class_id in ids)
