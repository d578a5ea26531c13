"""What every data set gives: samples, class names and a split. Images stay uint8 until augmentation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np


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
