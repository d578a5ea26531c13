"""All images of a split through the model, shared among processes, to one table of numbers per image."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tnet_core.errors import TNetError
from tnet_core.modeling.tnet import TNet
from training.data.sample import ImageDataset
from training.evaluation.mean_policy import mean_probabilities, sum_probabilities
from training.evaluation.measure import Measurer, Results
from training.evaluation.modes import evaluating
from training.evaluation.options import Options, Plan
from training.evaluation.processes import everywhere, shared
from training.evaluation.stream import Batch, batches, spread

if TYPE_CHECKING:
    from accelerate import Accelerator

Progress = Callable[[str, int, int], None]  # what is done, images done, images in all (of this process)


@dataclass(frozen=True)
class Collected:
    results: Results  # ordered by index
    means: list[np.ndarray]  # mean location probability per depth; empty for a baseline or if not asked for
    unreadable: list[str]  # one sentence each


def collect(
    model: TNet,
    dataset: ImageDataset,
    plan: Plan,
    options: Options,
    progress: Progress | None = None,
    accelerator: Accelerator | None = None,
) -> Collected:
    """Every process gets everything. An error in one process ends all of them with its sentence."""
    indices = spread(len(dataset), options.limit)
    with evaluating(model), shared(indices, accelerator) as mine:

        def stream(what: str, batch_size: int) -> Iterator[Batch]:
            done = 0
            for batch in batches(
                dataset, mine, model.config, batch_size, options.workers, skip_unreadable=options.skip_unreadable
            ):
                yield batch
                done += batch.size + len(batch.unreadable)
                if progress is not None:
                    progress(what, done, len(mine))

        means: list[np.ndarray] = []
        if "mean" in plan.policies:
            totals = everywhere(lambda: sum_probabilities(model, stream("thumbnails", plan.first_batch)), accelerator)
            means = mean_probabilities(np.sum(totals, axis=0))
        measurer = Measurer(model, plan, options.seed, options.draws, means)
        parts = everywhere(lambda: _measured(measurer, stream("looks", plan.batch_size)), accelerator)
    tables = [table for table, _ in parts if table]
    unreadable = [sentence for _, sentences in parts for sentence in sentences]
    if not tables:
        raise TNetError(f"No image of {dataset.name} could be read: {unreadable[0] if unreadable else 'it has none.'}")
    return Collected(_joined(tables), means, unreadable)


def _measured(measurer: Measurer, stream: Iterable[Batch]) -> tuple[Results, list[str]]:
    tables, unreadable = [], []
    for batch in stream:
        unreadable += batch.unreadable
        if batch.size:
            tables.append(measurer(batch))
    return _joined(tables) if tables else {}, unreadable


def _joined(tables: list[Results]) -> Results:
    whole = {key: np.concatenate([table[key] for table in tables]) for key in tables[0]}
    order = np.argsort(whole["index"], kind="stable")
    return {key: values[order] for key, values in whole.items()}
