"""Draws the four needles canvases of examples/: chosen ones of the recipe's validation split, which nobody trained on.

Usage: python -m tools.needles_examples [--out FOLDER] [--check]

`--check` writes nothing and says whether the files here show the same pixels.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image

from tnet_core.errors import TNetError
from training.data import Sample, open_split
from training.recipes.reading import read_recipe

FOLDER = Path(__file__).resolve().parents[1] / "examples"
RECIPE = "needles"


@dataclass(frozen=True)
class Example:
    file: str
    index: int  # in the validation split
    symbol: str  # the class
    recognised: bool  # by the bundled tnet-needles with the looks it was trained with


# Among the first thirty canvases: three with the whole needle in a close look, and one whose needle is overlooked.
EXAMPLES = (
    Example("needles-1.webp", 6, "house", True),
    Example("needles-2.webp", 8, "triangle", True),
    Example("needles-3.webp", 23, "zigzag", True),
    Example("needles-4.webp", 20, "hourglass", False),
)


def draw_examples() -> dict[Example, Sample]:
    """Return the canvases, drawn from the seed alone."""
    recipe = read_recipe(RECIPE)
    canvases = open_split(recipe.data, "validation", seed=recipe.seed)
    found = {example: canvases[example.index] for example in EXAMPLES}
    for example, sample in found.items():
        shows = canvases.class_names[sample.label]
        if shows != example.symbol:
            raise TNetError(f"Canvas {example.index} shows '{shows}', not '{example.symbol}': the recipe has changed.")
    return found


def write_examples(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for example, sample in draw_examples().items():
            # Lossless; a third smaller than PNG.
            Image.fromarray(sample.image).save(folder / example.file, "WEBP", lossless=True, quality=100, method=6)
    except OSError as error:
        raise TNetError(f"Cannot write '{folder}': {error.strerror or error}.") from None


def find_changed(folder: Path) -> list[str]:
    """Return the files that are missing or show something else."""
    return [e.file for e, sample in draw_examples().items() if not _is_shown(folder / e.file, sample.image)]


def _is_shown(path: Path, pixels: np.ndarray) -> bool:
    try:
        with Image.open(path) as image:
            return np.array_equal(np.asarray(image.convert("RGB")), pixels)
    except OSError:
        return False


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.needles_examples", description=__doc__.splitlines()[0])
    parser.add_argument("--out", metavar="FOLDER", type=Path, default=FOLDER, help="default: examples")
    parser.add_argument("--check", action="store_true", help="write nothing, compare")
    options = parser.parse_args(arguments)
    try:
        if not options.check:
            write_examples(options.out)
            return 0
        wrong = find_changed(options.out)
    except TNetError as error:
        print(error, file=sys.stderr)
        return 2
    if wrong:
        print(f"Missing or different in '{options.out}': {', '.join(wrong)}.", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
