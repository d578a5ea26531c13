"""A city at night, wide format: hundreds of windows, a few of which are worth a second look."""

from __future__ import annotations

import numpy as np

from viz.examples.canvas import Canvas, Colour, build_ridge, mix_colours

_W, _H, _GROUND = 1600, 900, 742
_LIGHTS: tuple[Colour, ...] = ((255, 214, 140), (255, 232, 184), (246, 190, 110), (186, 214, 240))


def draw() -> np.ndarray:
    rng = np.random.default_rng(23)
    canvas = Canvas(_W, _H, (12, 16, 38), (84, 66, 106))
    for _ in range(240):
        glint = int(rng.integers(120, 245))
        canvas.disc(rng.uniform(0, _W), rng.uniform(0, 430), rng.uniform(0.5, 1.5), (glint, glint, 235))
    canvas.glow(1240, 170, 90, (196, 200, 226), 0.5)
    canvas.disc(1240, 170, 52, (238, 234, 218))
    for x, y, r in ((1222, 156, 11), (1256, 186, 8), (1250, 150, 5), (1228, 192, 6)):
        canvas.disc(x, y, r, (218, 212, 198))
    canvas.polygon([(0, _H), *build_ridge(_W, 590, 44, rng), (_W, _H)], (48, 44, 84))
    _draw_row(canvas, rng, 0.0, (58, 52, 96), 260, 0.22)
    _draw_row(canvas, rng, 0.5, (38, 38, 74), 330, 0.34)
    _draw_row(canvas, rng, 1.0, (22, 24, 48), 250, 0.42)
    _draw_river(canvas, rng)
    _draw_bridge(canvas)
    _draw_cat(canvas, 446, 655)
    return canvas.finish(seed=3)


def _draw_row(canvas: Canvas, rng: np.random.Generator, near: float, colour: Colour, tall: float, lit: float) -> None:
    x = -20.0
    while x < _W:
        w = float(rng.choice([62, 84, 106, 132]))
        h = tall * rng.uniform(0.45, 1.25)
        top = _GROUND - h
        face = mix_colours(colour, (90, 80, 120), rng.uniform(0, 0.2))
        canvas.box(x, top, w, h + 20, face)
        canvas.box(x, top, w, 4, mix_colours(face, (255, 255, 255), 0.1))
        _draw_windows(canvas, rng, x, top, w, h, face, lit, 5 + 3 * near)
        kind = rng.random()
        if kind < 0.3:
            canvas.line([(x + w / 2, top), (x + w / 2, top - 46)], mix_colours(face, (150, 150, 170), 0.3), 2)
            canvas.disc(x + w / 2, top - 47, 2.4, (240, 70, 60))
        elif kind < 0.5:
            canvas.box(x + w * 0.2, top - 20, w * 0.6, 20, face)
        elif kind < 0.6:
            canvas.box(x + w * 0.6, top - 24, 22, 18, mix_colours(face, (120, 90, 80), 0.3), radius=3)
            canvas.polygon(
                [(x + w * 0.6 - 3, top - 24), (x + w * 0.6 + 11, top - 34), (x + w * 0.6 + 25, top - 24)], face
            )
        x += w + rng.uniform(0, 16 + 22 * near)


def _draw_windows(
    canvas: Canvas,
    rng: np.random.Generator,
    x: float,
    top: float,
    w: float,
    h: float,
    face: Colour,
    lit: float,
    s: float,
) -> None:
    across, down = s * 2.0, s * 2.4
    for left in np.arange(x + s, x + w - s * 1.4, across):
        for row in np.arange(top + s * 1.8, top + h - s, down):
            if rng.random() < lit:
                light = _LIGHTS[int(rng.integers(len(_LIGHTS)))]
                canvas.box(float(left), float(row), s, s * 1.3, mix_colours(face, light, rng.uniform(0.45, 1.0)))
            else:
                canvas.box(float(left), float(row), s, s * 1.3, mix_colours(face, (10, 10, 24), 0.4))


