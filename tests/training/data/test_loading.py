"""Batches depend on the seed and their number, and on nothing else."""

from __future__ import annotations

import itertools
import os
from pathlib import Path

import numpy as np
import pytest
import torch
from accelerate.data_loader import BatchSamplerShard

from tests.support.processes import run_python
from tests.support.training import ROOT, Colours, recipe_values
from tnet_core.errors import TNetError
from training.data.loading import Batches, make_training_loader, unpack
from training.data.sample import Sample
from training.recipes.recipe import AugmentSection, DataSection, ModelSection, Recipe


def recipe(**changes: object) -> Recipe:
    values = recipe_values()
    section = ModelSection(config=values["model"]["config"])
    given: dict[str, object] = {
        "name": "tiny", "batch_size": 14, "model": section, "data": DataSection(workers=0),
        "augment": AugmentSection(),
    }  # fmt: skip
    return Recipe(**(given | changes))  # type: ignore[arg-type]


def test_every_sample_is_seen_once_per_epoch_up_to_the_last_partial_batch() -> None:
    batches = list(Batches(size=23, batch_size=5, seed=0, start=0, stop=8))
    first, second = batches[:4], batches[4:]
    assert {epoch for batch in first for epoch, _ in batch} == {0}
    assert {epoch for batch in second for epoch, _ in batch} == {1}
    for epoch in (first, second):
        seen = [index for batch in epoch for _, index in batch]
        assert len(set(seen)) == 20
    assert [i for b in first for _, i in b] != [i for b in second for _, i in b]


@pytest.mark.parametrize("start", [1, 4, 7])
def test_a_continued_stream_gives_the_batches_that_were_missing(start: int) -> None:
    through = list(Batches(23, 5, seed=3, start=0, stop=9))
    assert list(Batches(23, 5, seed=3, start=start, stop=9)) == through[start:]


def test_two_processes_share_each_batch() -> None:
    shards = [BatchSamplerShard(Batches(23, 4, 0, 0, 6), 2, rank, split_batches=True) for rank in range(2)]
    whole = list(Batches(23, 4, 0, 0, 6))
    for both, batch in zip(itertools.zip_longest(*shards), whole, strict=True):
        assert [place for half in both for place in half] == batch


@pytest.mark.slow
def test_workers_change_nothing() -> None:
    def images(workers: int) -> torch.Tensor:
        loader = make_training_loader(recipe(data=DataSection(workers=workers)), Colours(), start=2, stop=5)
        return torch.cat([unpack(batch)[0] for batch in loader])

    assert torch.equal(images(0), images(2))


def test_augmentation_differs_between_epochs_and_seeds() -> None:
    def first(seed: int, start: int) -> torch.Tensor:
        loader = make_training_loader(recipe(seed=seed, batch_size=56), Colours(), start=start, stop=start + 1)
        images, labels = unpack(next(iter(loader)))
        return images[labels.argsort(stable=True)]

    assert not torch.equal(first(0, 0), first(0, 1))
    assert not torch.equal(first(0, 0), first(1, 0))


class Broken(Colours):
    def __getitem__(self, index: int) -> Sample:
        if index == 7:
            raise TNetError("The image 'x/7.png' cannot be read.")
        return super().__getitem__(index)


@pytest.mark.parametrize("workers", [0, 1])
def test_an_unreadable_image_arrives_as_its_sentence(workers: int) -> None:
    loader = make_training_loader(recipe(data=DataSection(workers=workers)), Broken(), start=0, stop=4)
    with pytest.raises(TNetError) as caught:
        list(map(unpack, loader))
    assert str(caught.value) == (
        "The image 'x/7.png' cannot be read. Leave such images out with data.skip_unreadable=true."
    )


def test_a_batch_larger_than_the_split_is_refused() -> None:
    with pytest.raises(TNetError, match="fewer than one batch"):
        make_training_loader(recipe(batch_size=64), Colours(), 0, 1)


def test_images_are_in_the_range_of_the_model() -> None:
    images, labels = unpack(next(iter(make_training_loader(recipe(), Colours(), 0, 1))))
    assert images.shape == (14, 3, 96, 96)
    assert images.dtype == torch.float32
    assert -1.5 < float(images.min()) < 0 < float(images.max()) < 1.5
    assert np.issubdtype(labels.numpy().dtype, np.integer)


@pytest.mark.slow
def test_workers_start_after_opencv_has_used_threads(tmp_path: Path) -> None:
    """A forked process cannot end OpenCV's threads, so one that tries would wait for ever."""
    program = (
        "import cv2, numpy as np; cv2.setNumThreads(2)\n"
        "cv2.GaussianBlur(np.zeros((2000, 2000, 3), np.uint8), (31, 31), 5)\n"
        "from tests.support.training import Colours; from tests.training.data.test_loading import recipe\n"
        "from training.recipes.recipe import DataSection\n"
        "from training.data.loading import make_training_loader, unpack\n"
        "loader = make_training_loader(recipe(data=DataSection(workers=1)), Colours(), 0, 2)\n"
        "print(sum(len(unpack(batch)[1]) for batch in loader))"
    )
    done = run_python("-c", program, cwd=ROOT, env=os.environ, folder=tmp_path, timeout=120)
    assert done.stdout.strip() == "28", done.stderr
