"""What a TIFF says about its images, checked against the length of the file before anything is decoded.

Classic and BigTIFF, either byte order. A file that is cut off, or that declares more pixels than it
holds, shows it here: every tile must lie inside the file, there must be as many as the size needs,
and together they cannot be longer than the file. Written by hand, because this has to happen before a library
follows the directory: libvips and Pillow find a lie when they decode the tile, a look at a time. tifffile (2026.3) is
made to read what it can: it skips wrong fields, ends the list of images at the first broken one, makes up lengths that
are missing and turns the offsets of millions of tiles into Python's numbers.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np

from tnet_core.errors import TNetError

_TYPES = {1: "u1", 3: "u2", 4: "u4", 13: "u4", 16: "u8", 18: "u8"}  # the kinds of whole numbers
_MAX_DIRECTORIES = 64
_MAX_FIELDS = 1000
_MAX_PIECES = 1 << 22  # tiles or strips of one image
_REDUCED = 1  # NewSubfileType: a smaller version of another image in this file

WHITE_IS_ZERO, BLACK_IS_ZERO, RGB, PALETTE, YCBCR = 0, 1, 2, 3, 6
JPEG = 7  # a value of Compression
COMPRESSIONS = {1, 5, JPEG, 8, 32946, 32773}  # none, LZW, JPEG, Deflate (two numbers), PackBits: what libvips has here


@dataclass(frozen=True)
class TiffImage:
    """One image of a TIFF; `page` and `subifd` are how a reader finds it."""

    page: int
    subifd: int  # -1: the page itself
    width: int
    height: int
    bits: tuple[int, ...]  # per sample
    numbers: int  # SampleFormat; 1: unsigned
    photometric: int
    extra: tuple[int, ...]  # what samples beyond colour mean: 0 nothing, 1 and 2 transparency
    compression: int
    planar: int
    orientation: int
    tile: tuple[int, int] | None  # width, height; None where it is stored in strips
    strip: int  # rows of a strip
    reduced: bool


def read_tiff(path: Path, above: int, name: str) -> list[TiffImage]:
    """Return a file's main image, those in its SubIFDs, those on later pages; none for at most `above` pixels."""
    try:
        with path.open("rb") as file:
            return list(_Reader(file, path.stat().st_size, name).read_images(above))
    except (struct.error, ValueError, KeyError, OverflowError) as error:
        if isinstance(error, TNetError):
            raise
        raise TNetError(f"{name} is damaged or cut off: its TIFF directory cannot be read.") from None


_Fields = dict[int, tuple[int, int, bytes]]  # by tag: type, count, the value or where it is


