"""ImageNet: class folders named by WordNet id; labels are the ids in sorted order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from timm.data import ImageNetInfo

from training.data.files import FileDataset
from training.data.folders import open_class_folders
from training.data.splits import Which
from training.recipes.recipe import DataSection

NAME = "ImageNet"


def open_imagenet(data: DataSection, which: Which) -> FileDataset:
    return open_class_folders(data, which, NAME, readable_names)


def readable_names(ids: Sequence[str]) -> tuple[str, ...]:
    """The first of a class's synonyms; all of them where that is shared; with the id where even these are.

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
