"""Data sets, augmentation and loading."""

from __future__ import annotations

from pathlib import Path

from tnet_core.errors import TNetError
from training.data.cache import pixel_cache
from training.data.cub import open_cub
from training.data.files import FileDataset, check_classes
from training.data.fmow import open_fmow
from training.data.folders import names_with_spaces, open_class_folders, open_folder
from training.data.imagenet import open_imagenet
from training.data.nabirds import open_nabirds
from training.data.sample import ImageDataset, Sample
from training.data.splits import Which
from training.recipes.recipe import DataSection

__all__ = ["ImageDataset", "Sample", "check_classes", "open_folder", "open_split"]


def open_split(data: DataSection, which: Which, *, seed: int = 0) -> ImageDataset:
    """The training or validation split that a recipe describes. Building a cache shows its progress."""
    if which not in ("train", "validation"):
        raise TNetError(f"A split is 'train' or 'validation', not {which!r:.40}.")
    if data.kind == "needles":
        from training.data.needles import NeedlesDataset

        return NeedlesDataset(data.needles, which, seed, data.root)
    dataset = _open_files(data, which)
    if data.cache is not None:
        dataset.cache = pixel_cache(dataset, data.cache)
    return dataset


def _open_files(data: DataSection, which: Which) -> FileDataset:
    if data.kind == "folder":
        return open_class_folders(data, which, Path(data.root).name)
    if data.kind == "imagenet":
        return open_imagenet(data, which)
    if data.kind == "cub":
        return open_cub(data, which)
    if data.kind == "nabirds":
        return open_nabirds(data, which)
    if data.kind == "fmow":
        return open_fmow(data, which)
    if data.kind == "pets":
        return open_class_folders(data, which, "Oxford-IIIT Pet", names_with_spaces)
    raise TNetError(f"There is no kind of data set called {data.kind!r:.40}.")
