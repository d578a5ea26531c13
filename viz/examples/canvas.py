"""A drawing surface with antialiased edges: everything is drawn twice as large and scaled down once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from PIL import Image, ImageDraw, ImageFilter

Colour = tuple[int, int, int]
Point = tuple[float, float]

_SCALE = 2


class Canvas:
    """Coordinates and widths are in pixels of the finished picture, origin top left."""

    def __init__(self, width: int, height: int, top: Colour, bottom: Colour) -> None:
        self.width, self.height = width, height
        self._image = Image.fromarray(build_gradient(width * _SCALE, height * _SCALE, top, bottom))
        self._draw = ImageDraw.Draw(self._image)

    def polygon(self, points: Sequence[Point], fill: Colour) -> None:
        self._draw.polygon([(x * _SCALE, y * _SCALE) for x, y in points], fill=fill)

    def box(self, x: float, y: float, w: float, h: float, fill: Colour, radius: float = 0) -> None:
        # Pillow includes the last pixel of a rectangle.
        corners = (x * _SCALE, y * _SCALE, (x + w) * _SCALE - 1, (y + h) * _SCALE - 1)
        self._draw.rounded_rectangle(corners, radius * _SCALE, fill=fill)

    def disc(self, x: float, y: float, r: float, fill: Colour, squash: float = 1.0) -> None:
        rx, ry = r * _SCALE, r * squash * _SCALE
        self._draw.ellipse((x * _SCALE - rx, y * _SCALE - ry, x * _SCALE + rx, y * _SCALE + ry), fill=fill)

    def line(self, points: Sequence[Point], fill: Colour, width: float) -> None:
        scaled = [(x * _SCALE, y * _SCALE) for x, y in points]
        self._draw.line(scaled, fill=fill, width=max(1, round(width * _SCALE)), joint="curve")

    def arc(self, x: float, y: float, r: float, start: float, end: float, fill: Colour, width: float) -> None:
        around = (x * _SCALE - r * _SCALE, y * _SCALE - r * _SCALE, x * _SCALE + r * _SCALE, y * _SCALE + r * _SCALE)
        self._draw.arc(around, start, end, fill=fill, width=max(1, round(width * _SCALE)))

    def glow(self, x: float, y: float, r: float, fill: Colour, strength: float) -> None:
        """Draw light that fades with distance, added to what is there."""
        # Blurring is slow and light has no detail: the mask is made at an eighth of the size.
        small = (self._image.width // 8, self._image.height // 8)
        ratio = _SCALE / 8
        mask = Image.new("L", small, 0)
        around = ((x - r) * ratio, (y - r) * ratio, (x + r) * ratio, (y + r) * ratio)
        ImageDraw.Draw(mask).ellipse(around, fill=round(255 * strength))
        mask = mask.filter(ImageFilter.GaussianBlur(r * ratio * 0.6)).resize(
            self._image.size, Image.Resampling.BILINEAR
        )
        self._image.paste(Image.new("RGB", self._image.size, fill), (0, 0), mask)
        self._draw = ImageDraw.Draw(self._image)

    def finish(self, grain: float = 2.0, seed: int = 0) -> np.ndarray:
        """Return (height, width, 3) uint8, with a little grain against banding."""
        small = self._image.resize((self.width, self.height), Image.Resampling.BOX)
        noise = np.random.default_rng(seed).normal(0, grain, (self.height, self.width, 1))
        return (np.asarray(small) + noise).clip(0, 255).astype(np.uint8)


def build_gradient(width: int, height: int, top: Colour, bottom: Colour) -> np.ndarray:
    """Return (height, width, 3) uint8, `top` fading into `bottom`."""
    share = np.linspace(0, 1, height)[:, None, None]
    column = np.asarray(top) * (1 - share) + np.asarray(bottom) * share
    return np.broadcast_to(column, (height, width, 3)).astype(np.uint8)


def mix_colours(a: Colour, b: Colour, share: float) -> Colour:
    """Mix two colours: `a` at 0, `b` at 1."""
    red, green, blue = (round(p + (q - p) * share) for p, q in zip(a, b, strict=True))
    return red, green, blue


def build_ridge(width: int, base: float, rise: float, rng: np.random.Generator, roughness: float = 0.55) -> list[Point]:
    """Return a line of hills from left to right: sines of falling size and random phase."""
    x = np.arange(0, width + 8, 8, dtype=float)
    y = np.zeros_like(x)
    for octave in range(6):
        length = width / (1.3 * 2**octave)
        y += roughness**octave * np.sin(2 * np.pi * x / length + rng.uniform(0, 2 * np.pi))
    return list(zip(x.tolist(), (base - rise * (y / 2)).tolist(), strict=True))
