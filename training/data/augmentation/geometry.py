"""Translation, then rotation about the centre, of the bird data sets: nearest neighbour, black outside."""

from __future__ import annotations

import math

import cv2
import numpy as np


def translated(planes: np.ndarray, dx: float, dy: float) -> np.ndarray:
    """(C, H, W) shifted right by dx and down by dy pixels; to the nearest neighbour means by whole pixels."""
    _, height, width = planes.shape
    to_y, from_y = _overlap(height, math.floor(dy + 0.5))
    to_x, from_x = _overlap(width, math.floor(dx + 0.5))
    moved = np.zeros_like(planes)
    moved[:, to_y, to_x] = planes[:, from_y, from_x]
    return moved


def rotated(planes: np.ndarray, angle: float) -> np.ndarray:
    """(C, H, W) float32 turned counter-clockwise by `angle` (radians) about the centre."""
    _, height, width = planes.shape
    cos, sin = np.float32(math.cos(angle)), np.float32(math.sin(angle))
    half_w, half_h = np.float32((width - 1) / 2), np.float32((height - 1) / 2)
    across = np.arange(width, dtype=np.float32) - half_w
    down = np.arange(height, dtype=np.float32)[:, None] - half_h
    source = np.empty((height, width, 2), np.int16)  # where every pixel comes from: x, y
    source[..., 0] = np.floor((cos * across + (half_w + np.float32(0.5))) - sin * down)
    source[..., 1] = np.floor(sin * across + (cos * down + (half_h + np.float32(0.5))))
    turned = np.empty_like(planes)
    for plane, into in zip(planes, turned, strict=True):
        cv2.remap(plane, source, None, cv2.INTER_NEAREST, dst=into, borderMode=cv2.BORDER_CONSTANT)
    return turned


def _overlap(side: int, shift: int) -> tuple[slice, slice]:
    """Target and source of the part of an axis that stays in view."""
    shift = max(-side, min(side, shift))
    return slice(max(shift, 0), side + min(shift, 0)), slice(max(-shift, 0), side - max(shift, 0))
