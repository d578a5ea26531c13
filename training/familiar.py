"""`python -m training.familiar CHECKPOINT OWN --others FOLDER …`: below which surety a picture is unlike what it knows.

A classifier names one of its classes whatever it is shown. How sure it is tells pictures of other things apart, though
not all of them: the threshold is a low quantile of the highest calibrated probability, with the budget of training, on
images of the checkpoint's own validation split. How many images of other data sets lie below it is measured beside it.
Both become the field 'familiar' of the checkpoint's evaluation, which Explore reads.
"""

from __future__ import annotations

import argparse
import sys
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import tnet_core as tn
from tnet_core.command import run_command
from tnet_core.schemas.evaluation import read_evaluation
from training.data.reading import find_images, is_folder, read_image
from training.data.sample import ImageDataset
from training.evaluate import open_data
from training.evaluation.calibration import split_halves
from training.evaluation.output import ProgressBar, add_result_options, choose_result_place
from training.evaluation.stream import spread_indices

ABOUT = (
    "Highest probability with the trained budget, calibrated where the checkpoint has a temperature. 'threshold' is "
    "its 'quantile' over 'images', the validation split of this evaluation; 'below' is the share of these below it, "
    "each half with the threshold of the other half. 'others': the share of images of other data sets below it."
)
QUANTILE = 0.05
Read = Callable[[int], np.ndarray]


def measure_surety(model: tn.TNet, read: Read, count: int, progress: Callable[[int, int], None]) -> np.ndarray:
    """Return the highest probability of each image as the page shows it: (count,), budget of training."""
    found = np.empty(count)
    for at in range(count):
        trace = tn.traverse(model, read(at), budget=model.config.budget)
        found[at] = trace.probabilities().max()
        progress(at + 1, count)
    return found


def choose_threshold(surety: np.ndarray, quantile: float = QUANTILE) -> float:
    """Return the quantile of the surety, rounded to three digits."""
    return round(float(np.quantile(surety, quantile)), 3)


def cross_fit(surety: np.ndarray, crc: np.ndarray, quantile: float = QUANTILE) -> float:
    """Return the share of images below the threshold that was chosen on the half they are not in."""
    half = split_halves(crc)
    below = [surety[half == own] < choose_threshold(surety[half != own], quantile) for own in (0, 1)]
    return float(np.concatenate(below).mean())


def report_familiar(
    surety: np.ndarray, crc: np.ndarray, others: dict[str, np.ndarray], *, budget: Sequence[int], temperature: float
) -> dict[str, Any]:
    """Return the field 'familiar' of an evaluation; `others` are the sureties on other data sets by name."""
    threshold = choose_threshold(surety)
    return {
        "about": ABOUT,
        "budget": list(budget),
        "temperature": temperature,
        "quantile": QUANTILE,
        "threshold": threshold,
        "images": len(surety),
        "below": round(cross_fit(surety, crc), 6),
        "others": [
            {"name": name, "images": len(found), "below": round(float((found < threshold).mean()), 6)}
            for name, found in others.items()
        ],
    }


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m training.familiar", description=__doc__.partition("\n\n")[2])
    parser.add_argument("checkpoint", metavar="CHECKPOINT", help="registry id or folder; it has an evaluation")
    parser.add_argument("own", metavar="OWN", nargs="?", help="the data it was evaluated on: a folder, or a recipe")
    parser.add_argument("--recipe", help="measure on this recipe's validation split; OWN is then its root folder")
    parser.add_argument("--others", metavar="NAME=FOLDER", nargs="*", default=[], help="images of other things")
    parser.add_argument("--limit", type=int, default=1000, help="images of each other folder (default: 1000)")
    add_result_options(parser)
    return run_command(lambda: _run(parser.parse_args(arguments)), "Interrupted; nothing was written.")


def _run(given: argparse.Namespace) -> int:
    place = choose_result_place(given.checkpoint, given.out, update=given.update)
    model = tn.load(given.checkpoint, on_notice=_say)
    place.check()
    folder = Path(given.checkpoint) if place.entry is None or place.entry.folder is None else place.entry.folder
    content = dict(read_evaluation(folder).raw)
    dataset = open_data(given.own, given.recipe, None, None).dataset
    names = _list_names(dataset)
    crc = np.array([zlib.crc32(name.encode()) for name in names], dtype=np.uint32)
    if f"{zlib.crc32(np.sort(crc).astype('>u4').tobytes()):08x}" != content["dataset"].get("fingerprint"):
        raise tn.TNetError(
            f"{dataset.name} {dataset.split} is not what '{given.checkpoint}' was evaluated on; name that data."
        )
    with ProgressBar(is_shown=True) as bar:
        surety = measure_surety(
            model, lambda at: dataset[at].image, len(dataset), lambda *done: bar.update(dataset.name, *done)
        )
        others = {}
        for name, _, path in (text.partition("=") for text in given.others):
            files = _find_files(Path(path or name), given.limit)
            others[name] = measure_surety(
                model, _reader(files), len(files), lambda *done, name=name: bar.update(name, *done)
            )
    temperature = 1.0 if model.calibration is None else model.calibration.temperature
    found = report_familiar(surety, crc, others, budget=model.config.budget, temperature=temperature)
    _say(describe_familiar(found))
    place.write(content | {"familiar": found}, _say)
    return 0


def _list_names(dataset: ImageDataset) -> list[str]:
    entries = getattr(dataset, "entries", None)
    return [dataset[at].name for at in range(len(dataset))] if entries is None else [entry.name for entry in entries]


def _find_files(folder: Path, limit: int) -> list[Path]:
    if not is_folder(folder):
        raise tn.TNetError(f"The folder {folder} does not exist.")
    names = sorted(find_images(folder))
    if not names:
        raise tn.TNetError(f"The folder {folder} holds no images.")
    return [folder / names[at] for at in spread_indices(len(names), limit)]


def _reader(files: Sequence[Path]) -> Read:
    return lambda at: read_image(files[at])[0]


def describe_familiar(found: dict[str, Any]) -> str:
    """Return the threshold and the measured rates as one sentence."""
    rates = ", ".join(f"{other['name']} {100 * other['below']:.1f} % of {other['images']}" for other in found["others"])
    return (
        f"Threshold {found['threshold']:g}; below it: own images {100 * found['below']:.1f} % of {found['images']} "
        f"(cross-fitted){f', {rates}' if rates else ''}."
    )


def _say(text: str) -> None:
    print(text, file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
