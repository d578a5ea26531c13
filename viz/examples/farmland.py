"""Farmland from above: fields in strips, a river, a road, and what moves on it."""

from __future__ import annotations

import itertools
import math

import numpy as np

from viz.examples.canvas import Canvas, Colour, mix_colours

_W, _H = 1440, 960
_LEAN = 24  # how far a field's lower edge is shifted to the right
_CROPS: tuple[Colour, ...] = (
    (196, 182, 108), (150, 168, 88), (112, 148, 84), (214, 194, 126), (134, 116, 82), (168, 186, 112), (94, 130, 78),
)  # fmt: skip


def draw() -> np.ndarray:
    rng = np.random.default_rng(5)
    canvas = Canvas(_W, _H, (138, 156, 92), (124, 146, 86))
    _draw_patchwork(canvas, rng)
    river = [(float(x), 690 + 90 * math.sin(x / 210) + 36 * math.sin(x / 83)) for x in range(-20, _W + 40, 10)]
    for width, colour in ((74, (116, 138, 88)), (60, (176, 170, 132)), (50, (74, 122, 146)), (34, (86, 138, 160))):
        canvas.line(river, colour, width)
    _draw_woods(canvas, rng, river)
    _draw_road(canvas, rng)
    _draw_farm(canvas, rng)
    _draw_tractor(canvas, 312, 226)
    return canvas.finish(grain=4.0, seed=2)


def _draw_patchwork(canvas: Canvas, rng: np.random.Generator) -> None:
    """Draw fields between slanted boundaries, each with furrows of its own direction."""
    edges = [-60, 150, 330, 560, 760, 930, 1180, 1330, 1520]
    rows = [-40, 150, 330, 520, 660, 830, 1000]
    for left, right in itertools.pairwise(edges):
        for top, bottom in itertools.pairwise(rows):
            lean, drop = 46 * (top / _H), 30 * (left / _W)
            corners = [(left + lean, top + drop), (right + lean, top + drop)]
            corners += [(right + lean + _LEAN, bottom + drop), (left + lean + _LEAN, bottom + drop)]
            colour = _CROPS[int(rng.integers(len(_CROPS)))]
            canvas.polygon(corners, colour)
            _draw_furrows(canvas, rng, corners, colour)
            canvas.line([*corners, corners[0]], (96, 116, 70), 4)


def _draw_furrows(canvas: Canvas, rng: np.random.Generator, corners: list[tuple[float, float]], colour: Colour) -> None:
    (x0, y0), (x1, _), (_, y1) = corners[0], corners[1], corners[2]
    shade = mix_colours(colour, (52, 60, 34), rng.uniform(0.14, 0.3))
    spacing = float(rng.choice([6, 9, 13]))
    if rng.random() < 0.5:
        for y in np.arange(y0 + 6, y1 - 4, spacing):
            lean = _LEAN * (float(y) - y0) / (y1 - y0)
            canvas.line([(x0 + lean, float(y)), (x1 + lean, float(y))], shade, 1.6)
    else:
        for x in np.arange(x0 + 6, x1 - 4, spacing):
            canvas.line([(float(x), y0), (float(x) + _LEAN, y1)], shade, 1.6)


def _draw_tree(canvas: Canvas, x: float, y: float, r: float, rng: np.random.Generator) -> None:
    canvas.disc(x + r * 0.5, y + r * 0.5, r, (62, 84, 52))
    green = mix_colours((58, 98, 56), (108, 138, 70), rng.random())
    canvas.disc(x, y, r, green)
    canvas.disc(x - r * 0.3, y - r * 0.3, r * 0.5, mix_colours(green, (176, 196, 120), 0.4))


def _draw_woods(canvas: Canvas, rng: np.random.Generator, river: list[tuple[float, float]]) -> None:
    for _ in range(190):
        x, y = river[int(rng.integers(len(river)))]
        side = rng.choice([-1.0, 1.0])
        _draw_tree(canvas, x + rng.normal(0, 8), y + side * rng.uniform(38, 66), rng.uniform(5, 11), rng)
    for _ in range(170):
        angle, reach = rng.uniform(0, 2 * math.pi), 120 * math.sqrt(rng.random())
        _draw_tree(canvas, 1190 + reach * 1.4 * math.cos(angle), 190 + reach * math.sin(angle), rng.uniform(6, 13), rng)


