"""`python -m training.evaluate CHECKPOINT DATA`: measure a checkpoint and write `evaluation.json` beside it."""

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
from tnet_core.command import (
    LAUNCHED,
    count_processes,
    discard_output,
    name_program,
    run_command,
    warn_of_lone_process,
)
from tnet_core.errors import TNetError, reason
from tnet_core.inference.conversion import PRECISIONS
from tnet_core.published import attention_rows, paper_rows
from tnet_core.schemas.evaluation import to_compact_text
from tnet_core.schemas.files import expand_home
from training.data import open_folder, open_split
from training.data.dataset import describe_folders
from training.data.reading import is_folder, list_sub_folders
from training.data.sample import DatasetView, ImageDataset
from training.evaluation.classes import fit_to
from training.evaluation.compare import PaperReference, find_paper_reference
from training.evaluation.output import (
    ProgressBar,
    add_result_options,
    choose_result_place,
    find_folder,
    write_recommendation,
)
from training.evaluation.plan import POLICIES, Options
from training.evaluation.run import clean_line, evaluate
from training.evaluation.table import format_evaluation
from training.recipes.reading import list_recipes, read_recipe
from training.recipes.recipe import Recipe

_RECIPE_SUFFIXES = (".yaml", ".yml")


def main(arguments: Sequence[str] | None = None) -> int:
    given = list(sys.argv[1:] if arguments is None else arguments)
    command = ["python", "-m", "training.evaluate", *given]
    return run_command(lambda: _run(_make_parser().parse_args(given), command), "Interrupted; nothing was written.")


def _make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=name_program("training.evaluate"),
        description="Measure a checkpoint on labelled images: every budget with and without context, other policies "
        "at equal budget, adaptive stopping, where it looks, whether looks follow content; with confidence intervals. "
        "For several processes: accelerate launch --multi_gpu --num_processes N -m training.evaluate ….",
    )
    add = parser.add_argument
    add("checkpoint", metavar="CHECKPOINT", help="registry id, folder or hf:owner/name")
    add("data", metavar="DATA", nargs="?", help="a folder of class folders, or a recipe (its validation split)")
    add("--recipe", help="measure on this recipe's validation split; DATA is then its root folder")
    add("--split", help="sub-folder of DATA, or split of the recipe; recorded as the name of the split")
    add("--split-name", help="what to record as the split of a folder (default: the name of the folder)")
    add("--boxes", metavar="CSV", help="boxes of the objects: file,x,y,w,h,width,height")
    add("--budget", type=_parse_budget, help="most looks per grid: 10, or 4,2 for three levels (default: 10)")
    add(
        "--policies",
        type=_parse_names,
        default=POLICIES,
        help=f"comma-separated, of {', '.join(POLICIES)} (default: all)",
    )
    add("--match", choices=("name", "order"), default="name", help="how classes are found in the checkpoint")
    add("--limit", type=int, help="at most this many images, evenly spread over the split")
    add("--skip-unreadable", action="store_true", help="leave unreadable images out and count them")
    add("--seed", type=int, default=0, help="of the random policy and of the bootstrap (default: 0)")
    add("--draws", type=int, default=5, help="of the random policy (default: 5)")
    add("--resamples", type=int, default=10_000, help="of the bootstrap (default: 10000)")
    both = argparse.BooleanOptionalAction
    add("--equivariance", action=both, default=True, help="whether first looks follow content that is moved")
    add("--timing", action=both, default=True, help="time per image, one image at a time (about 15 seconds)")
    add("--batch-size", type=int, help="images per batch (default: by the number of looks)")
    add("--workers", type=int, default=2, help="processes that decode images (default: 2)")
    add("--device", help="cpu, cuda, … (default: the best there is)")
    add("--precision", choices=tuple(PRECISIONS), default="float32", help="bfloat16: faster, less exact; recorded")
    add_result_options(parser)
    add(
        "--recommend",
        action="store_true",
        help="write the temperature and the stopping rule that were found into the checkpoint's config.json "
        "(with --update where a registry pins it)",
    )
    add("--format", choices=("table", "json"), default="table", help="what to print")
    return parser


