"""Images that cannot be read: found before training, left out where the recipe says so, and replaced in a resumed run.

The order in which a run sees its images follows from their number. A run that is resumed without some of them
therefore keeps its numbering, and the next image takes the place of each that is missing.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import monotonic

import numpy as np
from tqdm import tqdm

from tnet_core.command import is_first_process
from tnet_core.errors import TNetError
from tnet_core.schemas.files import read_bounded, write_atomically
from training.data.dataset import FileDataset
from training.data.sample import ImageDataset, Sample

ADVICE = "repair or remove them, or leave them out with data.skip_unreadable=true"
_CHECK_SECONDS = 30.0  # that a check before training takes at most; what it did not reach is found when it is needed
_MAX_NAMED = 20
_CHUNK = 64  # images decoded between two looks at the clock
IMAGES_FILE = "images.jsonl"  # of a run: label and name of every training image, in the order of their numbers
_MAX_LIST_BYTES = 512 << 20


def find_unreadable(dataset: FileDataset, seconds: float | None = None) -> dict[int, str]:
    """Return a sentence for each image that cannot be decoded; `seconds` bounds the time, None: all are tried."""
    order = np.random.default_rng(0).permutation(len(dataset)).tolist()  # where time is short, some of every class
    found: dict[int, str] = {}
    began = monotonic()

    def decode(index: int) -> str:
        try:
            dataset.read_pixels(index)
        except TNetError as error:
            return str(error)
        return ""

    title = f"Checking {dataset.name} ({dataset.split})"
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool, tqdm(total=len(order), desc=title, disable=None) as bar:
        for start in range(0, len(order), _CHUNK):
            chunk = order[start : start + _CHUNK]
            if seconds is not None and monotonic() - began > seconds:
                break
            found |= {index: text for index, text in zip(chunk, pool.map(decode, chunk), strict=True) if text}
            bar.update(len(chunk))
    return dict(sorted(found.items()))


def check_images(*splits: ImageDataset) -> None:
    """Refuse splits with images that cannot be read, as far as a short check finds them."""
    for dataset in splits:
        if isinstance(dataset, FileDataset) and dataset.cache is None:  # what is cached was decoded
            found = find_unreadable(dataset, _CHECK_SECONDS)
            if found:
                first = next(iter(found.values()))
                several = f"{len(found)} images of the {dataset.split} split cannot be read, the first: "
                raise TNetError(f"{several if len(found) > 1 else ''}{first} Please {ADVICE}.")


def leave_out_unreadable(dataset: FileDataset) -> FileDataset:
    """Return the data set without the images that cannot be decoded; their number and names are printed."""
    found = find_unreadable(dataset)
    if not found:
        return dataset
    if len(found) == len(dataset):
        raise TNetError(f"No image of {dataset.name} ({dataset.split}) can be read: {next(iter(found.values()))}")
    if is_first_process():
        print(f"{len(found)} unreadable images of {dataset.name} ({dataset.split}) are left out:", file=sys.stderr)
        for index in list(found)[:_MAX_NAMED]:
            print(f"  {dataset.entries[index].name}", file=sys.stderr)
        if len(found) > _MAX_NAMED:
            print("  …", file=sys.stderr)
    return dataset.select([index for index in range(len(dataset)) if index not in found])


class ResumedDataset:
    """The training split of a resumed run in its old numbering: `places` are the numbers that images have now."""

    def __init__(self, dataset: FileDataset, places: Sequence[int], labels: Sequence[int]) -> None:
        self._dataset, self._places = dataset, places
        self.name, self.split, self.class_names = dataset.name, dataset.split, dataset.class_names
        self.labels: Sequence[int] = tuple(labels)

    def __len__(self) -> int:
        return len(self._places)

    def __getitem__(self, index: int) -> Sample:
        return self._dataset[self._places[index]]


def write_image_list(run: Path, dataset: ImageDataset) -> None:
    """Note which images a run learns from, so that it can be resumed without some of them."""
    path = run / IMAGES_FILE
    if isinstance(dataset, FileDataset):
        lines = "".join(json.dumps([entry.label, entry.name]) + "\n" for entry in dataset.entries)
        write_atomically(path, lambda temporary: temporary.write_text(lines, encoding="utf-8"))


def _read_image_list(path: Path) -> list[tuple[int, str]]:
    """Return label and name of the images that a run began with, in the order of their numbers."""
    try:
        rows = [json.loads(line) for line in read_bounded(path, _MAX_LIST_BYTES).splitlines()]
        return [(int(label), str(name)) for label, name in rows]
    except (ValueError, TypeError) as error:
        if isinstance(error, TNetError):
            raise
        raise TNetError(f"The run's list of images '{path}' is damaged; remove it to go on with all of them.") from None


def restore_numbering(run: Path, dataset: ImageDataset, *, skip: bool) -> ImageDataset:
    """Return a resumed run's training split; images that are gone are named and replaced, or refused without `skip`."""
    path = run / IMAGES_FILE
    if not isinstance(dataset, FileDataset) or not path.exists():
        return dataset
    rows = _read_image_list(path)
    now = {entry.name: place for place, entry in enumerate(dataset.entries)}
    missing = [name for _, name in rows if name not in now]
    if not missing or len(missing) == len(rows):  # the same images, or others altogether: the state will tell
        return dataset
    named = ", ".join(missing[:_MAX_NAMED]) + (", …" if len(missing) > _MAX_NAMED else "")
    if not skip:
        raise TNetError(
            f"{len(missing)} of the {len(rows)} images that the run began with are gone ({named}); put them back, or "
            "continue without them with data.skip_unreadable=true."
        )
    if is_first_process():
        print(f"Continuing without {len(missing)} of {len(rows)} images: {named}.", file=sys.stderr)
    present = [now.get(name) for _, name in rows]
    places, following = [0] * len(rows), next(place for place in present if place is not None)
    for at in range(len(rows) - 1, -1, -1):  # from behind: the next image stands in, after the last one the first
        following = places[at] = following if present[at] is None else present[at]  # type: ignore[assignment]
    labels = [dataset.labels[place] if place is not None else row[0] for place, row in zip(present, rows, strict=True)]
    return ResumedDataset(dataset, places, labels)
