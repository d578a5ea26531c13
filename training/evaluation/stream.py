"""How images pass through a model: in batches, decoded by loader processes, shared among processes.

The model is in evaluation mode meanwhile and left as it was. Accelerate is needed only where there are several
processes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils.data import Dataset

from tnet_core.errors import TNetError
from tnet_core.modeling.config import TNetConfig
from training.data.augment import make_evaluation_view
from training.data.loading import make_loader
from training.data.sample import ImageDataset

if TYPE_CHECKING:
    from accelerate import Accelerator

T = TypeVar("T")


@dataclass(frozen=True)
class Batch:
    indices: list[int]  # in the data set
    labels: Tensor  # (B,)
    names: list[str]
    boxes: list[np.ndarray]  # of each image: (n, 4) normalised x0, y0, x1, y1
    images: Tensor | list[np.ndarray]  # (B, 3, S, S); the pixels themselves (H, W, 3) for native sampling
    unreadable: list[str]  # one sentence per image that was left out

    @property
    def size(self) -> int:
        return len(self.indices)


class EvaluationView(Dataset[dict[str, Any]]):
    """Samples as the network gets them. What cannot be read travels as a sentence, since an exception
    in a loader process would reach the user as that process's traceback."""

    def __init__(self, dataset: ImageDataset, indices: Sequence[int], config: TNetConfig) -> None:
        self._dataset, self._indices = dataset, indices
        self._size = config.input_size if config.sampling == "official" else None

    def __len__(self) -> int:
        return len(self._indices)

    def __getitem__(self, at: int) -> dict[str, Any]:
        index = self._indices[at]
        try:
            sample = self._dataset[index]
            image = sample.image if self._size is None else make_evaluation_view(sample.image, self._size)
        except TNetError as error:
            return {"index": index, "error": str(error)}
        return {
            "index": index, "label": sample.label, "name": sample.name, "boxes": sample.boxes,
            "image": image, "error": "",
        }  # fmt: skip


def collate_samples(items: Sequence[dict[str, Any]]) -> Batch:
    good = [item for item in items if not item["error"]]
    images: Any = [item["image"] for item in good]
    if images and images[0].dtype == np.float32:
        images = torch.from_numpy(np.stack(images))
    return Batch(
        indices=[item["index"] for item in good],
        labels=torch.tensor([item["label"] for item in good], dtype=torch.long),
        names=[item["name"] for item in good],
        boxes=[item["boxes"] for item in good],
        images=images,
        unreadable=[item["error"] for item in items if item["error"]],
    )


def load_batches(
    dataset: ImageDataset,
    indices: Sequence[int],
    config: TNetConfig,
    batch_size: int,
    workers: int,
    *,
    skip_unreadable: bool = False,
) -> Iterator[Batch]:
    """Yield all given images once. An unreadable one ends it with its sentence, unless it is to be skipped."""
    needed = min(workers, -(-len(indices) // batch_size))
    loader = make_loader(EvaluationView(dataset, indices, config), needed, collate_samples, batch_size=batch_size)
    for batch in loader:
        if batch.unreadable and not skip_unreadable:
            raise TNetError(batch.unreadable[0])
        yield batch


def spread_indices(count: int, limit: int | None) -> list[int]:
    """Return all indices, or `limit` of them evenly spread, so that a split sorted by class keeps its classes."""
    if limit is None or limit >= count:
        return list(range(count))
    return [index * count // limit for index in range(limit)]


def share_indices(indices: list[int], accelerator: Accelerator | None) -> AbstractContextManager[Any]:
    """Return this process's part of the indices, as a context."""
    return nullcontext(indices) if accelerator is None else accelerator.split_between_processes(indices)


def gather_results(work: Callable[[], T], accelerator: Accelerator | None) -> list[T]:
    """Return what each process computed, on every process. A process that fails still reports, so that the others do
    not wait for it: all of them end with its sentence.
    """
    if accelerator is None or accelerator.num_processes == 1:
        return [work()]
    from accelerate.utils import gather_object

    mine: T | None = None
    problem = ""
    try:
        mine = work()
    except TNetError as error:
        problem = str(error)
    everything = gather_object([(mine, problem)])
    for _, sentence in everything:
        if sentence:
            raise TNetError(sentence)
    return [part for part, _ in everything]


@contextmanager
def evaluation_mode(model: nn.Module) -> Iterator[None]:
    """Keep a model in evaluation and inference mode. Afterwards each module is back in its own mode: frozen batch norms
    stay in evaluation mode while the rest trains, so one flag for all would not do.
    """
    before = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        with torch.inference_mode():
            yield
    finally:
        for module, training in before:
            module.training = training
