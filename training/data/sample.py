"""What every data set gives: samples with their boxes, class names and a split. Images stay uint8 until augmentation.

Boxes are kept in pixels until an image's size is known; they may come from a CSV file.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Protocol

import numpy as np

from tnet_core.errors import TNetError
from tnet_core.schemas.files import read_bounded

MAX_BOXES_BYTES = 256 << 20  # of a boxes file; a box for every image of ImageNet needs 80 MB
COLUMNS = ("file", "x", "y", "w", "h", "width", "height")


def _no_boxes() -> np.ndarray:
    return np.zeros((0, 4), dtype=np.float32)


@dataclass(frozen=True)
class Sample:
    image: np.ndarray  # (H, W, 3) uint8 RGB
    label: int
    name: str  # unique in its split: '<class>/<file stem>', or the number of a generated canvas
    boxes: np.ndarray = field(default_factory=_no_boxes)  # (n, 4) float32, normalised x0, y0, x1, y1


class ImageDataset(Protocol):
    """A finite, indexable split. The same index always gives the same sample."""

    @property
    def name(self) -> str: ...  # of the data set: "CUB-200-2011"

    @property
    def split(self) -> str: ...

    @property
    def class_names(self) -> tuple[str, ...]: ...

    @property
    def labels(self) -> Sequence[int]: ...  # of all samples, without decoding one

    def __len__(self) -> int: ...

    def __getitem__(self, index: int) -> Sample: ...


class DatasetView:
    """A data set under another name or split, with other class names or labels; what is None stays."""

    def __init__(
        self,
        dataset: ImageDataset,
        *,
        name: str | None = None,
        split: str | None = None,
        class_names: Sequence[str] | None = None,
        labels: Sequence[int] | None = None,
    ) -> None:
        if labels is not None and len(labels) != len(dataset):
            raise TNetError(f"There are {len(labels)} labels for {len(dataset)} images.")
        self._dataset = dataset
        self.name, self.split = name or dataset.name, split or dataset.split
        self.class_names = dataset.class_names if class_names is None else tuple(class_names)
        self.labels: Sequence[int] = dataset.labels if labels is None else list(labels)

    @property
    def origin(self) -> ImageDataset:
        """The data set without any changes."""
        return self._dataset.origin if isinstance(self._dataset, DatasetView) else self._dataset

    def __len__(self) -> int:
        return len(self._dataset)

    def __getitem__(self, index: int) -> Sample:
        return replace(self._dataset[index], label=self.labels[index])


@dataclass(frozen=True, slots=True)
class Boxes:
    """Boxes of one image in pixels. `frame` is the width and height that they refer to; None: of the file itself."""

    xywh: tuple[tuple[float, float, float, float], ...] = ()
    frame: tuple[float, float] | None = None

    def normalise(self, height: int, width: int) -> np.ndarray:
        """Return (n, 4) float32 x0, y0, x1, y1 in [0, 1] for an image file of the given size, empty ones left out."""
        if not self.xywh:
            return np.zeros((0, 4), np.float32)
        across, down = self.frame or (width, height)
        box = np.asarray(self.xywh, np.float64)
        corners = np.concatenate([box[:, :2], box[:, :2] + box[:, 2:]], axis=1) / (across, down, across, down)
        corners = corners.clip(0, 1)
        return corners[(corners[:, 2:] > corners[:, :2]).all(axis=1)].astype(np.float32)

    def select(self, index: int) -> Boxes:
        return Boxes((self.xywh[index],), self.frame)


NO_BOXES = Boxes()


def parse_box(values: Iterable[float | str], where: str) -> tuple[float, float, float, float]:
    """Return four numbers x, y, w, h that make a box, or raise a sentence that starts with `where`."""
    try:
        x, y, w, h = (float(value) for value in values)
    except (TypeError, ValueError):
        raise TNetError(f"{where} must give a box as four numbers x, y, w, h.") from None
    if not all(map(math.isfinite, (x, y, w, h))) or w <= 0 or h <= 0:
        raise TNetError(f"{where} gives a box without area (x {x:g}, y {y:g}, w {w:g}, h {h:g}).")
    return x, y, w, h


def make_key(file: str) -> str:
    """Return '<class>/<file stem>' of a path, whatever folders come before and whatever the format."""
    path = PurePosixPath(file.replace("\\", "/"))
    return f"{path.parent.name}/{path.stem}"


def read_boxes_csv(path: Path) -> dict[str, Boxes]:
    """Return boxes by '<class>/<file stem>' from a file with the columns file, x, y, w, h, width, height.

    Boxes are in pixels of an image of width x height, several rows make several boxes; other columns are ignored.
    """
    found: dict[str, Boxes] = {}
    try:
        rows = csv.DictReader(io.StringIO(read_bounded(path, MAX_BOXES_BYTES).decode("utf-8"), newline=""))
        _check_columns(rows.fieldnames, path)
        for row in rows:
            where = f"{path}, line {rows.line_num},"
            box = parse_box((row[column] for column in COLUMNS[1:5]), where)
            frame = _parse_frame(row["width"], row["height"], where)
            name = make_key(row["file"] or "")
            before = found.get(name)
            if before is not None and before.frame != frame:
                raise TNetError(f"{where} gives another image size than an earlier line of the same file.")
            found[name] = Boxes((*(before.xywh if before else ()), box), frame)
    except (UnicodeDecodeError, csv.Error):
        raise TNetError(f"The boxes file {path} is not a CSV file in UTF-8.") from None
    return found


def _check_columns(names: Sequence[str] | None, path: Path) -> None:
    missing = [column for column in COLUMNS if column not in (names or ())]
    if missing:
        raise TNetError(f"The boxes file {path} lacks the column {missing[0]!r}; it needs {', '.join(COLUMNS)}.")


def _parse_frame(width: str | None, height: str | None, where: str) -> tuple[float, float]:
    try:
        frame = (float(width or ""), float(height or ""))
    except ValueError:
        frame = (0.0, 0.0)
    if not all(0 < side < math.inf for side in frame):
        raise TNetError(f"{where} must give the image's width and height as positive numbers.")
    return frame
