"""Displaced pictures: the same picture, smaller and anywhere on a blurred other one.

Photographs mostly show one object in the middle, so looking at the middle is hard to beat. Displaced, nothing but the
content says where to look: the picture takes 40 to 60 % of the side of a canvas and lies anywhere on it, and the rest
is another picture of the same data set, blurred until it shows nothing.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import replace

import cv2
import numpy as np

from tnet_core.errors import TNetError
from training.data.sample import ImageDataset, Sample

BLUR = 18.0  # standard deviation of the background's blur in pixels of the canvas
SHARE = (0.4, 0.6)  # of the canvas's side that the picture takes


class DisplacedView:
    """A data set of displaced pictures: the same labels and names; each sample's box is where the picture lies.

    `view` tells several of them apart: other backgrounds, sizes and places. All three are functions of the picture's
    name and of `view`, so an image is the same in every run and whatever other images there are beside it, but for the
    background, which is drawn from all of them.
    """

    def __init__(self, dataset: ImageDataset, side: int, view: int = 0) -> None:
        if len(dataset) < 2:
            raise TNetError("Displaced pictures lie on other pictures of their data set, so it needs at least two.")
        self._dataset, self._side, self._view = dataset, side, view
        self.name, self.class_names = dataset.name, dataset.class_names
        self.split = f"{dataset.split}, displaced"
        self.labels: Sequence[int] = dataset.labels

    def __len__(self) -> int:
        return len(self._dataset)

    def __getitem__(self, index: int) -> Sample:
        sample = self._dataset[index]
        generator = np.random.default_rng([zlib.crc32(sample.name.encode()), self._view])
        other = (index + 1 + int(generator.integers(len(self) - 1))) % len(self)  # any but itself
        image, box = displace(sample.image, self._dataset[other].image, self._side, generator)
        return replace(sample, image=image, boxes=np.array([box], np.float32))


def displace(
    picture: np.ndarray, background: np.ndarray, side: int, generator: np.random.Generator
) -> tuple[np.ndarray, tuple[float, float, float, float]]:
    """Lay a picture on a blurred other one: (H, W, 3) uint8 each -> the canvas (side, side, 3) and the picture's box.

    As everything that the network is given, the picture becomes square. Pixels are averaged where it gets smaller.
    """
    canvas = cv2.resize(background, (side, side), interpolation=cv2.INTER_AREA)
    canvas = np.asarray(cv2.GaussianBlur(canvas, (0, 0), BLUR))
    small = round(side * generator.uniform(*SHARE))
    y, x = (int(start) for start in generator.integers(0, side - small + 1, 2))
    canvas[y : y + small, x : x + small] = cv2.resize(picture, (small, small), interpolation=cv2.INTER_AREA)
    return canvas, (x / side, y / side, (x + small) / side, (y + small) / side)
