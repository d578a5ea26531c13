"""Turn image files and arrays of any common kind into RGB bytes, or say in one sentence why not."""

from __future__ import annotations

import io
import warnings
from typing import Any

import numpy as np
from PIL import Image, ImageOps, UnidentifiedImageError

from tnet_core.errors import TNetError

MAX_PIXELS = 150_000_000  # decoded at once; about 450 MB of RGB
MAX_FILE_BYTES = 512 * 1024 * 1024

# Raster formats only: Pillow's readers of page descriptions (EPS, …) start other programs.
FORMATS = ("JPEG", "PNG", "WEBP", "GIF", "BMP", "TIFF", "PPM", "AVIF")
Image.init()  # registers the readers that Pillow loads late


def decode_bytes(data: bytes, name: str) -> np.ndarray:
    """An encoded image -> (H, W, 3) uint8 RGB, upright."""
    if not data:
        raise TNetError(f"{name} is empty (0 bytes).")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # our own limit below replaces Pillow's warning
            image = Image.open(io.BytesIO(data), formats=FORMATS)
            check_size(image.width, image.height, name)
            image.load()
    except TNetError:
        raise
    except UnidentifiedImageError:
        raise TNetError(f"{name} is not an image in a format we read ({', '.join(FORMATS)}).") from None
    except Image.DecompressionBombError:
        raise TNetError(f"{name} has more than {MAX_PIXELS / 1e6:.0f} million pixels, the limit.") from None
    except Exception as error:  # decoders raise many kinds on damaged files; all mean the same here
        raise TNetError(f"{name} is damaged or cut off and cannot be decoded ({_first_line(error)}).") from None
    return pil_to_rgb(image, name)


def check_size(width: int, height: int, name: str) -> None:
    if width < 1 or height < 1:
        raise TNetError(f"{name} has no pixels ({width} x {height}).")
    if width * height > MAX_PIXELS:
        raise TNetError(f"{name} has {width} x {height} pixels; at most {MAX_PIXELS / 1e6:.0f} million can be opened.")


def pil_to_rgb(image: Image.Image, name: str) -> np.ndarray:
    """Any Pillow mode -> (H, W, 3) uint8; orientation applied, transparency shown on white."""
    check_size(image.width, image.height, name)
    try:
        image = ImageOps.exif_transpose(image)
        if image.mode.startswith("I;16") or image.mode in ("I", "F"):
            return _scaled_to_bytes(np.asarray(image), name)
        if image.mode in ("RGBA", "RGBa", "LA", "La", "PA") or "transparency" in image.info:
            coloured = image.convert("RGBA")
            white = Image.new("RGBA", coloured.size, "white")
            image = Image.alpha_composite(white, coloured)
        return np.array(image.convert("RGB"))
    except TNetError:
        raise
    except Exception as error:
        raise TNetError(f"{name} cannot be converted to RGB ({_first_line(error)}).") from None


def array_to_rgb(array: np.ndarray[Any, Any], name: str = "The array") -> np.ndarray:
    """(H, W), (H, W, 1|3|4), uint8, uint16 or float in [0, 1] -> (H, W, 3) uint8."""
    if array.ndim == 2:
        array = array[:, :, None]
    if array.ndim != 3 or array.shape[2] not in (1, 3, 4):
        raise TNetError(f"{name} must have shape (H, W, 3), not {array.shape}.")
    check_size(array.shape[1], array.shape[0], name)
    if array.dtype != np.uint8:
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise TNetError(f"{name} contains NaN or infinite values.")
        if array.dtype != np.uint16 and array.dtype.kind != "f":
            raise TNetError(f"{name} must hold uint8 values (or uint16, or floats in 0…1), not {array.dtype}.")
        if array.dtype.kind == "f" and not (array.min() >= 0 and array.max() <= 1):
            raise TNetError(f"{name} holds floats outside 0…1; scale them, or pass uint8.")
        array = _bytes_from(array, 65535.0 if array.dtype == np.uint16 else 1.0)
    if array.shape[2] == 1:
        array = array.repeat(3, axis=2)
    if array.shape[2] == 4:
        return pil_to_rgb(Image.fromarray(np.ascontiguousarray(array), "RGBA"), name)
    return np.ascontiguousarray(array)


def _scaled_to_bytes(values: np.ndarray[Any, Any], name: str) -> np.ndarray:
    """Greyscale with more than 8 bits: scaled, not clipped, to 0…255."""
    if not np.isfinite(values).all() or values.min() < 0:
        raise TNetError(f"{name} holds negative, NaN or infinite values.")
    if values.dtype.kind == "f" and values.max() <= 1:
        white = 1.0
    elif values.dtype.itemsize > 2 and values.max() <= 255:
        white = 255.0
    elif values.max() <= 65535:
        white = 65535.0
    else:
        raise TNetError(f"{name} holds values above 65535; rescale it to 8 or 16 bits.")
    return _bytes_from(values[:, :, None], white).repeat(3, axis=2)


def _bytes_from(values: np.ndarray[Any, Any], white: float) -> np.ndarray:
    return np.rint(values.astype(np.float32) * np.float32(255.0 / white)).astype(np.uint8)


def _first_line(error: BaseException) -> str:
    lines = str(error).splitlines()
    return (lines[0] if lines else type(error).__name__).rstrip(".")[:120]
