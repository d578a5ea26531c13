"""Batches of a data set: every random choice is a function of (seed, epoch, index).

Nothing depends on the number of loader processes, on how batches are split over machines or on what
was loaded before, so a run continues from its step number alone.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import cv2
import numpy as np
import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset, Sampler

from tnet_core.errors import TNetError
from training.data.augment import Augment
from training.data.sample import ImageDataset
from training.recipes.recipe import Recipe

Place = tuple[int, int]  # epoch, index of the sample


class Batches(Sampler[list[Place]]):
    """Batches number `start` to `stop` of an endless shuffled stream, in whole batches per epoch.

    As in the official code, what does not fill a batch at the end of an epoch is left out.
    """

    drop_last = True

    def __init__(self, size: int, batch_size: int, seed: int, start: int, stop: int) -> None:
        self.batch_size = batch_size
        self.per_epoch = size // batch_size
        self._size, self._seed, self._start, self._stop = size, seed, start, stop

    def __len__(self) -> int:
        return max(0, self._stop - self._start)

    def __iter__(self) -> Iterator[list[Place]]:
        shuffled_for, order = -1, np.zeros(0, dtype=np.int64)
        for number in range(self._start, self._stop):
            epoch, position = divmod(number, self.per_epoch)
            if epoch != shuffled_for:
                order = np.random.default_rng([self._seed, epoch, 0]).permutation(self._size)
                shuffled_for = epoch
            chosen = order[position * self.batch_size : (position + 1) * self.batch_size]
            yield [(epoch, int(index)) for index in chosen]


class AugmentedView(Dataset[dict[str, Any]]):
    """Samples as the network sees them in training.

    What cannot be read travels as a sentence: an exception raised in a loader process would reach
    the user as that process's traceback.
    """

    def __init__(self, dataset: ImageDataset, augment: Augment, seed: int) -> None:
        self._dataset, self._augment, self._seed = dataset, augment, seed

    def __getitem__(self, place: Place) -> dict[str, Any]:
        epoch, index = place
        generator = np.random.default_rng([self._seed, epoch, 1, index])
        try:
            sample = self._dataset[index]
            return {"image": self._augment(sample, generator), "label": sample.label, "error": ""}
        except TNetError as error:
            return {"image": None, "label": -1, "error": str(error)}


def collate(items: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return {"images": (B, 3, S, S) float32, "labels": (B,), "error": ""}; only the error if there is one."""
    for item in items:
        if item["error"]:
            return {"error": item["error"]}
    images = torch.from_numpy(np.stack([item["image"] for item in items]))
    return {"images": images, "labels": torch.tensor([item["label"] for item in items]), "error": ""}


def unpack(batch: dict[str, Any]) -> tuple[Tensor, Tensor]:
    """Return images and labels of a batch, or raise the error it carries."""
    if batch["error"]:
        raise TNetError(f"{batch['error']} Leave such images out with data.skip_unreadable=true.")
    return batch["images"], batch["labels"]


def make_training_loader(recipe: Recipe, dataset: ImageDataset, start: int, stop: int) -> DataLoader[dict[str, Any]]:
    """Return a loader of parts number `start` to `stop` (a step has `recipe.accumulate` of them)."""
    part = recipe.batch_size // recipe.accumulate
    check_batch_size(dataset, part)
    view = AugmentedView(dataset, Augment(recipe.augment, recipe.config.input_size), recipe.seed)
    workers = recipe.data.workers
    return make_loader(
        view,
        workers,
        collate,
        batch_sampler=Batches(len(dataset), part, recipe.seed, start, stop),
        prefetch_factor=4 if workers else None,
        pin_memory=torch.cuda.is_available(),
    )


def check_batch_size(dataset: ImageDataset, batch_size: int) -> None:
    """Refuse a training split that does not fill one batch."""
    if len(dataset) < batch_size:
        raise TNetError(
            f"The training split has {len(dataset)} images, fewer than one batch of {batch_size}; "
            "make batch_size smaller."
        )


def make_loader(
    dataset: Dataset[Any], workers: int, collate_items: Callable[[Sequence[Any]], Any], **options: Any
) -> DataLoader[Any]:
    """Return a loader whose `workers` processes decode images; the options are those of `DataLoader`.

    Loader processes run in parallel already, so OpenCV needs no threads of its own; and its threads must end
    here, since a forked process that tries to end them waits for ever.
    """
    if workers:
        cv2.setNumThreads(1)
    return DataLoader(
        dataset, num_workers=workers, collate_fn=collate_items, worker_init_fn=_prepare_worker, **options
    )  # fmt: skip


def _prepare_worker(_: int) -> None:
    torch.set_num_threads(1)
    # A signal to the whole group must not take the data away from a run that is about to end cleanly.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
