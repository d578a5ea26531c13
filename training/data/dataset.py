"""`FileDataset`: a split whose images are files, with labels, boxes and, if wanted, a cache of decoded pixels.

Which images belong to which split is decided by folders, by the data set's own lists, or by a fixed hash of the name.
"""

from __future__ import annotations

import dataclasses
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from tnet_core.errors import TNetError
from tnet_core.modeling.config import TNetConfig
from tnet_core.schemas.checkpoint import check_class_name
from tnet_core.schemas.files import expand_home
from training.data.cache import PixelCache
from training.data.reading import is_folder, list_sub_folders, read_image, shrink
from training.data.sample import NO_BOXES, Boxes, ImageDataset, Sample
from training.recipes.recipe import DataSection

Which = Literal["train", "validation"]
# Other names under which data sets keep the split that is called 'validation' here, in order of preference.
ALIASES = {"validation": ("val", "valid", "test"), "test": ("test_gt",)}


@dataclass(frozen=True, slots=True)
class ImageFile:
    """One image file of a split. Strings, not paths: there may be a million of them."""

    path: str
    label: int
    name: str  # '<class>/<file stem>'
    boxes: Boxes = NO_BOXES


class FileDataset:
    """Satisfies `ImageDataset`. Cheap to send to loader processes: pixels stay in files."""

    def __init__(
        self,
        name: str,
        split: str,
        class_names: Sequence[str],
        entries: Sequence[ImageFile],
        *,
        shorter_side: int | None = None,
        crop_to_box: bool = False,  # every entry has one box; see `split_by_box`
        read_boxes: Callable[[ImageFile], Boxes] | None = None,  # for data sets that keep them in a file per image
    ) -> None:
        if not entries:
            raise TNetError(f"The {split} split of {name} holds no images.")
        self.name, self.split, self.class_names = name, split, tuple(class_names)
        self.shorter_side, self.crop_to_box, self._read_boxes = shorter_side, crop_to_box, read_boxes
        self.entries = tuple(entries)
        self.labels: Sequence[int] = tuple(entry.label for entry in self.entries)
        self.cache: PixelCache | None = None
        _check_labels(self)
        _check_names(self)

    def __len__(self) -> int:
        return len(self.entries)

    def __getitem__(self, index: int) -> Sample:
        entry = self.entries[index]
        image, (height, width) = self.read_pixels(index) if self.cache is None else self.cache[index]
        # what a crop shows is all box
        boxes = NO_BOXES if self.crop_to_box else entry.boxes if self._read_boxes is None else self._read_boxes(entry)
        return Sample(image, entry.label, entry.name, boxes.normalise(height, width))

    def read_pixels(self, index: int) -> tuple[np.ndarray, tuple[int, int]]:
        """Decode the image of a sample from its file; return it with the height and width of the file."""
        entry = self.entries[index]
        if not self.crop_to_box:
            return read_image(entry.path, self.shorter_side)
        image, (height, width) = read_image(entry.path)
        image = _cut_box(image, entry.boxes.normalise(height, width), entry)
        return (image if self.shorter_side is None else shrink(image, self.shorter_side)), (height, width)

    def select(self, indices: Sequence[int]) -> FileDataset:
        """Return a split of these images alone; it has no cache."""
        return FileDataset(
            self.name, self.split, self.class_names, [self.entries[index] for index in indices],
            shorter_side=self.shorter_side, crop_to_box=self.crop_to_box, read_boxes=self._read_boxes,
        )  # fmt: skip

    def describe_pixels(self, index: int) -> str:
        """Return a text that is different whenever `read_pixels(index)` may be."""
        entry = self.entries[index]
        try:
            file = Path(entry.path).stat()
        except OSError as error:
            raise TNetError(f"{entry.path} cannot be read ({error.strerror or error}).") from None
        box = f"{entry.boxes}" if self.crop_to_box else ""
        return f"{entry.name}|{file.st_size}|{file.st_mtime_ns}|{self.shorter_side}|{box}"


def split_by_box(entries: Iterable[ImageFile]) -> list[ImageFile]:
    """Return an entry per box, for data that is cropped to its boxes."""
    made = []
    for entry in entries:
        if not entry.boxes.xywh:
            raise TNetError(f"{entry.path} has no box to crop to; give boxes or leave data.crop_to_box off.")
        for i in range(len(entry.boxes.xywh)):
            name = entry.name if i == 0 else f"{entry.name}#{i + 1}"
            made.append(dataclasses.replace(entry, name=name, boxes=entry.boxes.select(i)))
    return made


def check_boxes_used(
    file: Path | str, boxes: Mapping[str, Boxes], entries: Iterable[ImageFile], folder: Path | str
) -> None:
    """Refuse a boxes file that belongs to other images."""
    if not any(entry.boxes.xywh for entry in entries):
        raise TNetError(
            f"The boxes file {file} ({len(boxes)} images) names none of the images in {folder}; "
            "its column 'file' must hold '<class folder>/<file name>'."
        )


