"""A circuit board: a regular scene in which one thing is out of order."""

from __future__ import annotations

import numpy as np

from viz.examples.canvas import Canvas, Colour, mix_colours

_SIDE = 1120
_GREEN: Colour = (22, 92, 72)
_COPPER: Colour = (48, 128, 98)
_TIN: Colour = (206, 206, 198)
_GOLD: Colour = (220, 184, 98)
_BLACK: Colour = (30, 32, 36)


def draw() -> np.ndarray:
    rng = np.random.default_rng(8)
    canvas = Canvas(_SIDE, _SIDE, mix_colours(_GREEN, (255, 255, 255), 0.05), mix_colours(_GREEN, (0, 0, 0), 0.12))
    _draw_traces(canvas, rng)
    for x, y in ((46, 46), (1074, 46), (46, 1074), (1074, 1074)):
        canvas.disc(x, y, 24, _GOLD)
        canvas.disc(x, y, 13, (226, 230, 232))
    _draw_square_chip(canvas, 420, 380, 280, 22)
    _draw_long_chip(canvas, 130, 170, 240, 84, 10)
    _draw_long_chip(canvas, 780, 660, 250, 90, 10)
    _draw_long_chip(canvas, 150, 800, 200, 76, 8)
    _draw_edge(canvas)
    _draw_passives(canvas, rng)
    for x, y, r in ((860, 190, 46), (972, 190, 46), (916, 300, 34)):
        _draw_capacitor(canvas, x, y, r)
    _draw_crystal(canvas, 480, 730)
    _draw_lights(canvas)
    return canvas.finish(grain=2.5, seed=4)


def _draw_traces(canvas: Canvas, rng: np.random.Generator) -> None:
    for _ in range(150):
        x, y = (float(v) * 20 + 60 for v in rng.integers(0, 50, 2))
        points = [(x, y)]
        for _ in range(int(rng.integers(2, 5))):
            reach = float(rng.integers(2, 9)) * 20
            dx, dy = [(1, 0), (0, 1), (1, 1), (-1, 1), (1, -1)][int(rng.integers(5))]
            x, y = min(max(x + dx * reach, 40), _SIDE - 40), min(max(y + dy * reach, 40), _SIDE - 40)
            points.append((x, y))
        canvas.line(points, _COPPER, float(rng.choice([2.5, 4, 4, 7])))
        for via in (points[0], points[-1]):
            canvas.disc(*via, 6, _GOLD)
            canvas.disc(*via, 2.6, (20, 54, 46))


def _draw_legs(canvas: Canvas, x: float, y: float, length: float, count: int, upright: bool) -> None:
    """Draw pins along one side of a chip, from x, y onwards."""
    pitch = length / count
    for i in range(count):
        along = (i + 0.25) * pitch
        if upright:
            canvas.box(x + along, y, pitch * 0.5, 18, _TIN)
        else:
            canvas.box(x, y + along, 18, pitch * 0.5, _TIN)


def _draw_body(canvas: Canvas, x: float, y: float, w: float, h: float) -> None:
    canvas.box(x + 6, y + 7, w, h, (14, 58, 48), radius=5)
    canvas.box(x, y, w, h, _BLACK, radius=5)
    canvas.box(x + 5, y + 5, w - 10, h - 10, (40, 42, 47), radius=3)
    canvas.disc(x + 20, y + 20, 6, (66, 69, 76))


def _draw_printing(canvas: Canvas, x: float, y: float, widths: tuple[int, ...]) -> None:
    """Draw marks that read as lettering from afar and as bars from close by."""
    for line, width in enumerate(widths):
        at = x
        for block in range(width):
            w = 5 + (block * 7 + line * 3) % 9
            canvas.box(at, y + line * 20, w, 9, (148, 152, 158))
            at += w + 5


