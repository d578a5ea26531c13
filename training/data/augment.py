"""From a sample to what the network is given: the official training augmentation, and the view for measuring."""

from __future__ import annotations

import math

import numpy as np

from training.data.augmentation.colour import distorted
from training.data.augmentation.crop import random_crop
from training.data.augmentation.geometry import rotated, translated
from training.data.augmentation.resize import METHODS, resized
from training.data.sample import Sample
from training.recipes.recipe import AugmentSection


class Augment:
    """Crop, resize, flip, colour, shift and turn, in the order of the official code.

    All that is random comes from the generator: the same state gives the same result. The section is that of a
    recipe, whose values `training.recipes.checks` has checked.
    """

    def __init__(self, section: AugmentSection, size: int) -> None:
        self.section = section
        self.size = size
        self.methods = METHODS if section.interpolation == "random" else (section.interpolation,)

    def __call__(self, sample: Sample, generator: np.random.Generator) -> np.ndarray:
        """(3, S, S) float32; in [-1, 1], or a little beyond where a kernel overshoots."""
        section, size = self.section, self.size
        height, width = sample.image.shape[:2]
        boxes = sample.boxes if section.cover_boxes else sample.boxes[:0]
        y, x, h, w = random_crop(height, width, boxes, generator, section.min_area, section.aspect)
        method = self.methods[int(generator.integers(len(self.methods)))]
        mirror = section.flip and bool(generator.random() < 0.5)
        planes = resized(sample.image[y : y + h, x : x + w], size, method, mirror=mirror)
        if section.colour:
            planes = distorted(planes, generator)
        if section.translate:
            planes = translated(planes, *(generator.uniform(-section.translate, section.translate, 2) * size))
        if section.rotate:
            planes = rotated(planes, math.radians(generator.uniform(-section.rotate, section.rotate)))
        return to_model_space(planes)


def evaluation_view(image: np.ndarray, size: int) -> np.ndarray:
    """(H, W, 3) uint8 -> (3, S, S) float32 in [-1, 1]: bilinear, no antialiasing, aspect ratio not kept."""
    return to_model_space(resized(image, size, "bilinear"))


def to_model_space(planes: np.ndarray) -> np.ndarray:
    """[0, 1] -> [-1, 1], in place."""
    planes *= np.float32(2)
    planes -= np.float32(1)
    return planes
