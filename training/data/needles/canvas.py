"""One canvas: layout first, then drawing. The numbers drawn do not depend on the class."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from training.data.needles.background import background, grain
from training.data.needles.marks import Mark, draw_strokes, largest_pebble, reach_of, sample_marks
from training.data.needles.streams import between
from training.data.needles.symbols import meaningless, symbol
from training.recipes.recipe import NeedlesSection

# Draws what names the class on a needle: (canvas, mark, label, a number that picks among several drawings).
Painter = Callable[[np.ndarray, Mark, int, int], None]

_TRIES = 64  # positions tried for a mark before the layout starts anew


@dataclass(frozen=True)
class Canvas:
    image: np.ndarray  # (S, S, 3) uint8 RGB
    needles: tuple[Mark, ...]


def paint_symbol(canvas: np.ndarray, mark: Mark, label: int, _: int) -> None:
    draw_strokes(canvas, mark, symbol(label))


def draw_canvas(
    section: NeedlesSection, generator: np.random.Generator, label: int, paint: Painter = paint_symbol, extra: int = 0
) -> Canvas:
    """A canvas with as many needles as the section says or, every other time, `extra` more.

    All random numbers come from `generator`, in an order that is the same for every label.
    """
    image = background(generator, section.canvas, section.clutter)
    count = section.needles + extra * between(generator, 0, 1)
    pale = [True] * (count + section.decoys) + [False] * section.distractors
    marks = place(sample_marks(generator, section.glyph, pale), section.canvas, generator)
    needles, others = marks[:count], marks[count:]
    for mark in others:
        draw_strokes(image, mark, meaningless(generator))
    for mark in needles:
        paint(image, mark, label, between(generator, 0, 2**31 - 1))
    grain(generator, image, strength=between(generator, 6, 10))
    return Canvas(image, tuple(needles))


def place(marks: list[Mark], side: int, generator: np.random.Generator) -> list[Mark]:
    """Give every mark a position, uniformly among those where it touches no other."""
    while True:  # `fits_on_canvas` makes a second round rare
        placed: list[Mark] = []
        for mark in marks:
            tries = generator.integers(mark.reach, side - mark.reach, (_TRIES, 2), endpoint=True).tolist()
            spot = next((xy for xy in tries if all(_apart(xy, mark, other) for other in placed)), None)
            if spot is not None:
                placed.append(replace(mark, x=spot[0], y=spot[1]))
        if len(placed) == len(marks):
            return placed


def _apart(spot: Sequence[int], mark: Mark, other: Mark) -> bool:
    """Whether a mark at (x, y) leaves a tenth of the pebbles' size between them."""
    distance = (spot[0] - other.x) ** 2 + (spot[1] - other.y) ** 2
    return 100 * distance >= (11 * (mark.pebble + other.pebble)) ** 2


def fits_on_canvas(section: NeedlesSection) -> bool:
    """Whether `place` ends soon: discs put down at random one by one jam at 55 % of an area; we stop at 35 %."""
    count = section.needles + section.extra + section.decoys + section.distractors
    pebble = largest_pebble(section.glyph)
    free = section.canvas - 2 * (reach_of(pebble) - pebble)  # where pebbles may lie
    return free > 2 * pebble and count * (1.1 * pebble) ** 2 * math.pi <= 0.35 * free**2
