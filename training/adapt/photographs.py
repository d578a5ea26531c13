"""Photographs to learn from and to measure on, their targets, and the banks of all looks a policy could choose.

Folders of photographs, with or without labels, are divided once and for all. The target without labels is what the
backbone says by itself about the whole image: what the TNet is given, S x S, reduced by averaging the pixels that fall
into each pixel of the resolution the backbone was trained at. Averaging, because bilinear reduction with antialiasing
blurs more than the pictures that classifiers are trained on (see README.md in this folder for the comparison).
"""

from __future__ import annotations

import sys
import time
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from tnet_core.errors import TNetError
from tnet_core.modeling.tnet import TNet
from tnet_core.schemas.files import expand_home
from training.adapt.pretrained import AdaptOptions, Classes, Labels
from training.data.dataset import FileDataset, ImageFile, is_held_out
from training.data.displaced import DisplacedView
from training.data.reading import find_images, is_folder, name_readably
from training.data.sample import ImageDataset
from training.engine.folding import fold_copy
from training.engine.run_folder import fingerprint_data
from training.evaluation.stream import evaluation_mode, load_batches, spread_indices
from training.policy.bank import MANIFEST_FILE, FeatureBank, make_bank

TRAIN, HELD_OUT = "train", "held-out"
_IMAGES_AT_ONCE = 8  # images; each has n * n + 1 crops


@dataclass(frozen=True)
class Photographs:
    train: FileDataset
    held_out: FileDataset
    more: FileDataset | None = None  # to learn from, without labels


