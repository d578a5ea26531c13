"""`python -m training.evaluation.compare A B`: two evaluations, image by image; and the paper's rows beside one.

Each is a checkpoint folder or an evaluation file, with the budget after a colon: `runs/a:3`,
`runs/b:2,1`; without one, a baseline's only budget or that of training.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import tnet_core as tn
from tnet_core.checkpoints.card import card_of
from tnet_core.command import run_command
from tnet_core.errors import TNetError
from tnet_core.schemas.files import EVALUATION_FILE, MAX_BYTES, expand_home, read_json
from training.evaluation.bootstrap import compute_interval, resample_means
from training.evaluation.measure import Results
from training.recipes.recipe import Recipe

PER_IMAGE_ABOUT = (
    "One image after the other, ordered by the crc32 of its name ('<class>/<file stem>'): 'images' holds the crc32s "
    "as 8 hexadecimal digits each; 'top1' holds one text per budget whose hexadecimal digits are the images' bits, "
    "first image first, 1 for a right prediction of the learned policy."
)
_EXACT = {
    "imagenet:TNet": "imagenet-bagnet77",
    "imagenet:BagNet-77": "bagnet77",
    "fmow:TNet:448": "fmow-b0",
    "fmow:TNet:896": "fmow-b0-3l",
    "fmow:EfficientNet-B0:224:boxes": "fmow-en-b0-224",
}
# What makes two models the same: not how they are regularised, and not how many looks they were trained with.
_ARCHITECTURE = (
    "num_classes", "input_size", "base_resolution", "grid", "cell_fraction", "levels",
    "location", "positional", "weighting", "location_block", "location_rows",
)  # fmt: skip


@dataclass(frozen=True)
class Difference:
    images: int  # that both have
    first: float  # top-1 on these
    second: float
    low: float  # of first - second, 95 %
    high: float

    def describe(self) -> str:
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
    """Compare top-1 of two contents of `evaluation.json` on the images they share, with a paired interval."""
    ours, theirs = pair_results(first.get("per_image", {}), budget, second.get("per_image", {}), other)
    if not len(ours):
        raise TNetError("The two evaluations have no image in common.")
    difference = (ours.astype(np.float32) - theirs)[:, None]
    low, high = compute_interval(resample_means(difference, resamples, seed), 0.95)[0]
    return Difference(len(ours), float(ours.mean()), float(theirs.mean()), float(low), float(high))


def read_side(spec: str) -> tuple[dict[str, Any], tuple[int, ...]]:
    """Return the content and the budget that a command-line word means."""
    name, colon, tail = spec.rpartition(":")
    chosen = bool(colon) and all(part.isdecimal() for part in tail.split(","))
    path = expand_home(name if chosen else spec)
    content = read_json(path / EVALUATION_FILE if path.is_dir() else path, MAX_BYTES[EVALUATION_FILE])
    if not isinstance(content, dict) or not isinstance(content.get("per_image"), dict):
        raise TNetError(f"'{path}' does not hold each image's result; measure it with training.evaluate.")
    if chosen:
        return content, tuple(int(part) for part in tail.split(","))
    return content, tuple(content.get("trained_budget", ()))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m training.evaluation.compare",
        description="Compare two evaluations image by image. Each is a checkpoint folder or an evaluation file, with "
        "the budget after a colon: runs/a:3, runs/b:2,1; without one, a baseline's only budget or that of training.",
    )
    parser.add_argument("first", metavar="A", help="checkpoint folder or evaluation file, e.g. runs/tnet:3")
    parser.add_argument("second", metavar="B", help="likewise")
    return run_command(lambda: _run(parser.parse_args(arguments)))


def _run(options: argparse.Namespace) -> None:
    print(compare(*read_side(options.first), *read_side(options.second)).describe())


# Results per image ------------------------------------------------------------------------------------


def pack_results(results: Results, budgets: list[tuple[int, ...]]) -> dict[str, Any]:
    order = np.argsort(results["crc"], kind="stable")
    right = np.asarray(results["top1/learned"], dtype=bool)[order]
    return {
        "about": PER_IMAGE_ABOUT,
        "images": results["crc"][order].astype(">u4").tobytes().hex(),
        "budgets": [list(budget) for budget in budgets],
        "top1": [np.packbits(right[:, column]).tobytes().hex() for column in range(len(budgets))],
    }


def unpack_results(packed: dict[str, Any], budget: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Return the crc32s of the images and whether each was right with this budget."""
    try:
        crc = np.frombuffer(bytes.fromhex(packed["images"]), dtype=">u4").astype(np.uint32)
        at = packed["budgets"].index(list(budget))
        bits = np.unpackbits(np.frombuffer(bytes.fromhex(packed["top1"][at]), dtype=np.uint8))
    except (KeyError, TypeError, ValueError, IndexError, AttributeError):
        raise TNetError(f"The evaluation does not hold each image's result for the budget {list(budget)}.") from None
    if len(bits) < len(crc):
        raise TNetError("The evaluation's results per image are cut off.")
    return crc, bits[: len(crc)].astype(bool)


