"""How well a few looks say what the whole image says, image by image and policy by policy.

Labels are the predictions of the unchanged backbone for the whole images, so no labelled data is needed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

import tnet_core as tn
from tnet_core.checkpoints.card import card_of
from tnet_core.errors import TNetError
from tnet_core.modeling.location import normalise_logits
from tnet_core.modeling.tnet import TNet
from training.adapt.photographs import sharpen, stream_targets
from training.data.sample import DatasetView, ImageDataset
from training.evaluation.bootstrap import compute_interval, resample_means
from training.evaluation.features import Looks, Ranker, classify_subsets, project_features, rank_as_learned
from training.evaluation.output import ProgressBar
from training.evaluation.plan import Options, Tree
from training.evaluation.policies import Oracle, Surest, make_centre_ranker, make_fixed_ranker, make_random_ranker
from training.evaluation.report import COMPARED, round_values
from training.evaluation.run import evaluate
from training.policy.bank import FeatureBank, check_two_levels, make_bank, pick_classes
from training.policy.targets import compute_worth

_IMAGES_AT_ONCE = 8
ABOUT = (
    "Mean log-likelihood of the full-image prediction, sum over classes of p_full(class) log p(class), at each budget; "
    "p_full is the backbone's distribution over classes at the temperature given here. 'best' is what p_full itself "
    "would get. Intervals are those of a paired bootstrap over images."
)
_CHUNK_ROWS = 64  # images at once


@dataclass(frozen=True)
class WholeImage:
    """What the looks are compared with: see `training.adapt.photographs`."""

    side: int  # at which the backbone sees the whole image
    temperature: float  # of its prediction as a distribution over classes


def read_target(model: TNet, side: int | None = None) -> WholeImage:
    """Return the target of the checkpoint's training from its provenance; `side` replaces the resolution."""
    provenance = card_of(model).provenance
    resolution, temperature = side or provenance.get("full_resolution"), provenance.get("temperature", 1.0)
    if type(resolution) is not int or not isinstance(temperature, (int, float)) or not 0.05 <= temperature <= 1:
        raise TNetError("The checkpoint does not say at which resolution whole images are seen; use --full-resolution.")
    low, high = model.config.base_resolution, model.config.input_size
    if not low <= resolution <= high:
        raise TNetError(f"This checkpoint can see whole images at {low}…{high} px, not at {resolution}.")
    return WholeImage(resolution, float(temperature))


def measure_agreement(
    model: TNet,
    dataset: ImageDataset,
    whole: WholeImage,
    *,
    seed: int,
    workers: int,
    command: list[str],
    bank: FeatureBank | None = None,
    quiet: bool = False,
) -> dict[str, Any]:
    """Return the content of evaluation.json; accuracy means agreement, and the split says so.

    `bank`: the features of these images, if they are at hand; labels are always the model's own.
    """
    check_two_levels(model)
    model = tn.optimised(model)
    targets = [batch for _, batch in stream_targets(model, dataset, whole.side, _IMAGES_AT_ONCE, workers)]
    labels = pick_classes(torch.cat(targets)).tolist()
    split = f"{dataset.split}, agreement with the backbone's own prediction for the whole image at {whole.side} px"
    relabelled = DatasetView(dataset, split=split, labels=labels)
    options = Options(seed=seed, workers=workers)
    with ProgressBar(is_shown=not quiet) as bar:
        content = evaluate(model, relabelled, options, bar.update, command=command)
    if bank is None:
        bank = make_bank(
            model, stream_targets(model, dataset, whole.side, _IMAGES_AT_ONCE, workers), len(dataset), quiet=quiet
        )
    sharp = bank.with_labels(sharpen(torch.cat(targets).numpy(), whole.temperature))
    content["agreement"] = {
        "full_resolution": whole.side,
        "temperature": whole.temperature,
        **measure_likelihoods(model, sharp, options),
    }
    return content


