"""`python -m training.agreement CHECKPOINT FOLDER…`: how well a few looks say what the whole image says.

For checkpoints whose backbone and classifier are pretrained and unchanged (`training.adapt`): labels are the
predictions of that backbone for the whole images, so no labelled data is needed, and "accuracy" is the share of
images for which the looks agree with it. Writes `evaluation.json` beside the checkpoint.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

import tnet_core as tn
from tnet_core.checkpoints.card import card_of
from tnet_core.command import finished
from tnet_core.errors import TNetError
from tnet_core.modeling.tnet import TNet
from training.adapt.classes import Classes
from training.adapt.full_image import FullImageLabels, sharpened, stream
from training.adapt.likelihoods import likelihoods
from training.adapt.options import AdaptOptions
from training.adapt.photographs import open_photographs
from training.data.sample import ImageDataset
from training.evaluation.evaluate import evaluate
from training.evaluation.output import Bar, check_place, result_path, write_evaluation
from training.evaluation.plan import Options
from training.evaluation.table import table
from training.policy.bank import FeatureBank, check_two_levels, classes_in, make_bank

_AT_ONCE = 8


def main(arguments: Sequence[str] | None = None) -> int:
    given = list(sys.argv[1:] if arguments is None else arguments)
    options, command = _parser().parse_args(given), ["python", "-m", "training.agreement", *given]
    return finished(lambda: _run(options, command), "Interrupted; nothing was written.")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m training.agreement",
        description="Measure how often a few looks agree with what the same backbone says about the whole image, "
        "for every number of looks and against random, central, average and hindsight looks. Needs no labels.",
    )
    add = parser.add_argument
    add("checkpoint", metavar="CHECKPOINT", help="registry id, folder or hf:owner/name, made by training.adapt")
    add("images", metavar="FOLDER", nargs="+", help="folders of photographs; sub-folders are searched")
    add("--holdout", type=int, default=10, help="measure on one image in so many, by the crc32 of its name (10)")
    add("--measure", type=int, nargs="+", default=(), metavar="N", help="at most so many images of each folder, evenly "
        "spread; one number for all folders or one per folder (default: all)")  # fmt: skip
    add("--full-resolution", type=int, help="of the whole image (default: that of the checkpoint's training)")
    add("--seed", type=int, default=0, help="of the random policy and of the bootstrap (0)")
    add("--workers", type=int, default=2, help="processes that decode images (2)")
    add("--out", metavar="FILE", help="write here (default: evaluation.json in the checkpoint's folder)")
    return parser


def _run(given: argparse.Namespace, command: list[str]) -> int:
    path = result_path(given.checkpoint, given.out)
    check_place(path)
    model = tn.load(given.checkpoint)
    options = AdaptOptions(
        backbone=model.config.backbone, images=tuple(Path(folder) for folder in given.images), holdout=given.holdout,
        measure=tuple(given.measure), seed=given.seed, workers=given.workers,
    )  # fmt: skip
    photographs = open_photographs(options, Classes(model.class_names), model.config.num_classes)
    whole = told_target(model, given.full_resolution)
    content = measure(model, photographs.held_out, whole, seed=given.seed, workers=given.workers, command=command)
    print(table(content))
    write_evaluation(content, path)
    print(f"Written to '{path}'.", file=sys.stderr)
    return 0


@dataclass(frozen=True)
class WholeImage:
    """What the looks are compared with: see `training.adapt.full_image`."""

    side: int  # at which the backbone sees the whole image
    temperature: float  # of its prediction as a distribution over classes


def told_target(model: TNet, side: int | None = None) -> WholeImage:
    """That of the checkpoint's training, from its provenance; `side` replaces the resolution."""
    told = card_of(model).provenance
    resolution, temperature = side or told.get("full_resolution"), told.get("temperature", 1.0)
    if type(resolution) is not int or not isinstance(temperature, (int, float)) or not 0.05 <= temperature <= 1:
        raise TNetError("The checkpoint does not say at which resolution whole images are seen; use --full-resolution.")
    low, high = model.config.base_resolution, model.config.input_size
    if not low <= resolution <= high:
        raise TNetError(f"This checkpoint can see whole images at {low}…{high} px, not at {resolution}.")
    return WholeImage(resolution, float(temperature))


def measure(
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
    """The content of evaluation.json; accuracy means agreement, and the split says so.

    `bank`: the features of these images, if they are at hand; labels are always the model's own.
    """
    check_two_levels(model)
    model = tn.optimised(model)
    targets = [batch for _, batch in stream(model, dataset, whole.side, _AT_ONCE, workers)]
    labels = classes_in(torch.cat(targets)).tolist()
    options = Options(seed=seed, workers=workers)
    with Bar(shown=not quiet) as bar:
        content = evaluate(model, FullImageLabels(dataset, labels, whole.side), options, bar.update, command=command)
    if bank is None:
        bank = make_bank(model, stream(model, dataset, whole.side, _AT_ONCE, workers), len(dataset), quiet=quiet)
    sharp = bank.relabelled(sharpened(torch.cat(targets).numpy(), whole.temperature))
    content["agreement"] = {
        "full_resolution": whole.side,
        "temperature": whole.temperature,
        **likelihoods(model, sharp, options),
    }
    return content


if __name__ == "__main__":
    sys.exit(main())
