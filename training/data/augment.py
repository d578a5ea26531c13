"""What the network is given of a sample: the official training augmentation, and the view for measuring.

Random crops are drawn as TensorFlow's `sample_distorted_bounding_box` draws them. Photometric distortion (ImageNet and
fMoW) is four operations in one of four orders, or none. Translation, then rotation about the centre (the bird data
sets) take the nearest neighbour, black outside. Written by hand: the official models learned from exactly these
distortions, and no library for PyTorch draws the same ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import cv2
import numpy as np

from training.data.resize import METHODS, resize
from training.data.sample import Sample
from training.recipes.recipe import AugmentSection

MAX_CROP_ATTEMPTS = 50
MIN_COVERED = 0.1  # share of some annotated box that a crop must show
Crop = tuple[int, int, int, int]  # y, x, height, width in pixels
BRIGHTNESS = 32 / 255  # largest addition, either way
SATURATION = (0.5, 1.5)
HUE = 0.2  # largest turn, either way, as a share of the hue circle
CONTRAST = (0.5, 1.5)
STRIP = 16  # rows
F32 = np.float32
TINY = np.float32(1e-20)  # keeps divisions by zero away; what is divided is zero there too


class Augment:
    """Crop, resize, flip, colour, shift and turn, in the order of the official code.

    All that is random comes from the generator: the same state gives the same result. The section is that of a
    recipe, whose values `training.recipes.checks` has checked.
    """

    def __init__(self, section: AugmentSection, size: int) -> None:
        self.section = section
        self.size = size
        self.methods = METHODS if section.interpolation == "random" else (section.interpolation,)

    def __call__(self, sample: Sample, generator: np.random.Generator) -> np.ndarray:
        """Return (3, S, S) float32 in [-1, 1], or a little beyond where a kernel overshoots."""
        section, size = self.section, self.size
        height, width = sample.image.shape[:2]
        boxes = sample.boxes if section.cover_boxes else sample.boxes[:0]
        y, x, h, w = draw_crop(height, width, boxes, generator, section.min_area, section.aspect)
        method = self.methods[int(generator.integers(len(self.methods)))]
        mirror = section.flip and bool(generator.random() < 0.5)
        planes = resize(sample.image[y : y + h, x : x + w], size, method, mirror=mirror)
        if section.colour:
            planes = distort_colours(planes, generator)
        if section.translate:
            planes = translate(planes, *(generator.uniform(-section.translate, section.translate, 2) * size))
        if section.rotate:
            planes = rotate(planes, math.radians(generator.uniform(-section.rotate, section.rotate)))
        return to_model_space(planes)


def make_evaluation_view(image: np.ndarray, size: int) -> np.ndarray:
    """Resize (H, W, 3) uint8 to (3, S, S) float32 in [-1, 1]: bilinear, no antialiasing, aspect ratio not kept."""
    return to_model_space(resize(image, size, "bilinear"))


def to_model_space(planes: np.ndarray) -> np.ndarray:
    """Scale [0, 1] to [-1, 1], in place."""
    planes *= np.float32(2)
    planes -= np.float32(1)
    return planes


def draw_crop(
    height: int,
    width: int,
    boxes: np.ndarray,  # (n, 4) normalised x0, y0, x1, y1; none: the whole image counts as one
    generator: np.random.Generator,
    min_area: float,
    aspect: tuple[float, float],
) -> Crop:
    """Return a crop of at least `min_area` of the image whose aspect ratio (width / height) lies in `aspect`.

    The whole image if no attempt succeeds.
    """
    # TensorFlow cuts off the fractions of a pixel
    pixels = (boxes.astype(np.float64) * (width, height, width, height)).astype(np.int64)
    for _ in range(MAX_CROP_ATTEMPTS):
        ratio = generator.uniform(*aspect)
        crop = _try_crop(height, width, min_area, ratio, generator)
        if crop is not None and _shows_a_box(crop, pixels, height, width):
            return crop
    return 0, 0, height, width


def _try_crop(height: int, width: int, min_area: float, ratio: float, generator: np.random.Generator) -> Crop | None:
    """Return a crop of one aspect ratio, its height uniform among those that fit, then its place; None if it fails."""
    least, most = min_area * height * width, height * width
    low = round(math.sqrt(least / ratio))
    high = round(math.sqrt(most / ratio))
    if round(high * ratio) > width:  # the largest height whose width still fits
        high = int((width + 0.5 - 1e-7) / ratio)
        high -= round(high * ratio) > width
    high = min(high, height)
    low = min(low, high)
    h = int(generator.integers(low, high + 1))
    # rounding may have left the bounds by one row
    if h * round(h * ratio) < least:
        h += 1
    if h * round(h * ratio) > most:
        h -= 1
    w = round(h * ratio)
    if not (least <= h * w <= most and 0 < w <= width and 0 < h <= height):
        return None
    # the last place is never drawn, as in TensorFlow
    y = int(generator.integers(height - h)) if h < height else 0
    x = int(generator.integers(width - w)) if w < width else 0
    return y, x, h, w


def _shows_a_box(crop: Crop, pixels: np.ndarray, height: int, width: int) -> bool:
    if not len(pixels):
        return crop[2] * crop[3] >= MIN_COVERED * height * width
    y, x, h, w = crop
    x0, y0, x1, y1 = pixels.T
    area = (x1 - x0) * (y1 - y0)
    across = (np.minimum(x1, x + w) - np.maximum(x0, x)).clip(0)
    down = (np.minimum(y1, y + h) - np.maximum(y0, y)).clip(0)
    return bool(((area >= 1) & (across * down >= MIN_COVERED * area)).any())


# Shift and turn ---------------------------------------------------------------------------------------


def translate(planes: np.ndarray, dx: float, dy: float) -> np.ndarray:
    """Shift (C, H, W) right by dx and down by dy pixels; to the nearest neighbour means by whole pixels."""
    _, height, width = planes.shape
    to_y, from_y = _find_overlap(height, math.floor(dy + 0.5))
    to_x, from_x = _find_overlap(width, math.floor(dx + 0.5))
    moved = np.zeros_like(planes)
    moved[:, to_y, to_x] = planes[:, from_y, from_x]
    return moved


def rotate(planes: np.ndarray, angle: float) -> np.ndarray:
    """Turn (C, H, W) float32 counter-clockwise by `angle` (radians) about the centre."""
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


def _find_overlap(side: int, shift: int) -> tuple[slice, slice]:
    """Return target and source of the part of an axis that stays in view."""
    shift = max(-side, min(side, shift))
    return slice(max(shift, 0), side + min(shift, 0)), slice(max(-shift, 0), side - max(shift, 0))


# Colour -----------------------------------------------------------------------------------------------


def distort_colours(planes: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """Return distort (3, H, W) float32 RGB and clip it to [0, 1]; one time in five leave it as it is."""
    variant = int(generator.integers(len(ORDERS) + 1))
    if variant == len(ORDERS):
        return planes  # the official code does not clip here either
    for operation in ORDERS[variant]:
        planes = OPERATIONS[operation](planes, generator)
    return planes.clip(0, 1, out=planes)


def change_brightness(planes: np.ndarray, delta: float) -> np.ndarray:
    return planes + F32(delta)


def change_contrast(planes: np.ndarray, factor: float) -> np.ndarray:
    """Scale differences from the mean of each channel."""
    mean = planes.reshape(3, -1).mean(axis=1)[:, None, None]
    return (planes - mean) * F32(factor) + mean


def change_saturation(planes: np.ndarray, factor: float) -> np.ndarray:
    """Scale the HSV saturation and clip it to [0, 1]."""
    out = np.empty_like(planes)
    for rows in _split_rows(planes):
        out[:, rows] = _saturate(planes[:, rows], F32(factor))
    return out


def change_hue(planes: np.ndarray, turn: float) -> np.ndarray:
    """Turn the hue by a share of the circle; the largest and smallest channel value of a pixel stay."""
    out = np.empty_like(planes)
    for rows in _split_rows(planes):
        out[:, rows] = _turn_hue(planes[:, rows], F32(6 * turn))
    return out


def _split_rows(planes: np.ndarray) -> Iterator[slice]:
    """Yield a few rows at a time, so that what is computed in between stays in the processor's cache."""
    return (slice(y, y + STRIP) for y in range(0, planes.shape[1], STRIP))