def measure_likelihoods(model: TNet, bank: FeatureBank, options: Options) -> dict[str, Any]:
    """Return a section of evaluation.json: every policy at 0 … 10 looks and the paired differences between policies."""
    most = min(10, model.config.cells)
    found = score_images(model, bank, [(k,) for k in range(most + 1)], options)
    names = list(found)
    table = np.concatenate([found[name] for name in names], axis=1)
    samples = np.split(resample_means(table, options.resamples, options.seed), len(names), axis=1)
    means = {name: values.mean(0, dtype=np.float64) for name, values in found.items()}
    resampled = dict(zip(names, samples, strict=True))
    target = torch.from_numpy(np.array(bank.labels, np.float64))
    content: dict[str, Any] = {
        "about": ABOUT,
        "best": round(float(-torch.special.entr(target).sum(1).mean()), 6),
        "policies": {
            name: {
                "log_likelihood": round_values(means[name]),
                "interval": round_values(compute_interval(resampled[name], options.confidence)),
            }
            for name in names
        },
        "comparisons": {},
    }
    for first, second in COMPARED:
        content["comparisons"][f"{first}-{second}"] = {
            "difference": round_values(means[first] - means[second]),
            "interval": round_values(compute_interval(resampled[first] - resampled[second], options.confidence)),
        }
    return content


@torch.inference_mode()
def score_images(
    model: TNet, bank: FeatureBank, budgets: list[tuple[int, ...]], options: Options
) -> dict[str, np.ndarray]:
    """Return the log-likelihood of each image's target at each budget, by policy: (images, S) each."""
    n = model.config.grid
    mean = _average_probabilities(model, bank)
    rankers: dict[str, list[Ranker]] = {
        "learned": [rank_as_learned],
        "random": [make_random_ranker(options.seed, draw) for draw in range(options.draws)],
        "centre": [make_centre_ranker(n)],
        "mean": [make_fixed_ranker([mean])],
    }
    parts: dict[str, list[np.ndarray]] = {name: [] for name in (*rankers, "surest", "oracle")}
    for start in range(0, len(bank), _CHUNK_ROWS):
        rows = slice(start, start + _CHUNK_ROWS)
        labels = bank.rows(rows, model.device).labels
        looks = make_looks(model, bank, rows)
        masks = {name: [looks.tree.make_masks(looks.rank(r), budgets) for r in some] for name, some in rankers.items()}
        masks["surest"] = [Surest(model, looks).make_masks(budgets)]
        masks["oracle"] = [Oracle(model, looks, pick_classes(labels)).make_masks(budgets)]
        for name, draws in masks.items():
            values = [
                compute_worth(classify_subsets(model, looks.features, looks.projections, mask), labels)
                for mask in draws
            ]
            parts[name].append(torch.stack(values).mean(0).cpu().numpy())
    return {name: np.concatenate(some) for name, some in parts.items()}


def make_looks(model: TNet, bank: FeatureBank, rows: slice) -> Looks:
    """Return rows of a bank as the looks that an evaluation takes."""
    assert model.location is not None
    looked = bank.rows(rows, model.device)
    batch, cells = len(looked.labels), model.config.cells
    logits = normalise_logits(model.location(looked.maps, looked.vectors))
    return Looks(
        tree=Tree((cells,)),
        images=list(range(rows.start, rows.start + batch)),
        features=looked.features,
        projections=project_features(model, looked.features),
        logits=[logits.unsqueeze(1)],
        cells=[torch.arange(cells, device=model.device).expand(batch, 1, cells)],
        boxes=[[] for _ in range(batch)],
    )


def _average_probabilities(model: TNet, bank: FeatureBank) -> np.ndarray:
    """Return the location module's own probabilities, averaged over the bank's images: (n * n,)."""
    total = np.zeros(model.config.cells)
    for start in range(0, len(bank), _CHUNK_ROWS):
        logits = make_looks(model, bank, slice(start, start + _CHUNK_ROWS)).logits[0]
        total += logits.double().softmax(2).sum((0, 1)).cpu().numpy()
    return total / len(bank)
