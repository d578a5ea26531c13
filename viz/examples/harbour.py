"""A harbour at dusk: large quiet shapes, and small things on the water and along the quay."""

from __future__ import annotations

import numpy as np

from viz.examples.canvas import Canvas, Colour, build_ridge, mix_colours

_W, _H, _SEA = 1280, 960, 560
_SKY: Colour = (47, 62, 104)
_HORIZON: Colour = (246, 178, 122)
_NIGHT: Colour = (24, 30, 52)
_LAMP: Colour = (255, 221, 150)


def draw() -> np.ndarray:
    rng = np.random.default_rng(11)
    canvas = Canvas(_W, _H, _SKY, _HORIZON)
    canvas.glow(860, 520, 210, (255, 205, 140), 0.8)
    canvas.disc(860, 505, 46, (255, 236, 196))
    for depth, (base, rise) in enumerate([(505, 60), (530, 46), (552, 30)]):
        colour = mix_colours((170, 128, 132), (58, 58, 92), depth / 2)
        canvas.polygon([(0, _H), *build_ridge(_W, base, rise, rng), (_W, _H)], colour)
    _draw_water(canvas, rng)
    _draw_village(canvas, rng)
    _draw_lighthouse(canvas)
    for x, y, size in [(470, 640, 1.0), (1010, 600, 0.55), (720, 590, 0.42), (1130, 690, 0.8)]:
        _draw_sailing_boat(canvas, x, y, size)
    _draw_pier(canvas)
    _draw_gulls(canvas, rng)
    return canvas.finish(seed=1)


def _draw_water(canvas: Canvas, rng: np.random.Generator) -> None:
    for row in range(_SEA, _H, 2):
        share = (row - _SEA) / (_H - _SEA)
        canvas.box(0, row, _W, 2, mix_colours((214, 150, 122), (30, 40, 76), min(1.0, share * 1.5)))
    for _ in range(900):
        y = _SEA + (_H - _SEA) * rng.random() ** 1.6
        near = (y - _SEA) / (_H - _SEA)
        x, length = rng.uniform(0, _W), rng.uniform(6, 26) * (0.4 + 1.6 * near)
        sun = abs(x - 860) < 40 + 90 * near and rng.random() < 0.8
        colour = (
            mix_colours((255, 222, 170), (226, 150, 112), near)
            if sun
            else mix_colours((196, 142, 128), (52, 64, 108), near)
        )
        canvas.line([(x, y), (x + length, y)], colour, 1 + 1.4 * near)


def _draw_village(canvas: Canvas, rng: np.random.Generator) -> None:
    canvas.polygon([(0, 520), (150, 505), (330, 545), (420, 575), (420, 590), (0, 640)], (44, 42, 66))
    x = 6.0
    while x < 330:
        w, h = rng.uniform(22, 40), rng.uniform(26, 52)
        top = 560 - h + x * 0.08
        canvas.box(x, top, w, h + 12, mix_colours((84, 66, 84), (56, 52, 80), rng.random()))
        canvas.polygon([(x - 3, top), (x + w / 2, top - rng.uniform(10, 18)), (x + w + 3, top)], (120, 62, 60))
        for column in np.arange(x + 5, x + w - 6, 9):
            for row in np.arange(top + 7, top + h - 6, 12):
                if rng.random() < 0.55:
                    canvas.box(float(column), float(row), 4, 6, _LAMP)
        x += w + rng.uniform(1, 7)
    for lamp in range(20, 400, 42):
        canvas.line([(lamp, 590), (lamp, 572)], _NIGHT, 1.5)
        canvas.disc(lamp, 570, 2.4, (255, 240, 200))