def _saturate(planes: np.ndarray, factor: np.float32) -> np.ndarray:
    """Scale the saturation; hue and value stay, so each channel keeps its relative distance to the largest one."""
    value, spread = _find_value_and_spread(planes)
    before = spread / np.maximum(value, TINY)
    after = (before * factor).clip(0, 1)
    # no saturation where nothing is lit, as TensorFlow has it
    ratio = after / np.maximum(before, TINY) * (value > 0)
    return value - (value - planes) * ratio


def _turn_hue(planes: np.ndarray, sectors: np.float32) -> np.ndarray:
    value, spread = _find_value_and_spread(planes)
    # Only the hue is taken from OpenCV: its saturation is another one where values are negative.
    sector = cv2.cvtColor(cv2.merge(tuple(planes)), cv2.COLOR_RGB2HSV)[..., 0] * F32(1 / 60) + sectors
    sector -= 6 * np.floor(sector * F32(1 / 6))
    shares = (np.abs(sector - 3) - 1, 2 - np.abs(sector - 2), 2 - np.abs(sector - 4))  # of red, green, blue
    low = value - spread
    return np.stack([low + spread * share.clip(0, 1) for share in shares])


def _find_value_and_spread(planes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the largest channel of every pixel, and its distance to the smallest."""
    red, green, blue = planes
    value = np.maximum(np.maximum(red, green), blue)
    return value, value - np.minimum(np.minimum(red, green), blue)


Operation = Callable[[np.ndarray, np.random.Generator], np.ndarray]
OPERATIONS: dict[str, Operation] = {
    "brightness": lambda planes, generator: change_brightness(planes, generator.uniform(-BRIGHTNESS, BRIGHTNESS)),
    "saturation": lambda planes, generator: change_saturation(planes, generator.uniform(*SATURATION)),
    "hue": lambda planes, generator: change_hue(planes, generator.uniform(-HUE, HUE)),
    "contrast": lambda planes, generator: change_contrast(planes, generator.uniform(*CONTRAST)),
}
ORDERS = (
    ("brightness", "saturation", "hue", "contrast"),
    ("saturation", "brightness", "contrast", "hue"),
    ("contrast", "hue", "brightness", "saturation"),
    ("hue", "saturation", "contrast", "brightness"),
)