def _draw_road(canvas: Canvas, rng: np.random.Generator) -> None:
    def centre(x: float) -> float:
        return 470 - 0.16 * x + 46 * math.sin(x / 300)

    line = [(x, centre(x)) for x in range(-20, _W + 40, 12)]
    canvas.line(line, (188, 178, 150), 30)
    canvas.line(line, (104, 104, 106), 24)
    for x in range(0, _W, 34):
        canvas.line([(x, centre(x)), (x + 15, centre(x + 15))], (236, 230, 206), 1.8)
    paints: list[Colour] = [
        (196, 58, 48),
        (240, 240, 238),
        (52, 84, 150),
        (40, 42, 48),
        (226, 178, 52),
        (240, 240, 238),
    ]
    for x, paint in zip((120, 304, 655, 742, 1010, 1330), paints, strict=True):
        lane = float(rng.choice([-6.5, 6.5]))
        slope = centre(x + 10) - centre(x - 10)
        y = centre(x) + lane
        canvas.polygon([(x - 10, y - 4 - slope / 2), (x + 10, y - 4 + slope / 2), (x + 10, y + 5 + slope / 2),
                        (x - 10, y + 5 - slope / 2)], paint)  # fmt: skip
        canvas.box(x - 4, y - 3, 8, 7, mix_colours(paint, (30, 36, 48), 0.55), radius=1)


def _draw_farm(canvas: Canvas, rng: np.random.Generator) -> None:
    canvas.polygon([(600, 236), (760, 228), (776, 340), (610, 350)], (190, 172, 130))
    for x, y, w, h, roof in ((622, 252, 62, 34, (158, 70, 54)), (700, 246, 44, 62, (126, 60, 50)),
                             (632, 308, 38, 26, (148, 148, 152))):  # fmt: skip
        canvas.box(x + 5, y + 5, w, h, (108, 100, 76))
        canvas.box(x, y, w, h, roof)
        canvas.box(x, y, w, h / 2, mix_colours(roof, (255, 255, 255), 0.16))
    canvas.disc(690, 326, 11, (208, 208, 210))
    canvas.disc(688, 324, 6, (232, 232, 232))
    canvas.disc(806, 300, 30, (96, 112, 74), squash=0.7)
    canvas.disc(806, 300, 26, (70, 116, 140), squash=0.7)
    for duck in range(4):
        canvas.disc(794 + duck * 8, 298 + (duck % 2) * 6, 1.8, (246, 244, 236))
    for bale in range(14):
        left, top = 404 + (bale % 5) * 36 + rng.uniform(-5, 5), 556 + (bale // 5) * 30 + rng.uniform(-5, 5)
        canvas.disc(left + 2, top + 2, 6, (120, 112, 66))
        canvas.disc(left, top, 6, (226, 204, 130))
        canvas.arc(left, top, 3, 0, 360, (186, 160, 92), 1)


def _draw_tractor(canvas: Canvas, x: float, y: float) -> None:
    """Draw it at the end of the strip it has just turned over."""
    canvas.box(x - 118, y - 10, 118, 22, (118, 98, 70))
    for furrow in range(5):
        canvas.line([(x - 118, y - 7 + furrow * 4.2), (x - 8, y - 7 + furrow * 4.2)], (88, 72, 52), 1.4)
    for dx, dy in ((2, -11), (2, 8), (21, -9), (21, 7)):
        canvas.box(x + dx, y + dy, 9, 4, (36, 36, 38), radius=1)
    canvas.box(x, y - 7, 20, 15, (196, 52, 44), radius=2)
    canvas.box(x + 18, y - 4, 15, 9, (176, 44, 38), radius=2)
    canvas.box(x + 5, y - 5, 9, 11, (226, 232, 236), radius=1)
    canvas.box(x - 12, y - 10, 8, 22, (62, 66, 74))
