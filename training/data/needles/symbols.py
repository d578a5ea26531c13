"""The drawn alphabet: symbols that name a class, and marks that mean nothing.

Drawings are polylines in units of a square from -1000 to 1000, y pointing down. All get about the same
amount of ink, so that how dark a blob is does not give its class away.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np

from training.data.needles.background import ONE, TURN, cosine, draw_integer, sine

_INK = 1_500_000  # length times thickness, in square units
_WIDTHS = (170, 400)  # thinnest and thickest stroke, in units

Points = list[tuple[int, int]]


@dataclass(frozen=True)
class Strokes:
    lines: tuple[np.ndarray, ...]  # polylines, each (points, 2) int64, x then y
    width: int  # of a stroke


def make_strokes(lines: Sequence[Points]) -> Strokes:
    """Return polylines with the stroke width that spends the common amount of ink."""
    made = tuple(np.array(line, dtype=np.int64) for line in lines)
    length = sum(math.hypot(x1 - x0, y1 - y0) for line in lines for (x0, y0), (x1, y1) in pairwise(line))
    return Strokes(made, min(max(_INK // max(int(length), 1), _WIDTHS[0]), _WIDTHS[1]))


def make_arc(cx: int, cy: int, radius: int, start: int = 0, end: int = TURN, points: int = 25) -> Points:
    """Return points on a circle from angle `start` to `end` (parts of a turn, clockwise from the right)."""
    angles = [start + (end - start) * i // (points - 1) for i in range(points)]
    return [(cx + radius * cosine(a) // ONE, cy + radius * sine(a) // ONE) for a in angles]


def _make_spiral() -> Points:
    angles = [TURN * i // 16 for i in range(38)]
    return [((120 + 23 * i) * cosine(a) // ONE, (120 + 23 * i) * sine(a) // ONE) for i, a in enumerate(angles)]


def _make_star() -> Points:
    corners = [TURN * 2 * i // 5 - TURN // 4 for i in range(6)]
    return [(cosine(a) * 1000 // ONE, sine(a) * 1000 // ONE) for a in corners]


# The order matters: a data set of c classes uses the first c, so that few classes are easy to tell apart.
_SYMBOLS: dict[str, list[Points]] = {
    "ring": [make_arc(0, 0, 830)],
    "cross": [[(-950, 0), (950, 0)], [(0, -950), (0, 950)]],
    "triangle": [[(0, -900), (930, 780), (-930, 780), (0, -900)]],
    "zigzag": [[(-950, -700), (950, -700), (-950, 700), (950, 700)]],
    "arrow": [[(0, 950), (0, -900)], [(-750, -150), (0, -900), (750, -150)]],
    "spiral": [_make_spiral()],
    "hourglass": [[(-800, -900), (800, -900), (-800, 900), (800, 900), (-800, -900)]],
    "fork": [[(0, 950), (0, -900)], [(-800, -900), (-800, 0), (800, 0), (800, -900)]],
    "star": [_make_star()],
    "house": [[(-750, 900), (-750, -150), (0, -900), (750, -150), (750, 900), (-750, 900)]],
    "heart": [[(0, 900), (-850, 0), *make_arc(-430, -380, 440, TURN // 2, TURN, 9),
               *make_arc(430, -380, 440, TURN // 2, TURN, 9), (850, 0), (0, 900)]],
    "anchor": [[(0, -900), (0, 850)], [(-450, -450), (450, -450)], make_arc(0, 50, 800, 0, TURN // 2, 13)],
    "moon": [[*make_arc(0, 0, 900, 170, 854, 17), *reversed(make_arc(480, 0, 640, 215, 809, 13))]],
    "flag": [[(-650, 950), (-650, -900), (800, -420), (-650, 80)]],
    "fish": [[(950, -600), *make_arc(-150, 0, 750, 900, 124, 17), (950, 600), (950, -600)]],
    "ladder": [[(-550, -950), (-550, 950)], [(550, -950), (550, 950)], [(-550, -420), (550, -420)],
               [(-550, 420), (550, 420)]],
    "eye": [[*make_arc(0, 520, 1080, 592, 944, 13), *make_arc(0, -520, 1080, 80, 432, 13), (-900, -70)],
            make_arc(0, 0, 240, points=9)],
    "comb": [[(-900, -750), (900, -750)], [(-900, -750), (-900, 850)], [(0, -750), (0, 850)],
             [(900, -750), (900, 850)]],
    "bow": [[(-950, -650), (-950, 650), (950, -650), (950, 650), (-950, -650)]],
    "cup": [[(-850, -800), (850, -800), (650, 300), (0, 550), (-650, 300), (-850, -800)], [(0, 550), (0, 950)],
            [(-500, 950), (500, 950)]],
}  # fmt: skip

SYMBOL_NAMES = tuple(_SYMBOLS)


@lru_cache(maxsize=len(_SYMBOLS))
def get_symbol(index: int) -> Strokes:
    """Return the symbol of class `index`."""
    return make_strokes(_SYMBOLS[SYMBOL_NAMES[index]])


def _draw_dots(generator: np.random.Generator) -> list[Points]:
    """Draw five to eight dots, scattered over a jittered 3 x 3 lattice."""
    chosen = generator.permutation(9)[: draw_integer(generator, 5, 8)].tolist()
    jitter = generator.integers(-150, 151, (9, 2)).tolist()
    return [
        make_arc(650 * (i % 3 - 1) + jitter[i][0], 650 * (i // 3 - 1) + jitter[i][1], 130, points=7) for i in chosen
    ]


def _draw_bars(generator: np.random.Generator) -> list[Points]:
    """Draw three strokes side by side."""
    ends = generator.integers(500, 951, (3, 2)).tolist()
    return [[(x, -up), (x, down)] for x, (up, down) in zip((-650, 0, 650), ends, strict=True)]


def _draw_dashes(generator: np.random.Generator) -> list[Points]:
    """Draw short strokes in all directions."""
    lines = []
    places = ((-550, -550), (550, -550), (0, 0), (-550, 550), (550, 550))
    for (x, y), angle in zip(places, generator.integers(0, TURN, 5).tolist(), strict=True):
        dx, dy = 330 * cosine(angle) // ONE, 330 * sine(angle) // ONE
        lines.append([(x - dx, y - dy), (x + dx, y + dy)])
    return lines


def _draw_blot(generator: np.random.Generator) -> list[Points]:
    """Draw one large dot."""
    return [make_arc(0, 0, draw_integer(generator, 150, 300), points=9)]


_MARKS: tuple[Callable[[np.random.Generator], list[Points]], ...] = (_draw_dots, _draw_bars, _draw_dashes, _draw_blot)


def draw_meaningless(generator: np.random.Generator) -> Strokes:
    """Draw a mark that is no symbol of the alphabet."""
    return make_strokes(_MARKS[draw_integer(generator, 0, len(_MARKS) - 1)](generator))
