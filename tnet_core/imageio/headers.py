"""What JPEG and PNG files say about themselves before they are decoded.

Of a JPEG Pillow tells it. The chunks of a PNG are read by hand: Pillow would decode all of it to tell its orientation,
and libvips is loaded only where the size says that the picture is a large one.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from PIL import ExifTags, Image

from tnet_core.errors import TNetError

_MAX_EXIF = 1 << 20  # bytes
_DEFLATE = 1032  # the most it can shrink: 258 bytes into two bits
_MAX_CHUNKS = 1_000_000
_PALETTE = 3  # PNG colour type


@dataclass(frozen=True)
class Header:
    """Size and layout, and what (if anything) keeps the file from being decoded line by line in little memory."""

    width: int
    height: int
    orientation: int
    why_not: str


def read_jpeg(path: Path, above: int) -> Header | None:
    """Return what Pillow reads before it decodes; None for at most `above` pixels, and where there is no header."""
    try:
        with path.open("rb") as file:
            image = Image.OPEN["JPEG"][0](file, "")  # its reader of headers: `Image.open` would mind the size
            if image.width * image.height <= above:
                return None
            orientation = _read_orientation(image)
    except (SyntaxError, ValueError, IndexError, KeyError, OSError, struct.error):
        return None  # damaged: the decoder will say so
    why = ""
    if image.info.get("progressive"):  # needs the coefficients of the whole picture at once
        why = "is a progressive JPEG"
    elif image.mode not in ("L", "RGB"):
        why = "is a JPEG of four inks"
    return Header(image.width, image.height, orientation, why)


def _read_orientation(image: Image.Image) -> int:
    try:
        return int(image.getexif().get(ExifTags.Base.Orientation, 1))
    except Exception:  # Pillow raises many kinds on damaged metadata; the picture may be sound
        return 1


def read_png(path: Path, above: int, name: str) -> Header | None:
    """Return what IHDR and the names of the other chunks say; None for at most `above` pixels, or no PNG."""
    size = path.stat().st_size
    with path.open("rb") as file:
        head = file.read(33)
        if len(head) < 33 or head[12:16] != b"IHDR":
            return None
        width, height, bits, colour, _, _, interlaced = struct.unpack(">IIBBBBB", head[16:29])
        channels = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}.get(colour, 0)
        if not channels or width * height <= above:
            return None
        if width * height * channels * bits // 8 > _DEFLATE * size:
            raise TNetError(f"{name} declares {width} x {height} pixels, more than its {size} bytes can hold.")
        orientation, transparent, wordy = _read_png_chunks(file)
    why = ""
    if interlaced:
        why = "is an interlaced PNG"
    elif transparent:
        why = "is a PNG with a transparent colour"
    elif wordy:
        why = "is a PNG that may keep its orientation in a text"
    elif bits < 8 and colour != _PALETTE:
        why = f"is a PNG of {bits} bits per pixel"
    return Header(width, height, orientation, why)


def _read_png_chunks(file: BinaryIO) -> tuple[int, bool, bool]:
    """Return orientation, whether a colour is transparent, whether texts hold metadata of a camera."""
    orientation, transparent, wordy = 1, False, False
    for _ in range(_MAX_CHUNKS):
        if len(chunk := file.read(8)) < 8:
            break
        length, kind = struct.unpack(">I4s", chunk)
        taken = 0
        if kind in (b"tEXt", b"zTXt", b"iTXt"):
            key = file.read(taken := min(length, 32))
            wordy |= key.startswith((b"Raw profile type exif", b"XML:com.adobe.xmp"))
        elif kind == b"eXIf" and length <= _MAX_EXIF:
            exif = Image.Exif()
            exif.load(file.read(taken := length))
            orientation = int(exif.get(ExifTags.Base.Orientation, 1))
        transparent |= kind == b"tRNS"
        file.seek(length - taken + 4, 1)
    return orientation, transparent, wordy
