"""Cluttered backgrounds: an invented map with relief, paths and scattered specks. Integer arithmetic only.

The sines and random numbers that all of `needles` draws with give the same integers on every machine.
"""

from __future__ import annotations

import colorsys
import math
from functools import lru_cache

import cv2
import numpy as np

TURN = 1024  # angles are counted in parts of a full turn
ONE = 1 << 16  # fixed-point one
_GRAIN_SIDE = 509  # prime, so that repeats never line up with anything


def draw_integer(generator: np.random.Generator, low: int, high: int) -> int:
    """Draw a whole number in low…high, both included."""
    return int(generator.integers(low, high + 1))


@lru_cache(maxsize=1)
def sine_table() -> np.ndarray:
    """Return sin(2 pi i / TURN) in fixed point: (TURN,) int64. Rounding hides how a machine computes sines."""
    return np.array([round(math.sin(2 * math.pi * i / TURN) * ONE) for i in range(TURN)], dtype=np.int64)


def sine(angle: int) -> int:
    return int(sine_table()[angle % TURN])


def cosine(angle: int) -> int:
    return int(sine_table()[(angle + TURN // 4) % TURN])


def convert_hsv(hue: int, saturation: int, value: int) -> tuple[int, int, int]:
    """Return RGB 0…255 of a colour given in degrees and percent."""
    red, green, blue = colorsys.hsv_to_rgb(hue % 360 / 360, saturation / 100, value / 100)
    return round(red * 255), round(green * 255), round(blue * 255)


def draw_background(generator: np.random.Generator, side: int, clutter: float) -> np.ndarray:
    """Draw (side, side, 3) uint8 RGB; `clutter` scales the number of paths and specks and the relief."""
    canvas: np.ndarray = cv2.applyColorMap(_draw_relief(generator, side), _draw_palette(generator, clutter))
    shade = _draw_relief(generator, side, octaves=((7, 150), (29, 105)))
    cv2.multiply(canvas, cv2.merge([shade] * 3), canvas, scale=1 / 128)  # a power of two: exact
    _draw_paths(generator, canvas, round(7 * clutter))
    _draw_specks(generator, canvas, round(60 * clutter))
    return canvas


def add_grain(generator: np.random.Generator, canvas: np.ndarray, strength: int) -> None:
    """Add noise of about `strength` grey levels to the finished canvas, in place."""
    side = canvas.shape[0]
    tile = _make_grain()
    top, left = draw_integer(generator, 0, _GRAIN_SIDE - 1), draw_integer(generator, 0, _GRAIN_SIDE - 1)
    rolled = np.roll(tile, (top, left), (0, 1))
    times = -(-side // _GRAIN_SIDE)
    noise = np.tile(rolled, (times, times))[:side, :side]
    # 128 is no noise: add what lies above and take away what lies below.
    rise = cv2.convertScaleAbs(cv2.subtract(noise, 128), alpha=strength / 64)
    fall = cv2.convertScaleAbs(cv2.subtract(128, noise), alpha=strength / 64)
    cv2.add(canvas, cv2.merge([rise] * 3), canvas)
    cv2.subtract(canvas, cv2.merge([fall] * 3), canvas)


@lru_cache(maxsize=1)
def _make_grain() -> np.ndarray:
    """Return (side, side) uint8, bell-shaped around 128: the sum of four uniform draws."""
    draws = np.random.default_rng(509).integers(0, 65, (4, _GRAIN_SIDE, _GRAIN_SIDE))
    return draws.sum(0).clip(0, 255).astype(np.uint8)


def _draw_relief(
    generator: np.random.Generator, side: int, octaves: tuple[tuple[int, int], ...] = ((4, 130), (9, 80), (21, 45))
) -> np.ndarray:
    """Draw smooth random heights, (side, side) uint8, one lattice per octave as (cells, height)."""
    # Smoothed at an eighth of the size, where it costs little; the last step is linear.
    small = max(side // 8, 32)
    total = np.zeros((small, small), np.uint8)
    for cells, height in octaves:
        lattice = generator.integers(0, height + 1, (cells, cells), dtype=np.uint8)
        layer = cv2.resize(lattice, (small, small), interpolation=cv2.INTER_LINEAR_EXACT)
        width = max(small // cells, 1) | 1
        for _ in range(2):  # a box twice rounds the corners off
            layer = cv2.blur(layer, (width, width), borderType=cv2.BORDER_REPLICATE)
        total = cv2.add(total, layer)
    return cv2.resize(total, (side, side), interpolation=cv2.INTER_LINEAR_EXACT)


def _draw_palette(generator: np.random.Generator, clutter: float) -> np.ndarray:
    """Draw (256, 1, 3) uint8: heights to colours, through four colours of related hue, with contour lines."""
    hue = draw_integer(generator, 0, 359)
    reach = round(26 * min(clutter, 1.5))
    stops = [
        convert_hsv(
            hue + draw_integer(generator, -60, 60),
            draw_integer(generator, 18, 48),
            46 + (step * 2 - 3) * reach // 5 + draw_integer(generator, -5, 5),
        )
        for step in generator.permutation(4).tolist()
    ]
    row = np.array(stops, np.uint8).reshape(4, 1, 3)
    palette = cv2.resize(row, (1, 256), interpolation=cv2.INTER_LINEAR_EXACT)
    every, first = draw_integer(generator, 14, 24), draw_integer(generator, 0, 13)
    palette[first::every] = palette[first::every] // 4 * 3
    return palette


def _draw_paths(generator: np.random.Generator, canvas: np.ndarray, count: int) -> None:
    """Draw winding lines across the canvas, some of them dashed like a trail on a map."""
    side = canvas.shape[0]
    for _ in range(count):
        steps = draw_integer(generator, 20, 50)
        bends = np.cumsum(generator.integers(-12, 13, steps)) // 2
        angles = (draw_integer(generator, 0, TURN - 1) + np.cumsum(bends)) % TURN
        moves = (
            np.stack([sine_table()[(angles + TURN // 4) % TURN], sine_table()[angles]], 1) * (side * 16 // 40) // ONE
        )
        line = (generator.integers(0, side * 16, (1, 2)) + np.cumsum(moves, 0)).astype(np.int32)
        tone = convert_hsv(
            draw_integer(generator, 0, 359), draw_integer(generator, 10, 50), draw_integer(generator, 25, 80)
        )
        width = max(side * draw_integer(generator, 1, 5) // 896, 1)
        pieces = [line] if draw_integer(generator, 0, 2) else [line[i : i + 2] for i in range(0, steps - 1, 2)]
        cv2.polylines(canvas, pieces, False, tone, width, cv2.LINE_AA, shift=4)


def _draw_specks(generator: np.random.Generator, canvas: np.ndarray, count: int) -> None:
    """Draw dots, ticks and small circles, well below the size of a glyph."""
    side = canvas.shape[0]
    low, high = (0, 0, 30, 30, 30, 2, 0, 0), (side * 16, side * 16, 235, 235, 235, 7, 2, TURN - 1)
    for x, y, *tone, extent, kind, angle in generator.integers(low, high, (count, 8), endpoint=True).tolist():
        size = side * 16 * extent // 896
        if kind == 0:
            cv2.circle(canvas, (x, y), size, tone, -1, cv2.LINE_AA, shift=4)
        elif kind == 1:
            cv2.circle(canvas, (x, y), 2 * size, tone, max(side // 500, 1), cv2.LINE_AA, shift=4)
        else:
            dx, dy = 3 * size * cosine(angle) // ONE, 3 * size * sine(angle) // ONE
            cv2.line(canvas, (x - dx, y - dy), (x + dx, y + dy), tone, max(side // 400, 1), cv2.LINE_AA, shift=4)
