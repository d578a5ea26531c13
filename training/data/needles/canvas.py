"""One canvas: layout first, then drawing. The numbers drawn do not depend on the class."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from training.data.needles.background import background, grain
from training.data.needles.marks import Mark, draw_strokes, largest_pebble, reach_of, sample_mark
from training.data.needles.streams import between
from training.data.needles.symbols import meaningless, symbol
from training.recipe import NeedlesSection

# Draws what names the class on a needle: (canvas, mark, label, a number that picks among several drawings).
Painter = Callable[[np.ndarray, Mark, int, int], None]


@dataclass(frozen=True)
class Canvas:
    image: np.ndarray  # (S, S, 3) uint8 RGB
    needles: tuple[Mark, ...]


def paint_symbol(canvas: np.ndarray, mark: Mark, label: int, _: int) -> None:
    draw_strokes(canvas, mark, symbol(label))


def draw_canvas(
    section: NeedlesSection, generator: np.random.Generator, label: int, paint: Painter = paint_symbol
) -> Canvas:
    """All random numbers come from `generator`, in an order that is the same for every label."""
    image = background(generator, section.canvas, section.clutter)
    pale = [True] * (section.needles + section.decoys) + [False] * section.distractors
    marks = place([sample_mark(generator, section.glyph, p) for p in pale], section.canvas, generator)
    needles, others = marks[: section.needles], marks[section.needles :]
    for mark in others:
        draw_strokes(image, mark, meaningless(generator))
    for mark in needles:
        paint(image, mark, label, between(generator, 0, 2**31 - 1))
    grain(generator, image, strength=between(generator, 6, 10))
    return Canvas(image, tuple(needles))


def place(marks: list[Mark], side: int, generator: np.random.Generator) -> list[Mark]:
    """Give every mark a position, uniformly among those where it touches no other."""
    placed: list[Mark] = []
    for mark in marks:
        while True:  # `fits_on_canvas` leaves at least a third of the positions free
            x, y = (between(generator, mark.reach, side - mark.reach) for _ in range(2))
            if all(100 * ((x - p.x) ** 2 + (y - p.y) ** 2) >= (11 * (mark.pebble + p.pebble)) ** 2 for p in placed):
                break
        placed.append(replace(mark, x=x, y=y))
    return placed


def fits_on_canvas(section: NeedlesSection) -> bool:
    """Whether `place` always ends soon: marks keep others out of at most two thirds of the canvas."""
    others = section.needles + section.decoys + section.distractors - 1
    pebble = largest_pebble(section.glyph)
    free = max(section.canvas - 2 * reach_of(pebble), 0)
    return 3 * others * (2.2 * pebble) ** 2 * math.pi <= 2 * free**2 and free > 0
