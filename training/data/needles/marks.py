"""Marks: a pebble with something drawn on it. Needles and decoys have pale pebbles, other distractors dark ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import cv2
import numpy as np

from training.data.needles.background import ONE, TURN, convert_hsv, cosine, sine, sine_table
from training.data.needles.symbols import Strokes

PEBBLE = 145  # diameter of a pebble in percent of the glyph's side
_SMALLEST, _LARGEST = 87, 115  # random scale of a mark in percent
_FINE = 2  # marks are drawn this many times larger and averaged down, for strokes of fractional width
_RIM = 48  # points on a pebble's outline
_BUMPS = np.array([2, 3, 4])  # periods of the waves that make it uneven

Colour = tuple[int, int, int]

# Hue in degrees, saturation and value in percent: lowest and highest of a pebble, then of the ink on it.
_PALE = ((25, 8, 84, 0, 30, 12), (62, 42, 98, 359, 90, 36))
_DARK = ((0, 45, 18, 0, 10, 75), (359, 80, 42, 359, 45, 95))


@dataclass(frozen=True)
class Mark:
    """Everything random about one mark but the drawing on it. Lengths in pixels."""

    x: int  # centre
    y: int
    glyph: int  # side of the glyph
    pebble: int  # radius of the pebble
    matrix: np.ndarray  # (2, 2) int64, fixed point: turns, shears and stretches the drawing
    rim: np.ndarray  # (_RIM,) int64: the outline in 1/1000 of the radius
    ground: Colour
    ink: Colour

    @property
    def reach(self) -> int:
        """Half the side of the square patch the mark is drawn in, shadow included."""
        return compute_reach(self.pebble)

    @property
    def box(self) -> tuple[int, int, int, int]:
        """Square around the pebble: x0, y0, x1, y1."""
        return self.x - self.pebble, self.y - self.pebble, self.x + self.pebble, self.y + self.pebble


# Draws what names the class on a needle: (canvas, mark, label, a number that picks among several drawings).
Painter = Callable[[np.ndarray, Mark, int, int], None]


def compute_reach(pebble: int) -> int:
    return pebble + max(pebble // 4, 2)


def compute_largest_pebble(glyph: int) -> int:
    """Return the largest radius of a pebble under a glyph of this mean side."""
    return _compute_radius(glyph * _LARGEST // 100)


def _compute_radius(glyph: int) -> int:
    return max(glyph * PEBBLE // 200, 3)


def sample_marks(generator: np.random.Generator, glyph: int, pale: Sequence[bool]) -> list[Mark]:
    """Draw random marks, all at the origin, with pale or dark pebbles."""
    count = len(pale)
    low, high = (_SMALLEST, -TURN // 20, -12, 88, 88), (_LARGEST, TURN // 20, 12, 112, 112)
    shapes = generator.integers(low, high, (count, 5), endpoint=True).tolist()
    starts = generator.integers(0, TURN, (count, len(_BUMPS), 1))
    waves = sine_table()[(starts + _BUMPS[:, None] * TURN * np.arange(_RIM) // _RIM) % TURN]  # (count, bumps, _RIM)
    rims = 900 + (70 * waves // (_BUMPS[:, None] * ONE)).sum(1)
    marks = []
    for is_pale, (percent, angle, shear, across, along), rim in zip(pale, shapes, rims, strict=True):
        side = glyph * percent // 100
        c, s = cosine(angle), sine(angle)
        matrix = np.array([[c * across, c * shear - s * along], [s * across, s * shear + c * along]], np.int64) // 100
        tones = generator.integers(*(_PALE if is_pale else _DARK), endpoint=True).tolist()
        marks.append(
            Mark(0, 0, side, _compute_radius(side), matrix, rim, convert_hsv(*tones[:3]), convert_hsv(*tones[3:]))
        )
    return marks


def draw_strokes(canvas: np.ndarray, mark: Mark, drawing: Strokes) -> None:
    """Paint the mark with polylines on it, in place."""
    size = 2 * mark.reach * _FINE
    mask = np.zeros((size, size), np.uint8)
    half = mark.glyph * _FINE * 8  # half a side in 1/16 of a fine pixel
    lines = [((line @ mark.matrix.T) * half // (1000 * ONE) + size * 8).astype(np.int32) for line in drawing.lines]
    cv2.polylines(mask, lines, False, 255, max((drawing.width * half + 8_000) // 16_000, 1), cv2.LINE_AA, shift=4)
    draw_mark(canvas, mark, _average_down(mask))


def draw_mark(canvas: np.ndarray, mark: Mark, ink: np.ndarray) -> None:
    """Paint the mark with ink coverage (2 * reach, 2 * reach) uint8, in place."""
    reach = mark.reach
    patch = canvas[mark.y - reach : mark.y + reach, mark.x - reach : mark.x + reach]
    size = 2 * reach * _FINE
    radii = mark.pebble * _FINE * 16 * mark.rim // 1000
    outline = (radii[:, None] * _make_circle() // ONE + size * 8).astype(np.int32)
    fine = np.zeros((size, size), np.uint8)
    cv2.fillPoly(fine, [outline], 255, cv2.LINE_AA, shift=4)
    pebble = _clip_to_box(_average_down(fine), mark)
    width = max(mark.pebble // 4, 1) | 1
    drop = max(mark.pebble // 9, 1)
    shadow = np.zeros_like(pebble)
    shadow[drop:, drop:] = cv2.blur(pebble, (width, width))[:-drop, :-drop] >> 1
    _compose(patch, shadow, pebble, cv2.min(ink, pebble), mark)


@lru_cache(maxsize=1)
def _make_circle() -> np.ndarray:
    """Return cosine and sine of evenly spaced angles, fixed point: (_RIM, 2) int64."""
    angles = [TURN * i // _RIM for i in range(_RIM)]
    return np.array([(cosine(a), sine(a)) for a in angles], np.int64)


def _clip_to_box(coverage: np.ndarray, mark: Mark) -> np.ndarray:
    """Return coverage (2 * reach, 2 * reach) without the faint fringe of antialiasing beyond the mark's box."""
    edge = mark.reach - mark.pebble
    inside = np.zeros_like(coverage)
    inside[edge:-edge, edge:-edge] = coverage[edge:-edge, edge:-edge]
    return inside


def _average_down(fine: np.ndarray) -> np.ndarray:
    side = fine.shape[0] // _FINE
    return cv2.resize(fine, (side, side), interpolation=cv2.INTER_AREA)


def _compose(patch: np.ndarray, shadow: np.ndarray, pebble: np.ndarray, ink: np.ndarray, mark: Mark) -> None:
    """Lay shadow, pebble and ink over the patch, in place; coverages in 1/255, sums stay below 2 ** 16."""
    inked = ink.astype(np.uint16)
    bare = pebble - inked
    keep = (255 - shadow.astype(np.uint16)) * (255 - pebble.astype(np.uint16)) // 255
    for channel, (ground, tone) in enumerate(zip(mark.ground, mark.ink, strict=True)):
        mixed = patch[:, :, channel] * keep
        mixed += bare * np.uint16(ground)
        mixed += inked * np.uint16(tone)
        mixed += 128
        mixed += mixed >> 8
        patch[:, :, channel] = mixed >> 8