def check_classes(dataset: ImageDataset, config: TNetConfig) -> None:
    """Refuse a data set whose number of classes is not the model's."""
    if len(dataset.class_names) != config.num_classes:
        raise TNetError(
            f"The data set {dataset.name} has {len(dataset.class_names)} classes, but the model has "
            f"{config.num_classes}; set num_classes={len(dataset.class_names)} in the recipe's model.config, "
            "or use the data that the model was made for."
        )
    for name in dataset.class_names:
        try:
            check_class_name(name)
        except ValueError as error:
            raise TNetError(
                f"The data set {dataset.name} has a class {name!a:.60}, which {error} to be stored in a checkpoint; "
                "rename its folder."
            ) from None


def _cut_box(image: np.ndarray, boxes: np.ndarray, entry: ImageFile) -> np.ndarray:
    """Return the pixels that a box touches."""
    if not len(boxes):
        raise TNetError(f"The box of {entry.path} lies outside the image.")
    height, width = image.shape[:2]
    x0, y0, x1, y1 = boxes[0].astype(np.float64) * (width, height, width, height)
    # a hair less than float32 resolves, so that a box on the edge of a pixel does not take the next one
    top, left = int(y0 + 1e-3), int(x0 + 1e-3)
    return image[top : max(top + 1, int(np.ceil(y1 - 1e-3))), left : max(left + 1, int(np.ceil(x1 - 1e-3)))]


def _check_labels(dataset: FileDataset) -> None:
    count = len(dataset.class_names)
    for entry in dataset.entries:
        if not 0 <= entry.label < count:
            raise TNetError(f"{entry.path} has label {entry.label}, but {dataset.name} has only {count} classes.")


def _check_names(dataset: FileDataset) -> None:
    for what, values in (("class", dataset.class_names), ("image", [entry.name for entry in dataset.entries])):
        value, times = Counter(values).most_common(1)[0] if values else ("", 0)
        if times > 1:
            raise TNetError(f"{dataset.name} has {times} times the same {what} name, '{value}'; they must differ.")


def is_held_out(name: str, holdout: int) -> bool:
    """Whether an image ('<class>/<file stem>') belongs to the part that is kept back; about one in `holdout`."""
    return zlib.crc32(name.encode()) % holdout == 0


def select_side(entries: Iterable[ImageFile], data: DataSection, which: Which) -> list[ImageFile]:
    """Return the entries of one side of the holdout; all of them where there is none."""
    entries = list(entries)
    if data.holdout == 0:
        return entries
    if data.holdout < 2:
        raise TNetError(f"data.holdout must be 0 (off) or at least 2, not {data.holdout}.")
    kept = [entry for entry in entries if is_held_out(entry.name, data.holdout) == (which == "validation")]
    if not kept:
        raise TNetError(
            f"data.holdout={data.holdout} leaves the {which} split empty ({len(entries)} images in {data.root}); "
            "choose another number or give the data set a validation split of its own."
        )
    return kept


def make_side(
    data: DataSection,
    which: Which,
    name: str,
    class_names: Sequence[str],
    entries: Sequence[ImageFile],
    boxes: Mapping[str, Boxes],
) -> FileDataset:
    """Return the data set of one side of the holdout, whole images or the boxes in them.

    `boxes` are refused if they come from a file that the recipe names and belong to none of the images.
    """
    if data.boxes is not None:
        check_boxes_used(data.boxes, boxes, entries, find_root(data))
    chosen = select_side(entries, data, which)
    if data.crop_to_box:
        chosen = split_by_box(chosen)
    return FileDataset(
        name, which, class_names, chosen, shorter_side=data.shorter_side, crop_to_box=data.crop_to_box
    )  # fmt: skip


def choose_split(data: DataSection, which: Which) -> str:
    """Return the split that images come from; with a holdout, both sides come from the training split."""
    return data.train if which == "train" or data.holdout else data.validation


def find_root(data: DataSection) -> Path:
    if not data.root:
        raise TNetError("The recipe names no data folder; give it as data.root=FOLDER.")
    root = expand_home(data.root)
    if not is_folder(root):
        raise TNetError(f"The data folder {root} does not exist; give the right one as data.root=FOLDER.")
    return root


def find_split_folder(root: Path, name: str) -> Path:
    """Return root/name, or root/<alias> where only that exists."""
    for candidate in (name, *ALIASES.get(name, ())):
        if is_folder(root / candidate):
            return root / candidate
    raise TNetError(f"The data folder {root} has no split '{name}' ({describe_folders(root)}).")


def describe_folders(root: Path) -> str:
    """Return the names of the folders there as words: 'it has train, val'."""
    names = list_sub_folders(root)
    return f"it has {', '.join(names[:5])}{', …' if len(names) > 5 else ''}" if names else "it has no folders"


def is_train_split(name: str, where: Path) -> bool:
    """Whether a split's name means the training one, in data sets that list a training and a test split."""
    if name == "train":
        return True
    if name in ("validation", *ALIASES["validation"]):
        return False
    raise TNetError(f"{where} lists the splits 'train' and 'test' only, not '{name}'.")
