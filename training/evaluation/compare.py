"""`python -m training.evaluation.compare A B`: two evaluations, image by image.

Each is a checkpoint folder or an evaluation file, with the budget after a colon: `runs/a:3`,
`runs/b:2,1`; without one, a baseline's only budget or that of training.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tnet_core.checkpoints.files import EVALUATION_FILE, MAX_BYTES
from tnet_core.checkpoints.strict_json import read_json
from tnet_core.errors import TNetError
from training.evaluation.bootstrap import interval, resampled_means
from training.evaluation.per_image import paired


@dataclass(frozen=True)
class Difference:
    images: int  # that both have
    first: float  # top-1 on these
    second: float
    low: float  # of first - second, 95 %
    high: float

    def text(self) -> str:
        return (
            f"{100 * self.first:.2f} % against {100 * self.second:.2f} % on {self.images} images: "
            f"{100 * (self.first - self.second):+.2f} points [{100 * self.low:+.2f}, {100 * self.high:+.2f}]"
        )


def compare(
    first: dict[str, Any],
    budget: tuple[int, ...],
    second: dict[str, Any],
    other: tuple[int, ...],
    *,
    resamples: int = 10_000,
    seed: int = 0,
) -> Difference:
    """Top-1 of two contents of `evaluation.json` on the images they share, with a paired interval."""
    ours, theirs = paired(first.get("per_image", {}), budget, second.get("per_image", {}), other)
    if not len(ours):
        raise TNetError("The two evaluations have no image in common.")
    difference = (ours.astype(np.float32) - theirs)[:, None]
    low, high = interval(resampled_means(difference, resamples, seed), 0.95)[0]
    return Difference(len(ours), float(ours.mean()), float(theirs.mean()), float(low), float(high))


def read(spec: str) -> tuple[dict[str, Any], tuple[int, ...]]:
    """The content and the budget that a command-line word means."""
    name, colon, tail = spec.rpartition(":")
    chosen = bool(colon) and all(part.isdecimal() for part in tail.split(","))
    path = Path(name if chosen else spec).expanduser()
    content = read_json(path / EVALUATION_FILE if path.is_dir() else path, MAX_BYTES[EVALUATION_FILE])
    if not isinstance(content, dict) or not isinstance(content.get("per_image"), dict):
        raise TNetError(f"'{path}' does not hold each image's result; measure it with training.evaluate.")
    if chosen:
        return content, tuple(int(part) for part in tail.split(","))
    return content, tuple(content.get("trained_budget", ()))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m training.evaluation.compare", description=__doc__)
    parser.add_argument("first", metavar="A", help="checkpoint folder or evaluation file, e.g. runs/tnet:3")
    parser.add_argument("second", metavar="B", help="likewise")
    options = parser.parse_args(arguments)
    try:
        print(compare(*read(options.first), *read(options.second)).text())
    except TNetError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
