"""`NeedlesDataset`: a split of generated canvases. The numbers a canvas is drawn from do not depend on its class."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tnet_core.errors import TNetError
from training.data.needles.background import add_grain, draw_background, draw_integer
from training.data.needles.marks import Mark, Painter, compute_largest_pebble, compute_reach, draw_strokes, sample_marks
from training.data.needles.mnist import make_digit_painter, read_mnist
from training.data.needles.symbols import SYMBOL_NAMES, draw_meaningless, get_symbol
from training.data.sample import Sample
from training.recipes.recipe import NeedlesSection

SPLITS = ("train", "validation", "test")
# What a stream is for: no two purposes share numbers.
_LABELS, _CANVAS = 0, 1
_MAX_TRIES = 64  # positions tried for a mark before the layout starts anew


class NeedlesDataset:
    """Large cluttered canvases; the class is the symbol that all needles show.

    Sample i is drawn from (seed, split, i) whenever it is asked for; nothing is stored on disk. From
    afar a needle is a pale pebble like a decoy; only from near can its symbol be read.
    """

    name = "needles"

    def __init__(self, section: NeedlesSection, split: str, seed: int = 0, root: str = "") -> None:
        _check_section(section)
        self.split = split
        size = section.train_size if split == "train" else section.validation_size
        self._labels = draw_labels(seed, split, size, section.classes)
        self._section, self._seed = section, seed
        self._kept: dict[int, Sample] = {}
        self._paint: Painter = paint_symbol
        self.class_names: tuple[str, ...] = SYMBOL_NAMES[: section.classes]
        if section.source == "mnist":
            # MNIST has two parts: what is measured on shows digits never trained on.
            self._paint = make_digit_painter(*read_mnist(root, "train" if split == "train" else "test"))
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

    def draw(self, index: int, label: int) -> MarkedCanvas:
        """Draw canvas `index` as it would be if its class were `label`; all else stays."""
        generator = make_generator(self._seed, self.split, index)
        extra = self._section.extra if self.split == "train" else 0
        return draw_canvas(self._section, generator, label, self._paint, extra)


def _check_section(section: NeedlesSection) -> None:
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


@dataclass(frozen=True)
class MarkedCanvas:
    image: np.ndarray  # (S, S, 3) uint8 RGB
    needles: tuple[Mark, ...]


def paint_symbol(canvas: np.ndarray, mark: Mark, label: int, _: int) -> None:
    draw_strokes(canvas, mark, get_symbol(label))


def draw_canvas(
    section: NeedlesSection, generator: np.random.Generator, label: int, paint: Painter = paint_symbol, extra: int = 0
) -> MarkedCanvas:
    """Draw a canvas with as many needles as the section says or, every other time, `extra` more.

    All random numbers come from `generator`, in an order that is the same for every label.
    """
    image = draw_background(generator, section.canvas, section.clutter)
    count = section.needles + extra * draw_integer(generator, 0, 1)
    pale = [True] * (count + section.decoys) + [False] * section.distractors
    marks = place_marks(sample_marks(generator, section.glyph, pale), section.canvas, generator)
    needles, others = marks[:count], marks[count:]
    for mark in others:
        draw_strokes(image, mark, draw_meaningless(generator))
    for mark in needles:
        paint(image, mark, label, draw_integer(generator, 0, 2**31 - 1))
    add_grain(generator, image, strength=draw_integer(generator, 6, 10))
    return MarkedCanvas(image, tuple(needles))


def place_marks(marks: list[Mark], side: int, generator: np.random.Generator) -> list[Mark]:
    """Give every mark a position, uniformly among those where it touches no other."""
    while True:  # `fits_on_canvas` makes a second round rare
        placed: list[Mark] = []
        for mark in marks:
            tries = generator.integers(mark.reach, side - mark.reach, (_MAX_TRIES, 2), endpoint=True).tolist()
            spot = next((xy for xy in tries if all(_are_apart(xy, mark, other) for other in placed)), None)
            if spot is not None:
                placed.append(replace(mark, x=spot[0], y=spot[1]))
        if len(placed) == len(marks):
            return placed


def _are_apart(spot: Sequence[int], mark: Mark, other: Mark) -> bool:
    """Whether a mark at (x, y) leaves a tenth of the pebbles' size between them."""
    distance = (spot[0] - other.x) ** 2 + (spot[1] - other.y) ** 2
    return 100 * distance >= (11 * (mark.pebble + other.pebble)) ** 2


def fits_on_canvas(section: NeedlesSection) -> bool:
    """Whether `place_marks` ends soon: discs put down at random one by one jam at 55 % of an area; we stop at 35 %."""
    count = section.needles + section.extra + section.decoys + section.distractors
    pebble = compute_largest_pebble(section.glyph)
    free = section.canvas - 2 * (compute_reach(pebble) - pebble)  # where pebbles may lie
    return free > 2 * pebble and count * (1.1 * pebble) ** 2 * math.pi <= 0.35 * free**2


def make_generator(seed: int, split: str, index: int) -> np.random.Generator:
    """Return the source of the numbers that canvas `index` of a split is drawn from."""
    return np.random.default_rng([seed, _CANVAS, _number_split(split), index])


def draw_labels(seed: int, split: str, size: int, classes: int) -> np.ndarray:
    """Draw (size,) int64 labels. Every run of `classes` labels holds each class once, in random order."""
    generator = np.random.default_rng([seed, _LABELS, _number_split(split)])
    rounds = -(-size // classes)
    return generator.permuted(np.tile(np.arange(classes), (rounds, 1)), axis=1).ravel()[:size]


def _number_split(split: str) -> int:
    if split not in SPLITS:
        raise TNetError(f"The needles data set has no split '{split}'; it has {', '.join(SPLITS)}.")
    return SPLITS.index(split)
