"""Read one image file as RGB bytes, by the rules of `tnet_core.imageio`, reduced while decoding where asked."""

from __future__ import annotations

import io
from pathlib import Path

import cv2
import numpy as np
from PIL import ExifTags, JpegImagePlugin

from tnet_core.errors import TNetError
from tnet_core.imageio.decode import MAX_FILE_BYTES, check_size, decode_bytes, pil_to_rgb

SUFFIXES = frozenset(
    {".jpg", ".jpeg", ".png", ".webp", ".bmp", ".tif", ".tiff", ".gif", ".ppm", ".pgm", ".avif"}
)  # of files that count as images in a folder
JPEG_START = b"\xff\xd8\xff"


def read_image(path: Path | str, shorter_side: int | None = None) -> tuple[np.ndarray, tuple[int, int]]:
    """(H, W, 3) uint8 RGB, upright, and the height and width it had before `shorter_side` reduced it.

    An image whose shorter side exceeds `shorter_side` is reduced as the official fMoW code does: by 2, 4 or 8
    while decoding where more than that is too much, then bilinearly to the exact size.
    """
    data = _read_bytes(Path(path))
    image, full = _decode(data, str(path), shorter_side)
    return (image if shorter_side is None else shrunk(image, shorter_side)), full


def shrunk(image: np.ndarray, shorter_side: int) -> np.ndarray:
    """The image, reduced so that its shorter side has at most that many pixels."""
    ratio = _ratio(image.shape[0], image.shape[1], shorter_side)
    height, width = (-(-side // ratio) for side in image.shape[:2])
    if ratio > 1:
        image = cv2.resize(image, (width, height), interpolation=cv2.INTER_AREA)
    scale = shorter_side / min(height, width)
    if scale >= 1:
        return image
    size = (max(round(width * scale), shorter_side), max(round(height * scale), shorter_side))
    return cv2.resize(image, size, interpolation=cv2.INTER_LINEAR_EXACT)


def _read_bytes(path: Path) -> bytes:
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            raise TNetError(f"{path} is larger than {MAX_FILE_BYTES >> 20} MB, the limit for one image file.")
        return path.read_bytes()
    except OSError as error:
        raise TNetError(f"{path} cannot be read ({error.strerror or error}).") from None


def _decode(data: bytes, name: str, shorter_side: int | None) -> tuple[np.ndarray, tuple[int, int]]:
    header = _jpeg_header(data) if data.startswith(JPEG_START) else None
    if header is not None:
        check_size(header.width, header.height, name)
        full = (header.height, header.width)
        if header.getexif().get(ExifTags.Base.Orientation, 1) in (5, 6, 7, 8):
            full = full[::-1]
        ratio = 1 if shorter_side is None else _ratio(*full, shorter_side)
        if ratio > 1:
            header.draft(None, (header.width // ratio, header.height // ratio))
            return pil_to_rgb(header, name), full
        # Three times as fast, and the same pixels; colours in CMYK it treats otherwise.
        if header.mode in ("RGB", "L"):
            image = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR_RGB)
            if image is not None and image.shape[:2] == full:
                return image, full
    image = decode_bytes(data, name)
    return image, (image.shape[0], image.shape[1])


def _jpeg_header(data: bytes) -> JpegImagePlugin.JpegImageFile | None:
    try:
        return JpegImagePlugin.JpegImageFile(io.BytesIO(data))
    except Exception:  # whatever is wrong with it, decode_bytes will say it
        return None


def _ratio(height: int, width: int, shorter_side: int) -> int:
    """The reduction that a JPEG decoder can apply by itself and that leaves at least the wanted size."""
    return next((ratio for ratio in (8, 4, 2) if min(height, width) > ratio * shorter_side), 1)
