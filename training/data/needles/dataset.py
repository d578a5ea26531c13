"""`NeedlesDataset`: a split of generated canvases."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tnet_core.errors import TNetError
from training.data.mnist import read_mnist
from training.data.needles.canvas import Canvas, Painter, draw_canvas, fits_on_canvas, paint_symbol
from training.data.needles.digits import digit_painter
from training.data.needles.streams import balanced_labels, canvas_stream
from training.data.needles.symbols import SYMBOL_NAMES
from training.data.sample import Sample
from training.recipes.recipe import NeedlesSection


class NeedlesDataset:
    """Large cluttered canvases; the class is the symbol that all needles show.

    Sample i is drawn from (seed, split, i) whenever it is asked for; nothing is stored on disk. From
    afar a needle is a pale pebble like a decoy; only from near can its symbol be read.
    """

    name = "needles"

    def __init__(self, section: NeedlesSection, split: str, seed: int = 0, root: str = "") -> None:
        _check(section)
        self.split = split
        size = section.train_size if split == "train" else section.validation_size
        self._labels = balanced_labels(seed, split, size, section.classes)
        self._section, self._seed = section, seed
        self._kept: dict[int, Sample] = {}
        self._paint: Painter = paint_symbol
        self.class_names: tuple[str, ...] = SYMBOL_NAMES[: section.classes]
        if section.source == "mnist":
            # MNIST has two parts: what is measured on shows digits never trained on.
            self._paint = digit_painter(*read_mnist(root, "train" if split == "train" else "test"))
            self.class_names = tuple(str(digit) for digit in range(section.classes))

    @property
    def labels(self) -> Sequence[int]:
        return self._labels.tolist()

    def __len__(self) -> int:
        return len(self._labels)

    def __getitem__(self, index: int) -> Sample:
        if not 0 <= index < len(self):
            raise IndexError(f"canvas {index} of {len(self)}")
        if index in self._kept:
            return self._kept[index]
        label = int(self._labels[index])
        canvas = self.draw(index, label)
        boxes = np.array([mark.box for mark in canvas.needles], dtype=np.float32) / self._section.canvas
        sample = Sample(canvas.image, label, f"{self.split}-{index:06d}", boxes)
        if self._section.keep:
            sample.image.flags.writeable = False  # everybody gets the same pixels
            self._kept[index] = sample
        return sample

    def draw(self, index: int, label: int) -> Canvas:
        """Canvas `index` as it would be if its class were `label`; all else stays."""
        generator = canvas_stream(self._seed, self.split, index)
        extra = self._section.extra if self.split == "train" else 0
        return draw_canvas(self._section, generator, label, self._paint, extra)


def _check(section: NeedlesSection) -> None:
    def refuse(key: str, why: str) -> None:
        raise TNetError(f"Recipe key 'data.needles.{key}' is {getattr(section, key)}, but {why}.")

    most = 10 if section.source == "mnist" else len(SYMBOL_NAMES)
    if not 2 <= section.classes <= most:
        refuse("classes", f"source '{section.source}' offers 2 to {most} classes")
    if not 64 <= section.canvas <= 16_384:
        refuse("canvas", "must lie in 64…16384 pixels")
    if section.needles < 1:
        refuse("needles", "without a needle a canvas has no class")
    for key in ("extra", "decoys", "distractors"):
        if getattr(section, key) < 0:
            refuse(key, "cannot be negative")
    if section.glyph < 8:
        refuse("glyph", "a glyph needs at least 8 pixels")
    if not 0 <= section.clutter <= 4:
        refuse("clutter", "must lie in 0…4")
    for key in ("train_size", "validation_size"):
        if getattr(section, key) < 1:
            refuse(key, "must be at least 1")
    if not fits_on_canvas(section):
        refuse("glyph", "so many glyphs of that size do not fit on the canvas; use fewer, smaller, or a larger canvas")
