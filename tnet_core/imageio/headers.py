"""What JPEG and PNG files say about themselves in their first bytes."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from PIL import ExifTags, Image

from tnet_core.errors import TNetError

_HEAD = 1 << 20  # where the size is looked for; colour profiles and previews come before it
_BASELINE = (0xC0, 0xC1)  # sequential Huffman; others need all coefficients at once
_FRAMES = set(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_DEFLATE = 1032  # the most it can shrink: 258 bytes into two bits
_MAX_CHUNKS = 1_000_000
_PALETTE = 3  # PNG colour type


@dataclass(frozen=True)
class Header:
    """Size and layout, and what (if anything) keeps the file from being decoded line by line in little memory."""

    width: int
    height: int
    channels: int
    orientation: int
    why_not: str


def read_jpeg(path: Path, above: int) -> Header | None:
    """From the frame header; None for at most `above` pixels, and where there is no such header."""
    with path.open("rb") as file:
        data = file.read(_HEAD)
    at = 2
    while at + 10 <= len(data) and data[at] == 0xFF:
        marker = data[at + 1]
        if marker == 0xFF:  # fill
            at += 1
            continue
        if marker in _FRAMES:
            bits, height, width, channels = struct.unpack_from(">BHHB", data, at + 4)
            if width * height <= above:
                return None
            why = ""
            if marker not in _BASELINE or bits != 8:
                why = "is a progressive or otherwise unusual JPEG"
            elif channels not in (1, 3):
                why = "is a JPEG of four inks"
            return Header(width, height, channels, _jpeg_orientation(path), why)
        at += 2 + struct.unpack_from(">H", data, at + 2)[0]
    return None


def _jpeg_orientation(path: Path) -> int:
    """As Pillow finds it; its reader of headers is called directly, `Image.open` would mind the size."""
    try:
        with path.open("rb") as file:
            return int(Image.OPEN["JPEG"][0](file, "").getexif().get(ExifTags.Base.Orientation, 1))
    except Exception:  # damaged: the decoder will say so
        return 1


def read_png(path: Path, above: int, name: str) -> Header | None:
    """From IHDR and the names of the other chunks; None for at most `above` pixels, or no PNG."""
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
        orientation, transparent, wordy = _png_chunks(file)
    why = ""
    if interlaced:
        why = "is an interlaced PNG"
    elif transparent:
        why = "is a PNG with a transparent colour"
    elif wordy:
        why = "is a PNG that may keep its orientation in a text"
    elif bits < 8 and colour != _PALETTE:
        why = f"is a PNG of {bits} bits per pixel"
    return Header(width, height, channels, orientation, why)


def _png_chunks(file: BinaryIO) -> tuple[int, bool, bool]:
    """Orientation, whether a colour is transparent, whether texts hold metadata of a camera."""
    orientation, transparent, wordy = 1, False, False
    for _ in range(_MAX_CHUNKS):
        if len(chunk := file.read(8)) < 8:
            break
        length, kind = struct.unpack(">I4s", chunk)
        taken = 0
        if kind in (b"tEXt", b"zTXt", b"iTXt"):
            key = file.read(taken := min(length, 32))
            wordy |= key.startswith((b"Raw profile type exif", b"XML:com.adobe.xmp"))
        elif kind == b"eXIf" and length <= _HEAD:
            exif = Image.Exif()
            exif.load(file.read(taken := length))
            orientation = int(exif.get(ExifTags.Base.Orientation, 1))
        transparent |= kind == b"tRNS"
        file.seek(length - taken + 4, 1)
    return orientation, transparent, wordy