def open_photographs(options: AdaptOptions, classes: Classes, count: int) -> Photographs:
    """Return both sides of the division; `count` is the number of the model's classes."""
    check_folders((*options.images, *options.more))
    folders = {folder: _list_entries(folder, options.labels, classes) for folder in options.images}
    often = Counter(entry.name for entries in folders.values() for entry in entries)
    sides: dict[bool, list[ImageFile]] = {True: [], False: []}
    for number, (folder, entries) in enumerate(folders.items()):
        for kept_back in (False, True):
            # decided by its name in its own folder, whatever other folders are given
            side = [entry for entry in entries if is_held_out(entry.name, options.holdout) == kept_back]
            chosen = _spread(side, options.get_limit(number, held_out=kept_back))
            sides[kept_back] += [
                entry if often[entry.name] == 1 else replace(entry, name=f"{_name_folder(folder)}/{entry.name}")
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
    title = " + ".join(dict.fromkeys(_name_folder(folder) for folder in options.images))
    train, held_out = (FileDataset(title, split, names, side) for split, side in divided)
    return Photographs(train, held_out, _open_more(options, names))


def check_folders(folders: Iterable[Path]) -> None:
    """Refuse folders that are not there, before anything is downloaded."""
    for folder in folders:
        if not is_folder(expand_home(folder)):
            raise TNetError(f"The folder {folder} does not exist.")


def _open_more(options: AdaptOptions, names: tuple[str, ...]) -> FileDataset | None:
    """Return the photographs without labels, those that would be held out left out as everywhere."""
    entries = [
        replace(entry, name=f"{_name_folder(folder)}/{entry.name}")
        for number, folder in enumerate(options.more)
        for entry in _spread(
            [e for e in _list_entries(folder, "none", Classes()) if not is_held_out(e.name, options.holdout)],
            options.get_limit(len(options.images) + number, held_out=False),
        )
    ]
    title = " + ".join(dict.fromkeys(_name_folder(folder) for folder in options.more))
    return FileDataset(title, TRAIN, names, entries) if entries else None


def _spread(entries: list[ImageFile], most: int | None) -> list[ImageFile]:
    return [entries[i] for i in spread_indices(len(entries), most)]


def _list_entries(folder: Path, labels: Labels, classes: Classes) -> list[ImageFile]:
    """Return the images of a folder, each named '<class>/<file stem>', or by its path where there are no classes."""
    place = expand_home(folder)
    files = find_images(place)
    if not files:
        raise TNetError(f"There are no images in {folder}.")
    return [
        ImageFile(f"{place}/{file}", _find_label(file, labels, classes, folder), name_readably(_strip_suffix(file)))
        for file in files
    ]


def _find_label(file: str, labels: Labels, classes: Classes, folder: Path) -> int:
    if labels == "none":
        return 0  # replaced by the prediction
    class_folder, slash, _ = file.partition("/")
    if labels == "folders" and not slash:
        raise TNetError(f"{folder / file} lies in no class folder, which --labels folders needs.")
    try:
        return (
            classes.find_label(class_folder)
            if labels == "folders"
            else classes.find_label_of_file(_strip_suffix(Path(file).name))
        )
    except TNetError as error:
        raise TNetError(f"{folder / file} has no label: {error}") from None


def _strip_suffix(file: str) -> str:
    return file.rpartition(".")[0]


def _name_folder(folder: Path) -> str:
    """Return a folder's name, with its parent's where that says more: 'cub200/train' instead of 'train'."""
    parts = [name_readably(part) for part in expand_home(folder).resolve().parts[-2:]]
    return "/".join(parts) if parts[-1].lower() in ("train", "val", "validation", "test", "images") else parts[-1]


# Targets ----------------------------------------------------------------------------------------------


@torch.inference_mode()
def predict_full_image(model: TNet, images: Tensor, side: int) -> Tensor:
    """Return probabilities of the classes by backbone and classifier alone: (B, 3, S, S) in [-1, 1] -> (B, classes)."""
    images = images.to(model.device)
    reduced = images if images.shape[2] == side else F.interpolate(images, (side, side), mode="area")
    _, vectors = model.features(reduced.contiguous(memory_format=torch.channels_last))
    probabilities = model.classifier(vectors).float().softmax(1).cpu()
    if not bool(torch.isfinite(probabilities).all()):
        raise TNetError("The backbone's predictions are not finite: its weights are damaged.")
    return probabilities


def sharpen(probabilities: np.ndarray, temperature: float) -> np.ndarray:
    """Return predictions as at a lower temperature of their softmax: (images, classes).

    At low resolution a network is surer of itself than at the one it was trained at. As they are, its full-image
    predictions would then be approached best by looks that show nothing, which only make it less sure.
    """
    scaled = np.asarray(probabilities, np.float64) ** (1 / temperature)
    return (scaled / scaled.sum(1, keepdims=True)).astype(np.float32)


def stream_targets(
    model: TNet, dataset: ImageDataset, side: int | None, batch_size: int, workers: int, displaced: int = 0
) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield images with their targets: predictions at that side (B, classes), or labels (B,) where it is None.

    Displaced views follow, each with the target of the picture that it shows: the prediction for the canvas would be
    one for its blurred background.
    """
    found: list[Tensor] = []
    for batch in load_batches(dataset, range(len(dataset)), model.config, batch_size, workers):
        assert isinstance(batch.images, Tensor)
        found.append(batch.labels if side is None else predict_full_image(model, batch.images, side))
        yield batch.images, found[-1]
    targets = torch.cat(found)
    for number in range(1, displaced + 1):
        view = DisplacedView(dataset, model.config.input_size, number)
        for batch in load_batches(view, range(len(view)), model.config, batch_size, workers):
            assert isinstance(batch.images, Tensor)
            yield batch.images, targets[batch.indices]


# Banks ------------------------------------------------------------------------------------------------


def make_banks(
    model: TNet,
    photographs: Photographs,
    options: AdaptOptions,
    side: int,  # of the whole image where the backbone's prediction is the target
    folder: Path | None,
    *,
    quiet: bool,
) -> dict[str, FeatureBank]:
    """Return the banks 'train' and 'validation': one row per photograph and per displaced view of it.

    Targets are labels (rows,), or probabilities (rows, classes) where any is the backbone's prediction. With a folder
    the banks stay there and are opened again when model and images are the same.
    """
    fast = fold_copy(model)  # for the targets
    own = side if options.labels == "none" else None
    parts: dict[str, list[tuple[FileDataset, int | None]]] = {
        "train": [(photographs.train, own)],
        "validation": [(photographs.held_out, own)],
    }
    if photographs.more is not None:
        parts["train"].append((photographs.more, side))
    views = 1 + options.displaced
    missing = [name for name in parts if folder is None or not (folder / name / MANIFEST_FILE).exists()]
    if missing and not quiet:
        images = views * sum(len(data) for name in missing for data, _ in parts[name])
        print(_estimate_time(fast, images, own), file=sys.stderr)
    classes = model.config.num_classes if photographs.more is not None else None
    return {
        name: make_bank(
            model,
            chain.from_iterable(_stream_part(fast, *part, options, classes) for part in some),
            views * sum(len(data) for data, _ in some),
            folder=None if folder is None else folder / name,
            identity=_identify(some, options),
            quiet=quiet,
        )
        for name, some in parts.items()
    }


def _stream_part(
    model: TNet, dataset: FileDataset, side: int | None, options: AdaptOptions, classes: int | None
) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield images and targets of one data set; with `classes`, labels become probabilities."""
    for images, targets in stream_targets(model, dataset, side, _IMAGES_AT_ONCE, options.workers, options.displaced):
        yield images, F.one_hot(targets, classes).float() if side is None and classes is not None else targets


def _identify(parts: list[tuple[FileDataset, int | None]], options: AdaptOptions) -> dict[str, object]:
    """Return what a bank is recognised by; one of a single data set as it is, by what it always was."""
    described = [_describe_data(dataset, side) for dataset, side in parts]
    more = {} if len(parts) == 1 else {"more": described[1]}
    return described[0] | more | ({"displaced": options.displaced} if options.displaced else {})


def _describe_data(dataset: FileDataset, side: int | None) -> dict[str, object]:
    names = "\n".join(entry.name for entry in dataset.entries)
    return {
        "name": dataset.name,
        "split": dataset.split,
        **fingerprint_data(dataset),
        "files": zlib.crc32(names.encode()),
        "full_resolution": side,
    }


def _estimate_time(model: TNet, images: int, side: int | None) -> str:
    """Return a sentence 'About 9 minutes …', timed on the crops of one image."""
    base, cells = model.config.base_resolution, model.config.cells
    crops = torch.zeros((cells + 1, 3, base, base), device=model.device).to(memory_format=torch.channels_last)
    with evaluation_mode(model):
        model.features(crops[:2])  # the first call is slower
        began = time.perf_counter()
        model.features(crops)
        seconds = time.perf_counter() - began
    whole = 0.0 if side is None else (side / base) ** 2 / (cells + 1)
    minutes = images * seconds * (1 + whole) / 60
    return (
        f"{images} images with {cells + 1} crops each, {(cells + 1) / seconds:.0f} crops a second on this machine: "
        f"about {minutes:.1f} minutes for the features, then a few for learning and measuring."
    )
