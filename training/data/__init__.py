"""Data sets, augmentation and loading."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tnet_core.errors import TNetError
from training.data.birds import open_cub, open_nabirds
from training.data.cache import open_pixel_cache
from training.data.dataset import FileDataset, Which, check_classes
from training.data.fmow import open_fmow
from training.data.folders import open_class_folders, open_folder, open_imagenet, put_spaces_into_names
from training.data.sample import ImageDataset, Sample
from training.data.unreadable import check_images, leave_out_unreadable
from training.recipes.recipe import DataSection, Recipe

__all__ = ["ImageDataset", "Sample", "check_classes", "open_folder", "open_split", "open_splits"]

_OPENERS: dict[str, Callable[[DataSection, Which], FileDataset]] = {  # by `data.kind`
    "folder": lambda data, which: open_class_folders(data, which, Path(data.root).name),
    "imagenet": open_imagenet,
    "cub": open_cub,
    "nabirds": open_nabirds,
    "fmow": open_fmow,
    "pets": lambda data, which: open_class_folders(data, which, "Oxford-IIIT Pet", put_spaces_into_names),
}


def open_split(data: DataSection, which: Which, *, seed: int = 0) -> ImageDataset:
    """Return the training or validation split that a recipe describes. Building a cache shows its progress."""
    if which not in ("train", "validation"):
        raise TNetError(f"A split is 'train' or 'validation', not {which!r:.40}.")
    if data.kind == "needles":
        from training.data.needles import NeedlesDataset

        return NeedlesDataset(data.needles, which, seed, data.root)
    if data.kind not in _OPENERS:
        raise TNetError(f"There is no kind of data set called {data.kind!r:.40}.")
    dataset = _OPENERS[data.kind](data, which)
    if data.skip_unreadable:
        dataset = leave_out_unreadable(dataset)
    if data.cache is not None:
        dataset.cache = open_pixel_cache(dataset, data.cache)
    return dataset


def open_splits(
    recipe: Recipe, open_data: Callable[[str], ImageDataset] | None = None, *, check: bool = True
) -> tuple[ImageDataset, ImageDataset]:
    """Return the training and the validation split of a recipe, or those of `open_data`, with the model's classes.

    `check` decodes images for a short while, so that a damaged one is known before an hour of training.
    """
    splits = []
    which: Which
    for which in ("train", "validation"):
        opened = open_data(which) if open_data else open_split(recipe.data, which, seed=recipe.seed)
        check_classes(opened, recipe.config)
        splits.append(opened)
    if check and not recipe.data.skip_unreadable:
        check_images(*splits)
    return splits[0], splits[1]
