"""The drawn alphabet: symbols that name a class, and marks that mean nothing.

A drawing is a list of polylines in units of a square from -1000 to 1000, y pointing down. All symbols
get the same amount of ink (`thickness`), so that how dark a blob is does not give its class away.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np

from training.data.needles.streams import ONE, TURN, between, cosine, sine

Drawing = list[np.ndarray]  # polylines, each (points, 2) int64, x then y

_INK = 1_500_000  # length times thickness, in square units
_THICKNESS = (170, 400)  # thinnest and thickest stroke, in units


def arc(cx: int, cy: int, radius: int, start: int = 0, end: int = TURN, points: int = 25) -> list[tuple[int, int]]:
    """Points on a circle from angle `start` to `end` (parts of a turn, clockwise from the right)."""
    angles = [start + (end - start) * i // (points - 1) for i in range(points)]
    return [(cx + radius * cosine(a) // ONE, cy + radius * sine(a) // ONE) for a in angles]


def _spiral() -> list[tuple[int, int]]:
    angles = [TURN * i // 16 for i in range(38)]
    return [((120 + 23 * i) * cosine(a) // ONE, (120 + 23 * i) * sine(a) // ONE) for i, a in enumerate(angles)]


def _star() -> list[tuple[int, int]]:
    corners = [TURN * 2 * i // 5 - TURN // 4 for i in range(6)]
    return [(cosine(a) * 1000 // ONE, sine(a) * 1000 // ONE) for a in corners]


# The order matters: a data set of c classes uses the first c, so that few classes are easy to tell apart.
_SYMBOLS: dict[str, list[list[tuple[int, int]]]] = {
    "ring": [arc(0, 0, 830)],
    "cross": [[(-950, 0), (950, 0)], [(0, -950), (0, 950)]],
    "triangle": [[(0, -900), (930, 780), (-930, 780), (0, -900)]],
    "zigzag": [[(-950, -700), (950, -700), (-950, 700), (950, 700)]],
    "arrow": [[(0, 950), (0, -900)], [(-750, -150), (0, -900), (750, -150)]],
    "spiral": [_spiral()],
    "hourglass": [[(-800, -900), (800, -900), (-800, 900), (800, 900), (-800, -900)]],
    "fork": [[(0, 950), (0, -900)], [(-800, -900), (-800, 0), (800, 0), (800, -900)]],
    "star": [_star()],
    "house": [[(-750, 900), (-750, -150), (0, -900), (750, -150), (750, 900), (-750, 900)]],
    "heart": [[(0, 900), (-850, 0), *arc(-430, -380, 440, TURN // 2, TURN, 9), *arc(430, -380, 440, TURN // 2, TURN, 9),
               (850, 0), (0, 900)]],
    "anchor": [[(0, -900), (0, 850)], [(-450, -450), (450, -450)], arc(0, 50, 800, 0, TURN // 2, 13)],
    "moon": [[*arc(0, 0, 900, 170, 854, 17), *reversed(arc(480, 0, 640, 215, 809, 13))]],
    "flag": [[(-650, 950), (-650, -900), (800, -420), (-650, 80)]],
    "fish": [[(950, -600), *arc(-150, 0, 750, 900, 124, 17), (950, 600), (950, -600)]],
    "ladder": [[(-550, -950), (-550, 950)], [(550, -950), (550, 950)], [(-550, -420), (550, -420)],
               [(-550, 420), (550, 420)]],
    "eye": [[*arc(0, 520, 1080, 592, 944, 13), *arc(0, -520, 1080, 80, 432, 13), (-900, -70)], arc(0, 0, 240, points=9)],
    "comb": [[(-900, -750), (900, -750)], [(-900, -750), (-900, 850)], [(0, -750), (0, 850)], [(900, -750), (900, 850)]],
    "bow": [[(-950, -650), (-950, 650), (950, -650), (950, 650), (-950, -650)]],
    "cup": [[(-850, -800), (850, -800), (650, 300), (0, 550), (-650, 300), (-850, -800)], [(0, 550), (0, 950)],
            [(-500, 950), (500, 950)]],
}  # fmt: skip

SYMBOL_NAMES = tuple(_SYMBOLS)


@lru_cache(maxsize=len(_SYMBOLS))
def _polylines(name: str) -> tuple[np.ndarray, ...]:
    return tuple(np.array(line, dtype=np.int64) for line in _SYMBOLS[name])


def symbol(index: int) -> Drawing:
    """The symbol of class `index`."""
    return list(_polylines(SYMBOL_NAMES[index]))


def thickness(drawing: Drawing) -> int:
    """Stroke width in units that gives every drawing about the same inked area."""
    length = sum(int(np.sqrt((np.diff(line, axis=0) ** 2).sum(1)).sum()) for line in drawing)
    return min(max(_INK // max(length, 1), _THICKNESS[0]), _THICKNESS[1])


def _dots(generator: np.random.Generator) -> Drawing:
    """Five to eight dots, scattered over a jittered 3 x 3 lattice."""
    chosen = generator.permutation(9)[: between(generator, 5, 8)]
    jitter = generator.integers(-150, 151, (9, 2))
    return [
        np.array(arc(650 * (slot % 3 - 1) + dx, 650 * (slot // 3 - 1) + dy, 130, points=7), dtype=np.int64)
        for slot, (dx, dy) in ((int(s), jitter[s].tolist()) for s in chosen)
    ]


def _bars(generator: np.random.Generator) -> Drawing:
    """Three strokes side by side."""
    ends = generator.integers(500, 951, (3, 2)).tolist()
    return [np.array([(x, -up), (x, down)], dtype=np.int64) for x, (up, down) in zip((-650, 0, 650), ends, strict=True)]


def _dashes(generator: np.random.Generator) -> Drawing:
    """Short strokes in all directions."""
    lines = []
    for x, y in ((-550, -550), (550, -550), (0, 0), (-550, 550), (550, 550)):
        angle = between(generator, 0, TURN - 1)
        dx, dy = 330 * cosine(angle) // ONE, 330 * sine(angle) // ONE
        lines.append(np.array([(x - dx, y - dy), (x + dx, y + dy)], dtype=np.int64))
    return lines


def _blot(generator: np.random.Generator) -> Drawing:
    """One large dot."""
    return [np.array(arc(0, 0, between(generator, 150, 300), points=9), dtype=np.int64)]


_MARKS: tuple[Callable[[np.random.Generator], Drawing], ...] = (_dots, _bars, _dashes, _blot)


def meaningless(generator: np.random.Generator) -> Drawing:
    """A mark that is no symbol of the alphabet."""
    return _MARKS[between(generator, 0, len(_MARKS) - 1)](generator)
