"""The accuracy-against-looks curve in one batched pass, for validation while training."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from tnet_core.budget import check_budget
from tnet_core.errors import TNetError
from tnet_core.modeling.tnet import TNet
from training.data.sample import ImageDataset
from training.evaluation.features import hits, project, subset_logits
from training.evaluation.plan import Tree, learned_ranks
from training.evaluation.stream import batches, evaluating, everywhere, shared, spread

if TYPE_CHECKING:
    from accelerate import Accelerator


@dataclass(frozen=True)
class Accuracy:
    top1: float  # fraction of images
    top5: float
    images: int


def validation_curve(
    model: TNet,
    dataset: ImageDataset,
    budget: Sequence[int] | int | None,
    batch_size: int,
    limit: int | None = None,
    accelerator: Accelerator | None = None,
    *,
    workers: int = 0,
) -> dict[tuple[int, ...], Accuracy]:
    """Top-1 and top-5 for every budget up to `budget` (None: that of training), smallest first.

    Looks are taken once, at the largest budget; smaller ones re-aggregate their features. `limit`
    takes that many images spread evenly over the split. With an `accelerator` the images are shared
    among its processes and every process gets the result of all, or the error of one. A baseline has
    the one budget ().
    """
    plain: TNet = model if accelerator is None else accelerator.unwrap_model(model)
    tree = Tree(check_budget(plain.config, budget, None))
    budgets = list(tree.budgets())
    official = replace(plain.config, sampling="official")  # forward_train is official, whatever the model
    indices = spread(len(dataset), limit)
    if not indices:
        raise TNetError(f"There are no images in the split '{dataset.split}' of {dataset.name}.")
    with evaluating(plain), shared(indices, accelerator) as mine:

        def counted() -> np.ndarray:
            total = torch.zeros((len(budgets), 2), dtype=torch.int64, device=plain.device)
            for batch in batches(dataset, mine, official, batch_size, workers):
                assert isinstance(batch.images, Tensor)
                with nullcontext() if accelerator is None else accelerator.autocast():
                    out = plain.forward_train(batch.images.to(plain.device), tree.widths)
                features = out.features.float()
                masks = tree.masks(learned_ranks(tree, out), budgets)
                logits = subset_logits(plain, features, project(plain, features), masks)
                total += hits(logits, batch.labels.to(plain.device)).sum(0)
            return total.cpu().numpy()

        right = np.sum(everywhere(counted, accelerator), axis=0)
    count = len(indices)
    found = zip(budgets, right.tolist(), strict=True)
    return {b: Accuracy(first / count, five / count, count) for b, (first, five) in found}