def pair_results(
    first: dict[str, Any], budget: tuple[int, ...], second: dict[str, Any], other: tuple[int, ...]
) -> tuple[np.ndarray, np.ndarray]:
    """Return right or wrong of the images that two evaluations have in common, in the same order.

    A crc32 that occurs twice in one of them says nothing about which image it is and is left out.
    """
    (crc_a, right_a), (crc_b, right_b) = unpack_results(first, budget), unpack_results(second, other)
    unique_a, unique_b = _find_unique(crc_a), _find_unique(crc_b)
    _, at_a, at_b = np.intersect1d(crc_a[unique_a], crc_b[unique_b], assume_unique=True, return_indices=True)
    return right_a[unique_a][at_a], right_b[unique_b][at_b]


def _find_unique(values: np.ndarray) -> np.ndarray:
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    return np.flatnonzero(counts[inverse] == 1)


# The paper's rows -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PaperReference:
    """The paper's numbers beside ours."""

    selector: str = ""  # as `tnet_core.published.paper_rows` takes it; empty: none
    nearest: str = ""  # what sets the paper's model apart from ours; empty: it is the same one

    @property
    def heading(self) -> str:
        """The heading above the paper's columns."""
        if self.nearest:
            return f"{self.selector}, nearest model of the paper ({self.nearest}, trained on other images)"
        return f"{self.selector}, its own data split and training"

    @property
    def column(self) -> str:
        return "nearest" if self.nearest else "paper"


def find_paper_reference(model: tn.TNet, recipe: Recipe | None) -> PaperReference:
    """Return the paper's rows that the model's provenance names, else the recipe it is measured on."""
    named = card_of(model).provenance.get("paper")
    selector = named if isinstance(named, str) and named else recipe.paper if recipe is not None else ""
    return PaperReference(selector, compare_architecture(model.config, selector)) if selector else PaperReference()


def compare_architecture(config: tn.TNetConfig, selector: str) -> str:
    """Return 'another backbone' or 'another architecture' than that of the paper's model; empty if it is the same."""
    name = find_preset(selector)
    if name is None:
        return "another architecture"
    papers = tn.preset(name)
    if (config.backbone, config.backbone_scale) != (papers.backbone, papers.backbone_scale):
        return "another backbone"
    same = all(getattr(config, field) == getattr(papers, field) for field in _ARCHITECTURE)
    return "" if same else "another architecture"


def find_preset(selector: str) -> str | None:
    """Return the preset of the paper's model that a selector names."""
    if selector.startswith("ablation:") and "Saccader" not in selector:
        return "imagenet-bagnet77"
    birds = re.fullmatch(r"(cub|nabirds):(TNet|EfficientNet)-B(\d)", selector)
    if birds:
        name = f"{birds[1]}-{'en-' if birds[2] == 'EfficientNet' else ''}b{birds[3]}"
    else:
        plain = re.fullmatch(r"fmow:EfficientNet-B0:(\d+)", selector)
        name = f"fmow-en-b0-{plain[1]}" if plain else _EXACT.get(selector, "")
    return name if name in tn.presets() else None


if __name__ == "__main__":
    sys.exit(main())
