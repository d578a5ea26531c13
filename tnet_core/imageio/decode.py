"""Turn image files and arrays of any common kind into RGB bytes, or say in one sentence why not.

Brightness never depends on the picture's own values: a kind of number has one fixed white (255 for
8 bits, 65535 for 16, 1 for floats) and values outside its range are refused, not clipped. Pillow's
mode "I" counts as 16 bits, which is what Pillow writes it as; 32-bit files, whose white no
convention fixes, are therefore read when their values fit 0…65535.

Conversion goes piece by piece, so that nothing temporary grows with the picture.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import numpy as np
from PIL import ExifTags, Image, ImageFile

from tnet_core.errors import TNetError, reason
from tnet_core.imageio.orientation import Turn

MAX_PIXELS = 150_000_000  # decoded at once; about 450 MB of RGB
MAX_FILE_BYTES = 512 * 1024 * 1024
PIECE = 1 << 18  # pixels converted at a time

# Raster formats only: Pillow's readers of page descriptions (EPS, …) start other programs.
FORMATS = ("JPEG", "PNG", "WEBP", "GIF", "BMP", "TIFF", "PPM", "AVIF", "HEIF")
SUFFIXES = (
    ".jpg", ".jpeg", ".png", ".webp", ".bmp", ".tif", ".tiff", ".gif", ".ppm", ".pgm", ".avif", ".heic", ".heif"
)  # fmt: skip
_HEIF_BRANDS = {b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"hevm", b"hevs", b"mif1", b"msf1"}
Image.init()  # registers the readers that Pillow loads late

_WITH_ALPHA = ("RGBA", "RGBa", "LA", "La", "PA")
_WHITE_IS_ZERO = 0  # a value of TIFF's PhotometricInterpretation


def decode_bytes(data: bytes, name: str) -> np.ndarray:
    """Decode an image file's bytes -> (H, W, 3) uint8 RGB, upright."""
    if not data:
        raise TNetError(f"{name} is empty (0 bytes).")
    try:
        image = identify_format(data)
        if image is None:
            raise TNetError(f"{name} is not an image in a format we read ({', '.join(FORMATS)}).")
        check_size(image.width, image.height, name)
        image.load()
    except TNetError:
        raise
    except Image.DecompressionBombError:
        raise TNetError(f"{name} has more than {MAX_PIXELS / 1e6:.0f} million pixels, the limit.") from None
    except Exception as error:  # decoders raise many kinds on damaged files; all mean the same here
        raise TNetError(f"{name} is damaged or cut off and cannot be decoded ({reason(error)}).") from None
    return pil_to_rgb(image, name)


def identify_format(data: bytes) -> ImageFile.ImageFile | None:
    """Return the image with its header read, by the first of our formats that knows it.

    `Image.open` would also warn of sizes that our own limit allows, and a warning can be silenced
    only for all threads at once.
    """
    for kind in FORMATS:
        if kind == "HEIF" and not (data[4:8] == b"ftyp" and data[8:12] in _HEIF_BRANDS):
            continue  # and its reader is not loaded
        factory, accept = Image.OPEN[kind] if kind != "HEIF" else _load_heif()
        if accept is not None and accept(data[:16]) is not True:
            continue
        try:
            return factory(io.BytesIO(data), "")
        except (SyntaxError, IndexError, TypeError, struct.error):
            continue  # the first bytes fit, the rest of the header does not
    return None


@lru_cache(maxsize=1)
def _load_heif() -> tuple[Any, None]:
    """Return the reader of HEIC photographs; libheif keeps its own limits of memory and of parts.

    It is not registered with Pillow, whose other users read what they read before.
    """
    from pillow_heif import options
    from pillow_heif.as_plugin import HeifImageFile

    options.DECODE_THREADS, options.THUMBNAILS, options.DEPTH_IMAGES, options.AUX_IMAGES = 1, False, False, False
    return HeifImageFile, None


def check_size(width: int, height: int, name: str) -> None:
    if width < 1 or height < 1:
        raise TNetError(f"{name} has no pixels ({width} x {height}).")
    if width * height > MAX_PIXELS:
        raise TNetError(f"{name} has {width} x {height} pixels; at most {MAX_PIXELS / 1e6:.0f} million can be opened.")


def pil_to_rgb(image: Image.Image, name: str) -> np.ndarray:
    """Convert any Pillow mode -> (H, W, 3) uint8; orientation applied, transparency shown on white."""
    check_size(image.width, image.height, name)
    try:
        image.load()  # before the orientation is asked for: loading a TIFF applies and forgets it
        turn = Turn(image.getexif().get(ExifTags.Base.Orientation, 1), image.width, image.height)
        width, height = turn.upright_size
        upright = np.empty((height, width, 3), np.uint8)
        stored = turn.turn_back(upright)
        deep = image.mode.startswith("I;16") or image.mode in ("I", "F")
        for rows, cols in _split_pieces(image.height, image.width):
            piece = image.crop((cols.start, rows.start, cols.stop, rows.stop))
            stored[rows, cols] = _convert_deep_grey(piece, image, name) if deep else blend_on_white(piece)
        return upright
    except TNetError:
        raise
    except Exception as error:
        raise TNetError(f"{name} cannot be converted to RGB ({reason(error)}).") from None