def _draw_lighthouse(canvas: Canvas) -> None:
    canvas.polygon([(1150, 575), (1205, 548), (1280, 556), (1280, 600), (1150, 590)], (38, 38, 60))
    for band in range(6):
        half, next_half = 15 - band * 1.1, 15 - (band + 1) * 1.1
        low, high = 556 - band * 22, 556 - (band + 1) * 22
        shade = (226, 216, 208) if band % 2 else (190, 66, 58)
        corners = [(1222 - half, low), (1222 + half, low), (1222 + next_half, high), (1222 - next_half, high)]
        canvas.polygon(corners, shade)
    canvas.box(1211, 418, 22, 7, _NIGHT)
    canvas.glow(1222, 408, 26, (255, 240, 190), 0.9)
    canvas.box(1215, 402, 14, 16, (255, 244, 205))
    canvas.polygon([(1212, 402), (1222, 390), (1232, 402)], _NIGHT)


def _draw_sailing_boat(canvas: Canvas, x: float, y: float, size: float) -> None:
    def at(dx: float, dy: float) -> tuple[float, float]:
        return x + dx * size, y + dy * size

    for step in range(9):  # reflection
        wobble = 6 if step % 2 else -4
        left, right = at(-40 + step * 3 + wobble, 26 + step * 11), at(46 - step * 3 + wobble, 26 + step * 11)
        canvas.line([left, right], (92, 84, 112), 3.4 * size)
    canvas.polygon([at(-62, 0), at(66, 0), at(46, 24), at(-46, 24)], (40, 34, 50))
    canvas.line([at(-58, 6), at(62, 6)], (206, 84, 64), 4 * size)
    canvas.line([at(0, 0), at(0, -172)], (58, 44, 48), 4 * size)
    canvas.polygon([at(5, -164), at(5, -14), at(72, -14)], (244, 232, 214))
    canvas.polygon([at(-5, -146), at(-5, -14), at(-54, -14)], (226, 198, 178))
    canvas.line([at(5, -62), at(50, -62)], (200, 168, 150), 2 * size)
    canvas.polygon([at(0, -172), at(22, -165), at(0, -158)], (206, 84, 64))
    canvas.disc(*at(-28, -12), 6 * size, (60, 46, 56))  # somebody at the helm
    canvas.box(*at(-34, -8), 12 * size, 12 * size, (66, 92, 130))


def _draw_pier(canvas: Canvas) -> None:
    plank: Colour = (62, 46, 50)
    for post in range(60, 640, 72):
        canvas.box(post, 826 + post * 0.02, 11, 120, (40, 32, 42))
    canvas.polygon([(0, 806), (650, 822), (660, 836), (0, 834)], plank)
    for seam in range(10, 650, 17):
        canvas.line([(seam, 807 + seam * 0.024), (seam + 3, 833)], (46, 34, 42), 1.2)
    # An angler with a rod, a lantern, and a coil of rope.
    canvas.box(560, 776, 15, 34, (46, 62, 96), radius=5)
    canvas.disc(567, 767, 8, (222, 176, 146))
    canvas.polygon([(556, 764), (578, 764), (572, 754), (561, 754)], (166, 60, 52))
    canvas.box(561, 806, 5, 16, _NIGHT)
    canvas.box(569, 806, 5, 16, _NIGHT)
    canvas.line([(574, 786), (640, 736), (668, 728)], (30, 26, 34), 2)
    canvas.line([(668, 728), (676, 900)], (214, 200, 188), 0.8)
    canvas.disc(676, 902, 4, (214, 66, 56))
    canvas.glow(420, 792, 22, _LAMP, 0.9)
    canvas.box(414, 784, 12, 18, (255, 232, 170), radius=2)
    canvas.box(412, 780, 16, 4, _NIGHT)
    for ring in range(4):
        canvas.arc(250, 806, 13 - ring * 3, 0, 360, (206, 178, 130), 2)


def _draw_gulls(canvas: Canvas, rng: np.random.Generator) -> None:
    for _ in range(9):
        x, y, span = rng.uniform(300, 760), rng.uniform(170, 380), rng.uniform(8, 17)
        canvas.arc(x - span / 2, y, span / 2, 190, 340, (250, 240, 232), 2.2)
        canvas.arc(x + span / 2, y, span / 2, 200, 350, (250, 240, 232), 2.2)