class _Reader:
    def __init__(self, file: BinaryIO, size: int, name: str) -> None:
        self.file, self.size, self.name = file, size, name
        head = self._read_at(0, 16)
        self.order = "<" if head[:2] == b"II" else ">"
        self.big = struct.unpack(self.order + "H", head[2:4])[0] == 43
        self.first = struct.unpack(self.order + ("Q" if self.big else "I"), head[8:16] if self.big else head[4:8])[0]

    def read_images(self, above: int) -> Iterator[TiffImage]:
        offset, page, seen = self.first, 0, set()
        while offset and page < _MAX_DIRECTORIES:
            if offset in seen:
                raise self._explain("its directories form a circle")
            seen.add(offset)
            fields, offset = self._read_directory(offset)
            image = self._read_image(fields, page, -1)
            if page == 0 and image.width * image.height <= above:
                return
            self._check_pieces(image, fields)
            yield image
            inside = self._read_numbers(fields, 330, ())[:_MAX_DIRECTORIES] if page == 0 else ()
            for number, child in enumerate(inside):
                fields, _ = self._read_directory(int(child))
                image = self._read_image(fields, page, number)
                self._check_pieces(image, fields)
                yield image
            page += 1

    def _read_at(self, offset: int, length: int) -> bytes:
        if offset + length > self.size:
            raise self._explain("it ends before its directory does")
        self.file.seek(offset)
        return self.file.read(length)

    def _explain(self, what: str) -> TNetError:
        return TNetError(f"{self.name} is damaged or cut off: {what}.")

    def _read_directory(self, offset: int) -> tuple[_Fields, int]:
        """Return the fields of a directory, and where the next one is."""
        counted, entry, word = ("Q", 20, "Q") if self.big else ("H", 12, "I")
        start = offset + struct.calcsize(counted)
        (count,) = struct.unpack(self.order + counted, self._read_at(offset, start - offset))
        if count > _MAX_FIELDS:
            raise self._explain(f"a directory claims {count} fields")
        data = self._read_at(start, count * entry + struct.calcsize(word))
        fields = {}
        for i in range(count):
            tag, kind, number = struct.unpack_from(self.order + "HH" + word, data, i * entry)
            place = i * entry + 4 + struct.calcsize(word)
            fields[tag] = (kind, number, data[place : place + struct.calcsize(word)])
        return fields, struct.unpack_from(self.order + word, data, count * entry)[0]

    def _read_numbers(
        self, fields: _Fields, tag: int, default: tuple[int, ...]
    ) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
        if tag not in fields:
            return np.array(default, np.uint64)
        kind, count, value = fields[tag]
        dtype = np.dtype(self.order + _TYPES[kind])
        if count > _MAX_PIECES:
            raise self._explain(f"a field claims {count} values")
        if count * dtype.itemsize > len(value):
            (offset,) = struct.unpack(self.order + ("Q" if self.big else "I"), value)
            value = self._read_at(offset, count * dtype.itemsize)
        return np.frombuffer(value, dtype, count).astype(np.uint64)

    def _read_image(self, fields: _Fields, page: int, subifd: int) -> TiffImage:
        def read_one(tag: int, default: int | None = None) -> int:
            found = self._read_numbers(fields, tag, () if default is None else (default,))
            if not len(found):
                raise self._explain(f"it does not say its size (TIFF field {tag} is missing)")
            return int(found[0])

        width, height = read_one(256), read_one(257)
        samples = read_one(277, 1)
        bits = tuple(int(b) for b in self._read_numbers(fields, 258, (1,)))
        tiled = 322 in fields
        tile = (read_one(322), read_one(323)) if tiled else None
        return TiffImage(
            page=page,
            subifd=subifd,
            width=width,
            height=height,
            bits=bits if len(bits) == samples else bits[:1] * min(samples, 64),
            numbers=read_one(339, 1),
            photometric=read_one(262, BLACK_IS_ZERO),
            extra=tuple(int(e) for e in self._read_numbers(fields, 338, ())),
            compression=read_one(259, 1),
            planar=read_one(284, 1),
            orientation=read_one(274, 1),
            tile=tile,
            strip=min(read_one(278, height), height),
            reduced=read_one(254, 0) == _REDUCED,
        )

    def _check_pieces(self, image: TiffImage, fields: _Fields) -> None:
        samples = len(image.bits)
        across, down = image.tile or (image.width, image.strip)
        if min(across, down, image.width, image.height, samples) < 1:
            raise self._explain("it declares an image without pixels")
        expected = -(-image.width // across) * -(-image.height // down) * (samples if image.planar == 2 else 1)
        offsets = self._read_numbers(fields, 324 if image.tile else 273, ())
        counts = self._read_numbers(fields, 325 if image.tile else 279, ())
        what = "tiles" if image.tile else "strips"
        if len(offsets) != expected or len(counts) != expected:
            raise TNetError(
                f"{self.name} declares {image.width} x {image.height} pixels, which take {expected} {what}, "
                f"but holds {len(offsets)}."
            )
        if not counts.all() or not offsets.all():
            raise TNetError(f"{self.name} leaves out some of its {what}; such sparse files are not read.")
        longest = np.uint64(self.size)
        if (counts > longest).any() or (offsets > longest - counts).any() or int(counts.sum()) > self.size:
            raise self._explain(f"its {what} reach beyond its end")
