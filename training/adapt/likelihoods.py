"""How well every policy's looks speak for a target that is a probability per class, from a feature bank."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from tnet_core.modeling.location import normalise_logits
from tnet_core.modeling.tnet import TNet
from training.evaluation.bootstrap import interval, resampled_means
from training.evaluation.features import Looks, Ranker, learned, project, subset_logits
from training.evaluation.plan import Options, Tree
from training.evaluation.policies import Oracle, centre, fixed, random
from training.evaluation.report import COMPARED, rounded
from training.policy.bank import FeatureBank, classes_in
from training.policy.targets import worth

ABOUT = (
    "Mean log-likelihood of the full-image prediction, sum over classes of p_full(class) log p(class), at each budget; "
    "p_full is the backbone's distribution over classes at the temperature given here. 'best' is what p_full itself "
    "would get. Intervals are those of a paired bootstrap over images."
)
_CHUNK = 64  # images at once


def likelihoods(model: TNet, bank: FeatureBank, options: Options) -> dict[str, Any]:
    """For evaluation.json: every policy at 0 … 10 looks and the paired differences between policies."""
    most = min(10, model.config.cells)
    found = per_image(model, bank, [(k,) for k in range(most + 1)], options)
    names = list(found)
    table = np.concatenate([found[name] for name in names], axis=1)
    samples = np.split(resampled_means(table, options.resamples, options.seed), len(names), axis=1)
    means = {name: values.mean(0, dtype=np.float64) for name, values in found.items()}
    resampled = dict(zip(names, samples, strict=True))
    target = torch.from_numpy(np.array(bank.labels, np.float64))
    content: dict[str, Any] = {
        "about": ABOUT,
        "best": round(float(-torch.special.entr(target).sum(1).mean()), 6),
        "policies": {
            name: {
                "log_likelihood": rounded(means[name]),
                "interval": rounded(interval(resampled[name], options.confidence)),
            }
            for name in names
        },
        "comparisons": {},
    }
    for first, second in COMPARED:
        content["comparisons"][f"{first}-{second}"] = {
            "difference": rounded(means[first] - means[second]),
            "interval": rounded(interval(resampled[first] - resampled[second], options.confidence)),
        }
    return content


@torch.inference_mode()
def per_image(
    model: TNet, bank: FeatureBank, budgets: list[tuple[int, ...]], options: Options
) -> dict[str, np.ndarray]:
    """Log-likelihood of each image's target at each budget, by policy: (images, S) each."""
    n = model.config.grid
    mean = _mean_probabilities(model, bank)
    rankers: dict[str, list[Ranker]] = {
        "learned": [learned],
        "random": [random(options.seed, draw) for draw in range(options.draws)],
        "centre": [centre(n)],
        "mean": [fixed([mean])],
    }
    parts: dict[str, list[np.ndarray]] = {name: [] for name in (*rankers, "oracle")}
    for start in range(0, len(bank), _CHUNK):
        rows = slice(start, start + _CHUNK)
        labels = bank.rows(rows, model.device).labels
        looks = looks_of(model, bank, rows)
        masks = {name: [looks.tree.masks(looks.ranks(r), budgets) for r in some] for name, some in rankers.items()}
        masks["oracle"] = [Oracle(model, looks, classes_in(labels)).masks(budgets)]
        for name, draws in masks.items():
            values = [worth(subset_logits(model, looks.features, looks.projections, mask), labels) for mask in draws]
            parts[name].append(torch.stack(values).mean(0).cpu().numpy())
    return {name: np.concatenate(some) for name, some in parts.items()}


def looks_of(model: TNet, bank: FeatureBank, rows: slice) -> Looks:
    """Rows of a bank as the looks that an evaluation takes."""
    assert model.location is not None
    looked = bank.rows(rows, model.device)
    batch, cells = len(looked.labels), model.config.cells
    logits = normalise_logits(model.location(looked.maps, looked.vectors))
    return Looks(
        tree=Tree((cells,)),
        images=list(range(rows.start, rows.start + batch)),
        features=looked.features,
        projections=project(model, looked.features),
        logits=[logits.unsqueeze(1)],
        cells=[torch.arange(cells, device=model.device).expand(batch, 1, cells)],
        boxes=[[] for _ in range(batch)],
    )


def _mean_probabilities(model: TNet, bank: FeatureBank) -> np.ndarray:
    """The location module's own, over the bank's images: (n * n,)."""
    total = np.zeros(model.config.cells)
    for start in range(0, len(bank), _CHUNK):
        logits = looks_of(model, bank, slice(start, start + _CHUNK)).logits[0]
        total += logits.double().softmax(2).sum((0, 1)).cpu().numpy()
    return total / len(bank)