def _draw_river(canvas: Canvas, rng: np.random.Generator) -> None:
    for row in range(_GROUND, _H, 2):
        canvas.box(0, row, _W, 2, mix_colours((44, 40, 76), (10, 12, 28), (row - _GROUND) / (_H - _GROUND)))
    canvas.box(0, _GROUND, _W, 7, (64, 58, 88))
    for _ in range(150):
        x, light = rng.uniform(0, _W), _LIGHTS[int(rng.integers(len(_LIGHTS)))]
        y, reach = _GROUND + 12.0, rng.uniform(40, 140)
        while y < _GROUND + reach:
            fade = (y - _GROUND) / reach
            half = rng.uniform(2, 8)
            canvas.line([(x - half, y), (x + half, y)], mix_colours(light, (24, 24, 50), 0.35 + 0.6 * fade), 1.6)
            y += rng.uniform(5, 10)
    for lamp in range(16, _W, 48):
        canvas.line([(lamp, _GROUND), (lamp, _GROUND - 22)], (30, 28, 46), 2)
        canvas.disc(lamp, _GROUND - 24, 3.2, (255, 234, 190))


def _draw_bridge(canvas: Canvas) -> None:
    steel: Colour = (146, 116, 122)
    deck = 776
    for tower in (1010, 1370):
        canvas.box(tower - 8, deck - 150, 16, 230, steel)
        canvas.box(tower - 12, deck - 156, 24, 8, mix_colours(steel, (255, 255, 255), 0.25))
    for first, last in ((830, 1010), (1010, 1370), (1370, 1550)):
        inner = last - first > 200
        steps = np.linspace(0, 1, 25)
        if inner:
            sag = 4 * (steps - 0.5) ** 2
            heights = deck - 14 - 130 * sag
        else:
            heights = deck - 14 - 130 * (steps if first < 1010 else 1 - steps) ** 1.6
        points = [(first + (last - first) * float(t), float(y)) for t, y in zip(steps, heights, strict=True)]
        canvas.line(points, mix_colours(steel, (255, 255, 255), 0.2), 3)
        for x, y in points[::2]:
            canvas.line([(x, y), (x, deck)], steel, 1.2)
    canvas.box(820, deck, 740, 11, mix_colours(steel, (20, 20, 40), 0.35))
    for x, tail in ((880, True), (960, False), (1100, True), (1180, True), (1284, False), (1460, True)):
        canvas.box(x, deck - 7, 18, 7, (24, 24, 40), radius=2)
        canvas.disc(x if tail else x + 18, deck - 3, 2.2, (255, 70, 60) if tail else (255, 244, 210))
    canvas.box(1186, deck - 18, 44, 18, (190, 150, 60), radius=3)  # a tram
    for pane in range(5):
        canvas.box(1190 + pane * 8, deck - 14, 6, 6, (255, 240, 200))


def _draw_cat(canvas: Canvas, x: float, y: float) -> None:
    """Draw the one window with somebody in it."""
    canvas.box(x - 3, y - 3, 36, 42, (70, 60, 90))
    canvas.box(x, y, 30, 36, (255, 226, 160))
    canvas.line([(x + 15, y), (x + 15, y + 36)], (120, 96, 90), 1.4)
    canvas.disc(x + 21, y + 29, 7, (34, 28, 44), squash=1.2)
    canvas.disc(x + 21, y + 18, 5, (34, 28, 44))
    canvas.polygon([(x + 16.5, y + 16), (x + 17.5, y + 10), (x + 20.5, y + 14)], (34, 28, 44))
    canvas.polygon([(x + 21.5, y + 14), (x + 24.5, y + 10), (x + 25.5, y + 16)], (34, 28, 44))
    canvas.arc(x + 13, y + 31, 5, 20, 170, (34, 28, 44), 2)
    canvas.box(x - 3, y + 36, 36, 4, (120, 100, 120))
