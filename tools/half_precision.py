"""Counts the validation images whose answer changes when a checkpoint is stored in half precision.

Usage: python -m tools.half_precision TRAINED BUNDLED --recipe RECIPE [--limit N]

TRAINED holds the weights as they were trained, BUNDLED the same in half precision. Both look at every image by
themselves, with every budget up to the trained one.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Sequence

import numpy as np
import torch
from tqdm import tqdm

import tnet_core as tn
from tnet_core.command import run_command
from tnet_core.errors import TNetError
from training.data import open_split
from training.data.augment import make_evaluation_view
from training.data.sample import ImageDataset
from training.recipes.reading import read_recipe

_BATCH = 16


def predict_classes(model: tn.TNet, images: torch.Tensor, budgets: Sequence[tuple[int, ...]]) -> np.ndarray:
    """Return the likeliest class of each, (budgets, images)."""
    with torch.inference_mode():
        return np.stack([model(images, budget).argmax(1).numpy() for budget in budgets])


def compare_answers(
    models: Sequence[tn.TNet], dataset: ImageDataset, budgets: Sequence[tuple[int, ...]], limit: int | None = None
) -> dict[tuple[int, ...], tuple[int, int, int]]:
    """Count by budget the images answered differently, and how many each of the two answers rightly."""
    count = len(dataset) if limit is None else min(limit, len(dataset))
    found = np.zeros((len(budgets), 3), dtype=int)
    for start in tqdm(range(0, count, _BATCH), unit="batch", leave=False):
        samples = [dataset[index] for index in range(start, min(start + _BATCH, count))]
        size = models[0].config.input_size
        images = torch.from_numpy(np.stack([make_evaluation_view(sample.image, size) for sample in samples]))
        labels = np.array([sample.label for sample in samples])
        first, second = (predict_classes(model, images, budgets) for model in models)
        found += np.stack([(first != second).sum(1), (first == labels).sum(1), (second == labels).sum(1)], axis=1)
    return {budget: (int(a), int(b), int(c)) for budget, (a, b, c) in zip(budgets, found, strict=True)}


def _run(options: argparse.Namespace) -> None:
    recipe = read_recipe(options.recipe)
    models = [tn.load(name, device="cpu") for name in (options.trained, options.bundled)]
    if models[0].config.input_size != models[1].config.input_size:
        raise TNetError("The two checkpoints are not of the same model.")
    dataset = open_split(recipe.data, "validation", seed=recipe.seed)
    budgets = list(itertools.product(*(range(looks + 1) for looks in models[0].config.budget)))
    result = compare_answers(models, dataset, budgets, options.limit)
    print(f"{'budget':10} {'differ':>7} {'right, trained':>15} {'right, bundled':>15}")
    for budget, numbers in result.items():
        print(f"{' x '.join(map(str, budget)) or 'none':10} {numbers[0]:7} {numbers[1]:15} {numbers[2]:15}")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trained", metavar="TRAINED", help="folder of the checkpoint as it was trained")
    parser.add_argument("bundled", metavar="BUNDLED", help="folder of the same in half precision")
    parser.add_argument("--recipe", required=True, help="whose validation split is looked at")
    parser.add_argument("--limit", type=int, help="at most this many images")
    options = parser.parse_args(arguments)
    return run_command(lambda: _run(options))


if __name__ == "__main__":
    raise SystemExit(main())
