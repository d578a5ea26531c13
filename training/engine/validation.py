"""Accuracy while training: of the batch just done and of the validation split; and when to stop before the last step.

The accuracy-against-looks curve of a split takes one batched pass.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace
from time import monotonic
from types import FrameType
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from tnet_core.budget import check_budget
from tnet_core.command import is_first_process
from tnet_core.errors import TNetError
from tnet_core.modeling.tnet import TNet, TrainOutput
from training.data.sample import ImageDataset
from training.evaluation.features import classify_subsets, find_hits, project_features
from training.evaluation.plan import Tree, rank_learned
from training.evaluation.stream import evaluation_mode, gather_results, load_batches, share_indices, spread_indices
from training.recipes.recipe import Recipe

if TYPE_CHECKING:
    from accelerate import Accelerator

_SAME_REQUEST = 1.0  # seconds: a launcher passes on a Ctrl-C that its processes got, too


@dataclass(frozen=True)
class Accuracy:
    top1: float  # fraction of images
    top5: float
    images: int


def measure_curve(
    model: TNet,
    dataset: ImageDataset,
    budget: Sequence[int] | int | None,
    batch_size: int,
    limit: int | None = None,
    accelerator: Accelerator | None = None,
    *,
    workers: int = 0,
) -> dict[tuple[int, ...], Accuracy]:
    """Return top-1 and top-5 for every budget up to `budget` (None: that of training), smallest first.

    Looks are taken once, at the largest budget; smaller ones re-aggregate their features. `limit`
    takes that many images spread evenly over the split. With an `accelerator` the images are shared
    among its processes and every process gets the result of all, or the error of one. A baseline has
    the one budget ().
    """
    plain: TNet = model if accelerator is None else accelerator.unwrap_model(model)
    tree = Tree(check_budget(plain.config, budget, None))
    budgets = list(tree.budgets())
    official = replace(plain.config, sampling="official")  # forward_train is official, whatever the model
    indices = spread_indices(len(dataset), limit)
    if not indices:
        raise TNetError(f"There are no images in the split '{dataset.split}' of {dataset.name}.")
    with evaluation_mode(plain), share_indices(indices, accelerator) as mine:

        def count_hits() -> np.ndarray:
            total = torch.zeros((len(budgets), 2), dtype=torch.int64, device=plain.device)
            for batch in load_batches(dataset, mine, official, batch_size, workers):
                assert isinstance(batch.images, Tensor)
                with nullcontext() if accelerator is None else accelerator.autocast():
                    out = plain.forward_train(batch.images.to(plain.device), tree.widths)
                features = out.features.float()
                masks = tree.make_masks(rank_learned(tree, out), budgets)
                logits = classify_subsets(plain, features, project_features(plain, features), masks)
                total += find_hits(logits, batch.labels.to(plain.device)).sum(0)
            return total.cpu().numpy()

        right = np.sum(gather_results(count_hits, accelerator), axis=0)
    count = len(indices)
    found = zip(budgets, right.tolist(), strict=True)
    return {b: Accuracy(first / count, five / count, count) for b, (first, five) in found}


@torch.no_grad()
def measure_batch(model: TNet, out: TrainOutput, labels: Tensor) -> dict[tuple[int, ...], float]:
    """Return top-1 for every budget up to that of the step; no backbone runs."""
    tree = Tree(tuple(cells.shape[1] for cells in out.selected))
    budgets = list(tree.budgets())
    features = out.features.float()
    masks = tree.make_masks(rank_learned(tree, out), budgets)
    right = classify_subsets(model, features, project_features(model, features), masks).argmax(2) == labels.view(-1, 1)
    return dict(zip(budgets, right.float().mean(0).tolist(), strict=True))


class Stopping:
    """A context in which SIGTERM and Ctrl-C ask for a clean end instead of a sudden one; a second Ctrl-C is sudden."""

    def __init__(self, minutes: float | None) -> None:
        self._began = monotonic()
        self._minutes = minutes
        self._previous: dict[int, Any] = {}
        self._requested_at = 0.0
        self.is_requested = False
        self.reserve = 5.0  # seconds that must remain for what follows the last step

    def __enter__(self) -> Stopping:
        if threading.current_thread() is threading.main_thread():  # only there signals can be handled
            self._previous = {
                number: signal.signal(number, self._request) for number in (signal.SIGTERM, signal.SIGINT)
            }
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)

    def _request(self, number: int, _: FrameType | None) -> None:
        if not self.is_requested:
            self._requested_at = monotonic()
            if number == signal.SIGINT and is_first_process():
                with suppress(RuntimeError, OSError):  # what was being printed when the signal came, or no terminal
                    print("\nStopping after this step; Ctrl-C again stops at once, without saving.", file=sys.stderr)
        elif number == signal.SIGINT and monotonic() - self._requested_at > _SAME_REQUEST:
            raise KeyboardInterrupt
        self.is_requested = True

    @property
    def seconds(self) -> float:
        """Seconds since the beginning."""
        return monotonic() - self._began

    def is_due(self) -> bool:
        """Whether to stop now: somebody asked for it, or only the reserve is left."""
        is_late = self._minutes is not None and self.seconds + self.reserve > 60 * self._minutes
        return self.is_requested or is_late


class Validation:
    """Measures the validation split of a run when it is due, and keeps time in reserve for the last measurement."""

    def __init__(
        self, recipe: Recipe, dataset: ImageDataset, per_epoch: int, accelerator: Accelerator, stopping: Stopping
    ) -> None:
        self._recipe, self._dataset, self._accelerator, self._stopping = recipe, dataset, accelerator, stopping
        self._every = max(1, round(recipe.validate_every * per_epoch)) if recipe.validate_every > 0 else 0  # steps
        self._seconds = 0.0  # that the last one took

    def is_due(self, step: int) -> bool:
        """Whether the split is to be measured after this step."""
        return self._every > 0 and step % self._every == 0

    def expect(self, images_per_second: float) -> None:
        """Estimate the time to reserve before one was timed: looking costs about half of learning."""
        if not self._seconds:
            count = min(len(self._dataset), self._recipe.validation_images or len(self._dataset))
            self._stopping.reserve = 5.0 + 0.5 * count / images_per_second

    def measure(self, model: TNet) -> dict[tuple[int, ...], Accuracy]:
        """Return the accuracy at every budget, see `measure_curve`."""
        began = monotonic()
        curve = measure_curve(
            model,
            self._dataset,
            None,
            self._recipe.batch_size // self._accelerator.num_processes or 1,
            limit=self._recipe.validation_images,
            accelerator=self._accelerator,
            workers=self._recipe.data.workers,
        )
        self._seconds = monotonic() - began
        self._stopping.reserve = 5.0 + 1.2 * self._seconds
        return curve
