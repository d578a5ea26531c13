"""`python -m training.agreement CHECKPOINT FOLDER…`: how well a few looks say what the whole image says.

For checkpoints whose backbone and classifier are pretrained and unchanged (`training.adapt`): labels are the
predictions of that backbone for the whole images, so no labelled data is needed, and "accuracy" is the share of
images for which the looks agree with it. Writes `evaluation.json` beside the checkpoint.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import tnet_core as tn
from tnet_core.command import run_command
from training.adapt.agreement import measure_agreement, read_target
from training.adapt.photographs import open_photographs
from training.adapt.pretrained import AdaptOptions, Classes
from training.evaluation.output import add_result_options, choose_result_place
from training.evaluation.table import format_evaluation


def main(arguments: Sequence[str] | None = None) -> int:
    given = list(sys.argv[1:] if arguments is None else arguments)
    command = ["python", "-m", "training.agreement", *given]
    return run_command(lambda: _run(_make_parser().parse_args(given), command), "Interrupted; nothing was written.")


def _make_parser() -> argparse.ArgumentParser:
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
    add_result_options(parser)
    return parser


def _run(given: argparse.Namespace, command: list[str]) -> int:
    place = choose_result_place(given.checkpoint, given.out, update=given.update)
    model = tn.load(given.checkpoint)
    place.check()
    options = AdaptOptions(
        backbone=model.config.backbone, images=tuple(Path(folder) for folder in given.images), holdout=given.holdout,
        measure=tuple(given.measure), seed=given.seed, workers=given.workers,
    )  # fmt: skip
    photographs = open_photographs(options, Classes(model.class_names), model.config.num_classes)
    whole = read_target(model, given.full_resolution)
    content = measure_agreement(
        model, photographs.held_out, whole, seed=given.seed, workers=given.workers, command=command
    )
    print(format_evaluation(content))
    place.write(content, lambda text: print(text, file=sys.stderr))
    return 0


if __name__ == "__main__":
    sys.exit(main())
