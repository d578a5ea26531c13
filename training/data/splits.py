"""Which images belong to which split: folders, the data set's own lists, or a fixed hash of the name."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal

from tnet_core.errors import TNetError
from training.data.files import Entry, FileDataset, one_per_box
from training.data.listing import is_folder, sub_folders
from training.recipes.recipe import DataSection

Which = Literal["train", "validation"]

# Other names under which data sets keep the split that is called 'validation' here, in order of preference.
ALIASES = {"validation": ("val", "valid", "test"), "test": ("test_gt",)}


def held_out(name: str, holdout: int) -> bool:
    """Whether an image ('<class>/<file stem>') belongs to the part that is kept back; about one in `holdout`."""
    return zlib.crc32(name.encode()) % holdout == 0


def keep_side(entries: Iterable[Entry], data: DataSection, which: Which) -> list[Entry]:
    """The entries of one side of the holdout; all of them where there is none."""
    entries = list(entries)
    if data.holdout == 0:
        return entries
    if data.holdout < 2:
        raise TNetError(f"data.holdout must be 0 (off) or at least 2, not {data.holdout}.")
    kept = [entry for entry in entries if held_out(entry.name, data.holdout) == (which == "validation")]
    if not kept:
        raise TNetError(
            f"data.holdout={data.holdout} leaves the {which} split empty ({len(entries)} images in {data.root}); "
            "choose another number or give the data set a validation split of its own."
        )
    return kept


def divided(
    data: DataSection, which: Which, name: str, class_names: Sequence[str], entries: Iterable[Entry]
) -> FileDataset:
    """The data set of one side of the holdout, whole images or the boxes in them."""
    chosen = keep_side(entries, data, which)
    if data.crop_to_box:
        chosen = one_per_box(chosen)
    return FileDataset(
        name, which, class_names, chosen, shorter_side=data.shorter_side, crop_to_box=data.crop_to_box
    )  # fmt: skip


def split_name(data: DataSection, which: Which) -> str:
    """The split of the data set that images come from; with a holdout, both sides come from the training split."""
    return data.train if which == "train" or data.holdout else data.validation


def root_folder(data: DataSection) -> Path:
    if not data.root:
        raise TNetError("The recipe names no data folder; give it as data.root=FOLDER.")
    root = Path(data.root).expanduser()
    if not is_folder(root):
        raise TNetError(f"The data folder {root} does not exist; give the right one as data.root=FOLDER.")
    return root


def split_folder(root: Path, name: str) -> Path:
    """root/name, or root/<alias> where only that exists."""
    for candidate in (name, *ALIASES.get(name, ())):
        if is_folder(root / candidate):
            return root / candidate
    raise TNetError(f"The data folder {root} has no split '{name}' ({folders_there(root)}).")


def folders_there(root: Path) -> str:
    """'it has train, val'."""
    names = sub_folders(root)
    return f"it has {', '.join(names[:5])}{', …' if len(names) > 5 else ''}" if names else "it has no folders"


def listed_as_train(name: str, where: Path) -> bool:
    """For data sets that list a training and a test split: whether a split's name means the training one."""
    if name == "train":
        return True
    if name in ("validation", *ALIASES["validation"]):
        return False
    raise TNetError(f"{where} lists the splits 'train' and 'test' only, not '{name}'.")
