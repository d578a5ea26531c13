"""`python -m training.train RECIPE [key=value …]`: train a model as a recipe says."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from tnet_core.command import (
    LAUNCHED,
    count_processes,
    is_first_process,
    name_program,
    run_command,
    warn_of_lone_process,
)
from tnet_core.errors import TNetError
from training.recipes.reading import list_recipes, read_recipe
from training.recipes.recipe import Recipe


def main(arguments: Sequence[str] | None = None) -> int:
    return run_command(
        lambda: _run(_make_parser().parse_intermixed_args(arguments)),
        "Interrupted; a run that had saved a state continues from it with --resume.",
    )


def _run(options: argparse.Namespace) -> None:
    if options.list:
        print("\n".join(f"{name:24} {read_recipe(name).about}" for name in list_recipes()))
        return
    if options.recipe is None:
        raise TNetError("Name a recipe, for instance needles-tiny; --list shows all of them.")
    if options.minutes is not None and not options.minutes > 0:
        raise TNetError(f"--minutes is {options.minutes:g}, but must be positive.")
    warn_of_lone_process()
    count_processes(*LAUNCHED)  # processes that cannot find one another would wait for ever
    recipe = read_recipe(options.recipe, options.overrides)
    out = Path(options.out) if options.out else Path("runs") / recipe.name
    folder = _train(recipe, out, options)
    if is_first_process():
        print(folder)


def _train(recipe: Recipe, out: Path, options: argparse.Namespace) -> Path:
    if recipe.policy.target == "none":
        from training.engine.loop import train

        return train(recipe, out, resume=options.resume, minutes=options.minutes)
    from training.policy.training import train_policy

    if options.resume or options.minutes is not None or count_processes() > 1:
        raise TNetError(
            "A policy learned from a feature bank takes minutes in one process; --resume, --minutes and several "
            "processes do not apply to it."
        )
    return train_policy(recipe, out)


def _make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=name_program("training.train"),
        description="Train a model as a recipe says. Writes metrics, states to continue from and a checkpoint into the "
        "folder of the run. With several devices or machines: accelerate launch --multi_gpu --num_processes N -m "
        "training.train … (despite its name, --multi_gpu is what starts several processes, also without a GPU).",
    )
    parser.add_argument("recipe", nargs="?", metavar="RECIPE", help="name or file of a recipe")
    parser.add_argument("overrides", nargs="*", metavar="key=value", help="changes, such as epochs=5 data.root=FOLDER")
    parser.add_argument("--out", metavar="FOLDER", help="folder of the run (default: runs/NAME)")
    parser.add_argument("--resume", action="store_true", help="continue the run in that folder")
    parser.add_argument("--minutes", type=float, metavar="N", help="stop cleanly within this time")
    parser.add_argument("--list", action="store_true", help="list the recipes")
    return parser


if __name__ == "__main__":
    sys.exit(main())
