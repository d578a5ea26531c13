"""Photometric distortion of ImageNet and fMoW: four operations in one of four orders, or none."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import cv2
import numpy as np

BRIGHTNESS = 32 / 255  # largest addition, either way
SATURATION = (0.5, 1.5)
HUE = 0.2  # largest turn, either way, as a share of the hue circle
CONTRAST = (0.5, 1.5)

STRIP = 16  # rows
F32 = np.float32
TINY = np.float32(1e-20)  # keeps divisions by zero away; what is divided is zero there too


def distorted(planes: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """(3, H, W) float32 RGB -> the same, distorted and clipped to [0, 1]; one time in five left as it is."""
    variant = int(generator.integers(len(ORDERS) + 1))
    if variant == len(ORDERS):
        return planes  # the official code does not clip here either
    for operation in ORDERS[variant]:
        planes = operation(planes, generator)
    return planes.clip(0, 1, out=planes)


def brightness(planes: np.ndarray, delta: float) -> np.ndarray:
    return planes + F32(delta)


def contrast(planes: np.ndarray, factor: float) -> np.ndarray:
    """Differences from the mean of each channel, scaled."""
    mean = planes.reshape(3, -1).mean(axis=1)[:, None, None]
    return (planes - mean) * F32(factor) + mean


def saturation(planes: np.ndarray, factor: float) -> np.ndarray:
    """HSV saturation, scaled and clipped to [0, 1]."""
    out = np.empty_like(planes)
    for rows in _strips(planes):
        out[:, rows] = _saturated(planes[:, rows], F32(factor))
    return out


def hue(planes: np.ndarray, turn: float) -> np.ndarray:
    """Hue turned by a share of the circle; the largest and smallest channel value of a pixel stay."""
    out = np.empty_like(planes)
    for rows in _strips(planes):
        out[:, rows] = _turned(planes[:, rows], F32(6 * turn))
    return out


def _strips(planes: np.ndarray) -> Iterator[slice]:
    """A few rows at a time, so that what is computed in between stays in the processor's cache."""
    return (slice(y, y + STRIP) for y in range(0, planes.shape[1], STRIP))


def _saturated(planes: np.ndarray, factor: np.float32) -> np.ndarray:
    """Hue and value stay, so each channel keeps its relative distance to the largest one."""
    value, spread = _value_and_spread(planes)
    before = spread / np.maximum(value, TINY)
    after = (before * factor).clip(0, 1)
    # no saturation where nothing is lit, as TensorFlow has it
    ratio = after / np.maximum(before, TINY) * (value > 0)
    return value - (value - planes) * ratio


def _turned(planes: np.ndarray, sectors: np.float32) -> np.ndarray:
    value, spread = _value_and_spread(planes)
    # Only the hue is taken from OpenCV: its saturation is another one where values are negative.
    sector = cv2.cvtColor(cv2.merge(tuple(planes)), cv2.COLOR_RGB2HSV)[..., 0] * F32(1 / 60) + sectors
    sector -= 6 * np.floor(sector * F32(1 / 6))
    shares = (np.abs(sector - 3) - 1, 2 - np.abs(sector - 2), 2 - np.abs(sector - 4))  # of red, green, blue
    low = value - spread
    return np.stack([low + spread * share.clip(0, 1) for share in shares])


def _value_and_spread(planes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of every pixel the largest channel, and its distance to the smallest."""
    red, green, blue = planes
    value = np.maximum(np.maximum(red, green), blue)
    return value, value - np.minimum(np.minimum(red, green), blue)


Step = Callable[[np.ndarray, np.random.Generator], np.ndarray]


def _b(planes: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    return brightness(planes, generator.uniform(-BRIGHTNESS, BRIGHTNESS))


def _s(planes: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    return saturation(planes, generator.uniform(*SATURATION))


def _h(planes: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    return hue(planes, generator.uniform(-HUE, HUE))


def _c(planes: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    return contrast(planes, generator.uniform(*CONTRAST))


ORDERS: tuple[tuple[Step, ...], ...] = ((_b, _s, _h, _c), (_s, _b, _c, _h), (_c, _h, _b, _s), (_h, _s, _c, _b))