def _draw_square_chip(canvas: Canvas, x: float, y: float, side: float, pins: int) -> None:
    inset = side - 24
    _draw_legs(canvas, x + 12, y - 15, inset, pins, upright=True)
    _draw_legs(canvas, x + 12, y + side - 3, inset, pins, upright=True)
    _draw_legs(canvas, x - 15, y + 12, inset, pins, upright=False)
    _draw_legs(canvas, x + side - 3, y + 12, inset, pins, upright=False)
    _draw_body(canvas, x, y, side, side)
    _draw_printing(canvas, x + 62, y + 104, (13, 9, 11, 6))


def _draw_long_chip(canvas: Canvas, x: float, y: float, w: float, h: float, pins: int) -> None:
    _draw_legs(canvas, x + 8, y - 15, w - 16, pins, upright=True)
    _draw_legs(canvas, x + 8, y + h - 3, w - 16, pins, upright=True)
    _draw_body(canvas, x, y, w, h)
    _draw_printing(canvas, x + 40, y + h / 2 - 16, (9, 6))


def _draw_edge(canvas: Canvas) -> None:
    canvas.box(300, 1052, 520, 68, mix_colours(_GREEN, (0, 0, 0), 0.25))
    for finger in range(26):
        canvas.box(308 + finger * 19.6, 1058, 13, 62, _GOLD, radius=2)


def _draw_resistor(canvas: Canvas, x: float, y: float, turned: bool = False) -> None:
    if turned:  # stands on its end
        canvas.box(x + 11, y - 12, 16, 38, _TIN, radius=2)
        canvas.box(x + 11, y - 4, 16, 22, _BLACK)
        return
    canvas.box(x, y, 38, 16, _TIN, radius=2)
    canvas.box(x + 8, y, 22, 16, _BLACK)
    canvas.box(x + 14, y + 5, 10, 5, (150, 154, 160))


def _draw_passives(canvas: Canvas, rng: np.random.Generator) -> None:
    for row in range(5):
        for column in range(5):
            wrong = (row, column) == (3, 1)  # one part of twenty-five is mounted the wrong way round
            _draw_resistor(canvas, 786 + column * 54, 410 + row * 38, turned=wrong)
    for i in range(8):
        x, y = 130 + (i % 2) * 70, 400 + (i // 2) * 58
        tan = mix_colours((196, 152, 104), (170, 126, 84), rng.random())
        canvas.box(x, y, 44, 24, _TIN, radius=2)
        canvas.box(x + 9, y, 26, 24, tan)


def _draw_capacitor(canvas: Canvas, x: float, y: float, r: float) -> None:
    canvas.disc(x + 6, y + 8, r, (12, 52, 44))
    canvas.disc(x, y, r, (52, 56, 66))
    canvas.disc(x, y, r * 0.86, (196, 200, 206))
    canvas.disc(x - r * 0.12, y - r * 0.12, r * 0.66, (214, 218, 222))
    canvas.line([(x - r * 0.5, y), (x + r * 0.5, y)], (150, 154, 160), 2)
    canvas.line([(x, y - r * 0.5), (x, y + r * 0.5)], (150, 154, 160), 2)
    canvas.arc(x, y, r * 0.93, 130, 230, (110, 150, 200), r * 0.14)


def _draw_crystal(canvas: Canvas, x: float, y: float) -> None:
    canvas.box(x + 5, y + 6, 150, 54, (14, 58, 48), radius=27)
    canvas.box(x, y, 150, 54, (178, 182, 186), radius=27)
    canvas.box(x + 8, y + 7, 134, 40, (204, 208, 210), radius=20)
    _draw_printing(canvas, x + 36, y + 22, (7,))


def _draw_lights(canvas: Canvas) -> None:
    """Draw a row of small lamps: three are on, one of another colour."""
    for i in range(8):
        x, y = 440 + i * 34, 860
        canvas.box(x, y, 22, 14, _TIN, radius=2)
        colour: Colour = (120, 232, 130) if i in (0, 1, 4) else (232, 84, 70) if i == 6 else (84, 118, 96)
        if i in (0, 1, 4, 6):
            canvas.glow(x + 11, y + 7, 15, colour, 0.6)
        canvas.box(x + 5, y, 12, 14, colour, radius=2)