def array_to_rgb(array: np.ndarray[Any, Any], name: str = "The array") -> np.ndarray:
    """Convert (H, W), (H, W, 1|3|4), uint8, uint16 or float in [0, 1] -> (H, W, 3) uint8.

    An array that has the wanted form already is returned as it is, not copied.
    """
    array = np.asarray(array)
    if array.ndim == 2:
        array = array[:, :, None]
    if array.ndim != 3 or array.shape[2] not in (1, 3, 4):
        raise TNetError(f"{name} must have shape (H, W, 3), not {array.shape}.")
    height, width, channels = array.shape
    check_size(width, height, name)
    if array.dtype not in (np.uint8, np.uint16) and array.dtype.kind != "f":
        raise TNetError(f"{name} must hold uint8 values (or uint16, or floats in 0…1), not {array.dtype}.")
    if array.dtype == np.uint8 and channels == 3:
        return np.ascontiguousarray(array)
    rgb = np.empty((height, width, 3), np.uint8)
    for rows, cols in _split_pieces(height, width):
        piece = array[rows, cols]
        if piece.dtype != np.uint8:
            piece = scale_to_bytes(piece, 65535 if piece.dtype == np.uint16 else 1, name)
        rgb[rows, cols] = blend_on_white(Image.fromarray(np.ascontiguousarray(piece))) if channels == 4 else piece
    return rgb


def tensor_to_rgb(tensor: Any) -> np.ndarray:
    """Convert (3, H, W) uint8, or floats in [0, 1] -> (H, W, 3); the channels may also come last."""
    if tensor.ndim == 3 and tensor.shape[0] in (1, 3, 4):
        tensor = tensor.permute(1, 2, 0)
    elif tensor.ndim != 2 and (tensor.ndim != 3 or tensor.shape[2] not in (1, 3, 4)):
        raise TNetError(f"A tensor must have shape (3, H, W), not {tuple(tensor.shape)}; give images one by one.")
    if tensor.is_floating_point():
        tensor = tensor.float()  # NumPy knows no bfloat16
    return array_to_rgb(np.asarray(tensor.detach().cpu().numpy()), "The tensor")


def _split_pieces(height: int, width: int) -> Iterator[tuple[slice, slice]]:
    """Yield rectangles that cover an image, whole rows where these are not too long."""
    across = min(width, PIECE)
    down = PIECE // across
    for y in range(0, height, down):
        for x in range(0, width, across):
            yield slice(y, min(y + down, height)), slice(x, min(x + across, width))


def blend_on_white(image: Image.Image) -> np.ndarray:
    """Convert 8 bits of any mode -> (H, W, 3) uint8, transparency shown on white."""
    if image.mode in _WITH_ALPHA or "transparency" in image.info:
        if image.mode == "La":  # Pillow converts it to nothing else
            image = image.convert("LA")
        coloured = image.convert("RGBA")
        image = Image.alpha_composite(Image.new("RGBA", coloured.size, "white"), coloured)
    return np.asarray(image.convert("RGB"))


def _convert_deep_grey(piece: Image.Image, whole: Image.Image, name: str) -> np.ndarray:
    """Convert greyscale of more than 8 bits -> (h, w, 1) uint8."""
    values = np.asarray(piece)
    tags = getattr(whole, "tag_v2", {})  # a TIFF's; Pillow applies these two to 8 bits only
    twelve_bits = tags.get(ExifTags.Base.BitsPerSample) == (12,)
    grey = scale_to_bytes(values, 1 if piece.mode == "F" else 4095 if twelve_bits else 65535, name)
    if tags.get(ExifTags.Base.PhotometricInterpretation) == _WHITE_IS_ZERO:
        grey = 255 - grey
    grey[values == piece.info.get("transparency", -1)] = 255  # a PNG's transparent shade
    return grey[:, :, None]


def scale_to_bytes(values: np.ndarray[Any, Any], white: int, name: str) -> np.ndarray:
    """Convert numbers in 0…white -> uint8; others are refused."""
    low, high = values.min(), values.max()  # both are NaN where one value is
    if not (np.isfinite(low) and np.isfinite(high)):
        raise TNetError(f"{name} contains NaN or infinite values.")
    if low < 0 or high > white:
        numbers = "floats" if values.dtype.kind == "f" else "numbers"
        raise TNetError(f"{name} holds {numbers} outside 0…{white}; scale them to it, or use 8 bits per channel.")
    return np.rint(values.astype(np.float32) * np.float32(255 / white)).astype(np.uint8)
