"""Marks: a pebble with something drawn on it. Needles and decoys have pale pebbles, other distractors dark ones."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import cv2
import numpy as np

from training.data.needles.background import colour
from training.data.needles.streams import ONE, TURN, between, cosine, sine, sine_table
from training.data.needles.symbols import Drawing, thickness

PEBBLE = 1.45  # mean diameter of a pebble, in glyph sides
LARGEST_PERCENT = 115  # random scale of a mark
_SMALLEST_PERCENT = 87
_FINE = 4  # marks are drawn this many times larger and averaged down, so that edges are smooth
_RIM = 48  # points on a pebble's outline


@dataclass(frozen=True)
class Mark:
    """Everything random about one mark but the drawing on it. Lengths in pixels."""

    x: int  # centre
    y: int
    pebble: int  # radius of the pebble
    matrix: np.ndarray  # (2, 2) int64, fixed point: drawing units to 1/1000 of half a glyph side
    glyph: int  # side of the glyph
    rim: np.ndarray  # (points,) int64: outline as 1/1000 of the radius
    ground: tuple[int, int, int]  # colours
    ink: tuple[int, int, int]

    @property
    def reach(self) -> int:
        """Radius of the square patch the mark is drawn in, shadow included."""
        return reach_of(self.pebble)

    @property
    def box(self) -> tuple[int, int, int, int]:
        """Square around the pebble: x0, y0, x1, y1."""
        return self.x - self.pebble, self.y - self.pebble, self.x + self.pebble, self.y + self.pebble


def reach_of(pebble: int) -> int:
    return pebble + max(pebble // 4, 2)


def largest_pebble(glyph: int) -> int:
    """No pebble under a glyph of this mean side has a larger radius."""
    return max(round(max(glyph * LARGEST_PERCENT // 100, 4) * PEBBLE / 2), 3)


def sample_mark(generator: np.random.Generator, glyph: int, pale: bool) -> Mark:
    """A random mark at the origin; `place` finds it a position."""
    percent = between(generator, _SMALLEST_PERCENT, LARGEST_PERCENT)
    side = max(glyph * percent // 100, 4)
    angle, shear = between(generator, -TURN // 20, TURN // 20), between(generator, -12, 12)
    across, along = between(generator, 88, 112), between(generator, 88, 112)
    # Scale, then shear, then turn; all in percent or fixed point.
    c, s = cosine(angle), sine(angle)
    matrix = np.array([[c * across, (c * shear - s * along)], [s * across, (s * shear + c * along)]], np.int64) // 100
    rim = 930 + sum((70 * _wave(generator, bumps) // (bumps * ONE) for bumps in (2, 3, 4)), np.zeros(_RIM, np.int64))
    ground, ink = _pale_colours(generator) if pale else _dark_colours(generator)
    return Mark(0, 0, max(round(side * PEBBLE / 2), 3), matrix, side, rim, ground, ink)


def draw_strokes(canvas: np.ndarray, mark: Mark, drawing: Drawing) -> None:
    """Paint the mark with polylines on it, in place."""
    size = 2 * mark.reach * _FINE
    mask = np.zeros((size, size), np.uint8)
    half = mark.glyph * _FINE * 8  # half a side in 1/16 of a fine pixel
    lines = [((line @ mark.matrix.T) * half // (1000 * ONE) + size * 8).astype(np.int32) for line in drawing]
    cv2.polylines(mask, lines, False, 255, max(thickness(drawing) * half // 16_000, 1), cv2.LINE_8, shift=4)
    draw(canvas, mark, _averaged(mask))


def draw(canvas: np.ndarray, mark: Mark, ink: np.ndarray) -> None:
    """Paint the mark with ink coverage (2 * reach, 2 * reach) uint8, in place."""
    reach = mark.reach
    patch = canvas[mark.y - reach : mark.y + reach, mark.x - reach : mark.x + reach]
    size = 2 * reach * _FINE
    radii = mark.pebble * _FINE * 16 * mark.rim // 1000
    outline = (radii[:, None] * _circle() // ONE + size * 8).astype(np.int32)
    fine = np.zeros((size, size), np.uint8)
    cv2.fillPoly(fine, [outline], 255, cv2.LINE_8, shift=4)
    pebble = _averaged(fine)
    width = max(mark.pebble // 4, 1) | 1
    drop = max(mark.pebble // 9, 1)
    shadow = np.roll(cv2.blur(pebble, (width, width)), (drop, drop), (0, 1)) >> 1
    _blend(patch, shadow, (8, 8, 12))
    _blend(patch, pebble, mark.ground)
    _blend(patch, cv2.min(ink, pebble), mark.ink)


@lru_cache(maxsize=1)
def _circle() -> np.ndarray:
    """(_RIM, 2) int64: cosine and sine of evenly spaced angles, fixed point."""
    angles = [TURN * i // _RIM for i in range(_RIM)]
    return np.array([(cosine(a), sine(a)) for a in angles], np.int64)


def _wave(generator: np.random.Generator, bumps: int) -> np.ndarray:
    """(_RIM,) int64: a sine with `bumps` periods at a random angle, fixed point."""
    start = between(generator, 0, TURN - 1)
    return sine_table()[(start + bumps * TURN * np.arange(_RIM) // _RIM) % TURN]


def _averaged(fine: np.ndarray) -> np.ndarray:
    side = fine.shape[0] // _FINE
    return cv2.resize(fine, (side, side), interpolation=cv2.INTER_AREA)


def _blend(patch: np.ndarray, coverage: np.ndarray, tone: tuple[int, int, int]) -> None:
    """patch * (1 - coverage) + tone * coverage, rounded; sums stay below 2 ** 16."""
    share = coverage.astype(np.uint16)[:, :, None]
    mixed = patch * (255 - share)
    mixed += np.array(tone, np.uint16) * share
    mixed += 128
    mixed += mixed >> 8
    mixed >>= 8
    patch[:] = mixed


def _pale_colours(generator: np.random.Generator) -> tuple[tuple[int, int, int], tuple[int, int, int]]:
    """A light warm pebble and dark ink of any hue."""
    ground = colour(between(generator, 25, 62), between(generator, 8, 42), between(generator, 84, 98))
    return ground, colour(between(generator, 0, 359), between(generator, 30, 90), between(generator, 12, 36))


def _dark_colours(generator: np.random.Generator) -> tuple[tuple[int, int, int], tuple[int, int, int]]:
    """A deep pebble of any hue and light ink."""
    ground = colour(between(generator, 0, 359), between(generator, 45, 80), between(generator, 18, 42))
    return ground, colour(between(generator, 0, 359), between(generator, 10, 45), between(generator, 75, 95))