def _parse_budget(text: str) -> int | tuple[int, ...]:
    try:
        numbers = tuple(int(part) for part in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a budget such as 10 or 4,2") from None
    return numbers[0] if len(numbers) == 1 else numbers


def _parse_names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


def _run(given: argparse.Namespace, command: list[str]) -> int:
    options = Options(
        budget=given.budget, policies=given.policies, limit=given.limit, seed=given.seed, draws=given.draws,
        resamples=given.resamples, batch_size=given.batch_size, workers=given.workers,
        skip_unreadable=given.skip_unreadable, equivariance=given.equivariance, timing=given.timing,
    )  # fmt: skip
    warn_of_lone_process()
    accelerator = None
    if count_processes(*LAUNCHED) > 1:
        from accelerate import Accelerator

        accelerator = Accelerator(cpu=given.device == "cpu" or not torch.cuda.is_available())
    try:
        is_first = accelerator is None or accelerator.is_main_process
        device = given.device if accelerator is None else accelerator.device
        place = choose_result_place(given.checkpoint, given.out, update=given.update)
        model = tn.load(given.checkpoint, device=device, on_notice=_say if is_first else _ignore)
        place.check()  # after it: where there is no checkpoint, its folder is not what is missing
        folder = find_folder(given.checkpoint, update=given.update) if given.recommend else None
        model = tn.optimised(model, precision=given.precision)
        seed = card_of(model).provenance.get("seed")
        data = open_data(given.data, given.recipe, given.split, given.boxes, given.split_name, seed=seed)
        if is_first and data.about:
            _say(data.about)
        dataset = fit_to(model, data.dataset, given.match)
        with ProgressBar(is_shown=is_first) as bar:
            content = evaluate(model, dataset, options, bar.update, accelerator=accelerator, command=command)
        if is_first:
            content["dataset"]["split"] = clean_line(data.split)
            paper = find_paper_reference(model, data.recipe)
            if paper.selector:
                content |= {"paper": paper.selector, "paper_same_model": not paper.nearest}
            _show(content, paper, given.format)  # first: a full disk must not cost the result
            place.write(content, _say)
            if folder is not None:
                write_recommendation(folder, content, _say)
    finally:
        if accelerator is not None:
            accelerator.end_training()
    return 0


def _show(content: dict[str, Any], paper: PaperReference, style: str) -> None:
    try:
        print(to_compact_text(content) if style == "json" else _make_table(content, paper), flush=True)
    except OSError as error:  # a closed pipe, or output redirected to a full disk: the file is still to be written
        _say(f"The result cannot be shown ({reason(error)}).")
        discard_output()


def _make_table(content: dict[str, Any], paper: PaperReference) -> str:
    try:
        rows = paper_rows(paper.selector) if paper.selector else {}
    except TNetError as error:
        _say(str(error))
        rows = {}
    return format_evaluation(content, rows, attention_rows(paper.selector), paper)


def _say(text: str) -> None:
    print(text, file=sys.stderr)


def _ignore(_: str) -> None:
    return


@dataclass(frozen=True)
class OpenedData:
    dataset: ImageDataset
    split: str  # as it is to be recorded
    recipe: Recipe | None
    about: str = ""  # what to say about it


def open_data(
    data: str | None,
    recipe: str | None,
    split: str | None,
    boxes: str | None,
    split_name: str | None = None,
    *,
    seed: object = None,
) -> OpenedData:
    """Open a folder of class folders, or the validation split of a recipe.

    `data` is a folder or a recipe; with `recipe`, it is the root folder for that recipe. `split`
    is a sub-folder of the data, or the recipe's split of that name. `split_name` is what a folder's
    split is recorded as, if not by the name of the folder that holds the classes. `seed` is that of the
    checkpoint's training, if known: generated images are those that it was validated on.
    """
    if recipe is None and data is not None and _is_recipe(data):
        data, recipe = None, data
    if recipe is not None:
        if boxes is not None:
            raise TNetError("A recipe names its own boxes; give --boxes only with a folder of class folders.")
        if split_name is not None:
            raise TNetError("A recipe names its own splits; give --split-name only with a folder of class folders.")
        return _open_recipe(recipe, data, split, seed)
    if data is None:
        raise TNetError("Give a folder of class folders or a recipe to measure on.")
    folder = expand_home(data)
    name = folder.resolve().name
    if split is not None:
        folder = _find_sub_folder(folder, split)
    opened = open_folder(folder, boxes=None if boxes is None else expand_home(boxes))
    recorded = split_name or split or folder.resolve().name or opened.split
    return OpenedData(DatasetView(opened, name=name or opened.name, split=recorded), recorded, None)


def _find_sub_folder(folder: Path, split: str) -> Path:
    if not is_folder(folder):
        raise TNetError(f"The folder {folder} does not exist.")
    if split not in list_sub_folders(folder):
        raise TNetError(
            f"The folder {folder} has no sub-folder '{split}' ({describe_folders(folder)}); to record what is in it "
            f"as that split, use --split-name {split}."
        )
    return folder / split


def _is_recipe(data: str) -> bool:
    if is_folder(expand_home(data)):
        return False
    return data.endswith(_RECIPE_SUFFIXES) or data in list_recipes()


def _open_recipe(spec: str, root: str | None, split: str | None, seed: object) -> OpenedData:
    changes = [] if root is None else [f"data.root={expand_home(root)}"]
    recipe = read_recipe(spec, changes)
    which = "train" if split in ("train", recipe.data.train) else "validation"
    if split is not None and which == "validation" and split not in ("validation", recipe.data.validation):
        if recipe.data.kind == "needles":
            raise TNetError(
                f"The canvases of {recipe.name} have the splits 'train' and 'validation' only, not '{split}'."
            )
        recipe = read_recipe(spec, [*changes, f"data.validation={split}", "data.holdout=0"])
    drawn, about = recipe.seed, ""
    if recipe.data.kind == "needles":
        is_known = isinstance(seed, int) and not isinstance(seed, bool)
        drawn = seed if is_known else recipe.seed  # type: ignore[assignment]
        about = f"Canvases of seed {drawn}, {'that of the training' if is_known else f'that of {recipe.name}'}."
    opened = open_split(recipe.data, "train" if which == "train" else "validation", seed=drawn)
    return OpenedData(opened, split or opened.split, recipe, about)


if __name__ == "__main__":
    sys.exit(main())
