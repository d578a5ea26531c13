"""Files and arrays of every common kind become correct, upright RGB."""

from __future__ import annotations

import hashlib
import io
import struct
import warnings
import zlib
from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np
import pytest
import torch
from PIL import Image

import tnet_core as tn
from tests.support.models import picture
from tnet_core.imageio import decode
from tnet_core.imageio.source import ArraySource
from tnet_core.inference.memory import PeakMemory


def opened(image: object) -> np.ndarray:
    source = tn.ImageSource.open(image)
    assert isinstance(source, ArraySource)
    assert (source.height, source.width) == source.array.shape[:2]
    assert source.array.dtype == np.uint8 and source.array.shape[2] == 3
    return source.array


def encode_picture(image: Image.Image, kind: str = "PNG", **options: object) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


def tiff(values: np.ndarray, bits: int, *, kind: int = 1, white_is_zero: bool = False, data: bytes = b"") -> bytes:
    """An uncompressed one-channel TIFF in the array's byte order; `kind`: 1 unsigned, 2 signed, 3 float."""
    order = ">" if values.dtype.byteorder == ">" else "<"
    data = data or values.tobytes()
    height, width = values.shape
    start = 8 + 2 + 10 * 12 + 4
    tags = {256: width, 257: height, 258: bits, 259: 1, 262: int(not white_is_zero), 273: start, 277: 1, 278: height}
    tags |= {279: len(data), 339: kind}
    entries = b"".join(struct.pack(order + "HHII", tag, 4, 1, value) for tag, value in tags.items())
    header = (b"II" if order == "<" else b"MM") + struct.pack(order + "HIH", 42, 8, len(tags))
    return header + entries + struct.pack(order + "I", 0) + data


def png_header(width: int, height: int) -> bytes:
    """A PNG that declares a size and holds next to nothing."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + header + chunk(b"IDAT", zlib.compress(bytes(100))) + chunk(b"IEND", b"")


def test_path_bytes_pillow_and_array_agree(tmp_path: Path) -> None:
    pixels = picture(20, 30)
    data = encode_picture(Image.fromarray(pixels))
    (tmp_path / "a.png").write_bytes(data)
    for image in (pixels, Image.fromarray(pixels), data, tmp_path / "a.png", str(tmp_path / "a.png")):
        np.testing.assert_array_equal(opened(image), pixels)


def test_a_source_passes_through() -> None:
    source = tn.ImageSource.open(picture())
    assert tn.ImageSource.open(source) is source


@pytest.mark.parametrize("kind", ["PNG", "TIFF"])
@pytest.mark.parametrize("piece", [decode.PIECE, 100])
@pytest.mark.parametrize("orientation", range(1, 9))
def test_exif_orientation_is_applied(orientation: int, piece: int, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decode, "PIECE", piece)
    upright = picture(16, 24)
    exif = Image.Exif()
    exif[0x0112] = orientation
    # How each orientation stores an upright image.
    flipped = upright.transpose(1, 0, 2)
    stored = {
        1: upright,
        2: upright[:, ::-1],
        3: upright[::-1, ::-1],
        4: upright[::-1],
        5: flipped,
        6: np.rot90(upright, 1),
        7: flipped[::-1, ::-1],
        8: np.rot90(upright, 3),
    }[orientation]
    data = encode_picture(Image.fromarray(np.ascontiguousarray(stored)), kind, exif=exif.tobytes())
    np.testing.assert_array_equal(opened(data), upright)
    lazy = Image.open(io.BytesIO(data))
    np.testing.assert_array_equal(opened(lazy), upright)
    np.testing.assert_array_equal(opened(lazy), upright)  # opening it changed nothing


def test_greyscale_becomes_three_equal_channels() -> None:
    grey = picture()[:, :, 0]
    for image in (grey, grey[:, :, None], encode_picture(Image.fromarray(grey))):
        np.testing.assert_array_equal(opened(image), np.repeat(grey[:, :, None], 3, 2))


def test_one_bit_images_become_black_and_white() -> None:
    bits = picture()[:, :, 0] > 127
    np.testing.assert_array_equal(opened(encode_picture(Image.fromarray(bits)))[:, :, 0], bits * 255)


def test_transparency_is_shown_on_white() -> None:
    rgba = np.dstack([picture(), np.full((128, 128), 255, np.uint8)])
    rgba[:64, :, 3] = 0
    rgba[:, :64, :3] = 7  # colour hidden under transparent pixels must not show
    for image in (rgba, Image.fromarray(rgba), encode_picture(Image.fromarray(rgba))):
        result = opened(image)
        assert (result[:64] == 255).all()
        np.testing.assert_array_equal(result[64:], rgba[64:, :, :3])


def test_palette_with_a_transparent_colour_is_shown_on_white() -> None:
    image = Image.new("P", (4, 2), 1)
    image.putpalette([10, 20, 30, 200, 100, 50])
    image.paste(0, (0, 0, 2, 2))
    result = opened(encode_picture(image, transparency=0))
    assert (result[:, :2] == 255).all() and (result[:, 2:] == (200, 100, 50)).all()


def test_grey_with_alpha_is_shown_on_white() -> None:
    image = Image.merge("LA", [Image.new("L", (3, 3), 0), Image.new("L", (3, 3), 51)])
    assert (opened(encode_picture(image)) == 204).all()  # black at 20 % over white


def test_every_mode_with_alpha_is_shown_on_white() -> None:
    grey = Image.merge("LA", [Image.new("L", (3, 3), 0), Image.new("L", (3, 3), 51)])
    colour = Image.new("RGBA", (3, 3), (0, 255, 0, 51))
    palette = Image.new("P", (3, 3), 1)
    palette.putpalette([9, 9, 9, 0, 255, 0])
    palette = palette.convert("PA")
    palette.putalpha(51)
    assert palette.mode == "PA"
    assert (opened(grey.convert("La")) == 204).all()
    assert (opened(colour.convert("RGBa")) == (204, 255, 204)).all()
    assert (opened(palette) == (204, 255, 204)).all()


def test_cmyk_becomes_rgb() -> None:
    image = Image.new("CMYK", (8, 8), (255, 0, 0, 0))  # pure cyan
    assert (opened(image) == (0, 255, 255)).all()
    through_jpeg = opened(encode_picture(image, "JPEG", quality=100)).astype(int)
    assert (abs(through_jpeg - (0, 255, 255)) <= 3).all()


def test_sixteen_bit_images_are_scaled_not_clipped() -> None:
    ramp = np.linspace(0, 65535, 256).astype(np.uint16).reshape(16, 16)
    expected = np.rint(ramp / 257).astype(np.uint8)
    ok, png = cv2.imencode(".png", ramp)
    assert ok
    np.testing.assert_array_equal(opened(png.tobytes())[:, :, 0], expected)
    np.testing.assert_array_equal(opened(np.repeat(ramp[:, :, None], 3, 2))[:, :, 0], expected)
    colour = np.dstack([ramp, ramp // 2, ramp // 4])  # BGR for OpenCV
    for kind in (".png", ".tiff"):
        ok, data = cv2.imencode(kind, colour)
        assert ok
        result = opened(data.tobytes()).astype(int)
        assert abs(result[:, :, 2] - expected).max() <= 1
        assert abs(result[:, :, 0] - expected // 4).max() <= 1


@pytest.mark.parametrize("top", [255, 256, 4000, 65535])
def test_sixteen_bit_brightness_does_not_depend_on_the_picture(top: int) -> None:
    values = np.linspace(0, top, 12).astype(np.uint16).reshape(3, 4)
    expected = np.rint(values / 257).astype(np.uint8)
    pgm = b"P5\n4 3\n65535\n" + values.astype(">u2").tobytes()
    plain = b"P2\n4 3\n65535\n" + " ".join(str(v) for v in values.flat).encode() + b"\n"
    thirty_two = Image.fromarray(values.astype(np.int32))
    assert thirty_two.mode == "I"
    little, big = tiff(values, 16), tiff(values.astype(">u2"), 16)
    for image in (pgm, plain, little, big, thirty_two, Image.fromarray(values), tiff(values.astype(np.uint32), 32)):
        np.testing.assert_array_equal(opened(image)[:, :, 0], expected)


def test_other_depths_reach_white_at_their_own_maximum() -> None:
    values = np.array([[0, 341, 1023]], np.uint16)
    pgm = b"P5\n3 1\n1023\n" + values.astype(">u2").tobytes()
    np.testing.assert_array_equal(opened(pgm)[0, :, 1], [0, 85, 255])
    twelve = tiff(np.zeros((1, 4), np.uint16), 12, data=bytes([0xFF, 0xF0, 0x00, 0x55, 0x50, 0x10]))
    np.testing.assert_array_equal(opened(twelve)[0, :, 2], [255, 0, 85, 1])  # 4095, 0, 1365, 16


def test_tiffs_in_which_zero_is_white_are_turned_round() -> None:
    deep = np.array([[0, 257, 65535]], np.uint16)
    for image in (tiff(deep, 16, white_is_zero=True), tiff((deep // 257).astype(np.uint8), 8, white_is_zero=True)):
        np.testing.assert_array_equal(opened(image)[0, :, 0], [255, 254, 0])


def test_a_transparent_shade_of_sixteen_bits_is_shown_on_white() -> None:
    image = Image.fromarray(np.array([[0, 1000, 1001]], np.uint16))
    np.testing.assert_array_equal(opened(encode_picture(image, transparency=1000))[0, :, 0], [0, 255, 4])


@pytest.mark.parametrize("values", [[0, 65536], [-1, 7]])
def test_whole_numbers_beyond_sixteen_bits_are_refused(values: list[int]) -> None:
    array = np.array([values], np.int32)
    for image in (Image.fromarray(array), tiff(array, 32, kind=2)):
        with pytest.raises(tn.TNetError, match=r"holds numbers outside 0…65535; scale them .*\.$"):
            tn.ImageSource.open(image)


def test_floats_are_scaled_by_the_unit_range_alone() -> None:
    np.testing.assert_array_equal(opened(picture().astype(np.float32) / 255), picture())
    dim = np.array([[0, 0.001, 0.5]], np.float32)
    for values in (dim, dim * 2):
        expected = np.rint(values * 255).astype(np.uint8)
        for image in (values, Image.fromarray(values), encode_picture(Image.fromarray(values), "TIFF")):
            np.testing.assert_array_equal(opened(image)[:, :, 1], expected)


@pytest.mark.parametrize(
    ("value", "message"),
    [(1.001, "floats outside 0…1;"), (-0.001, "floats outside 0…1;"), (np.nan, "NaN"), (-np.inf, "NaN or infinite")],
)
def test_floats_outside_the_unit_range_are_refused(value: float, message: str) -> None:
    values = np.array([[0, value, 1]], np.float32)
    for image in (values, Image.fromarray(values), tiff(values, 32, kind=3)):
        with pytest.raises(tn.TNetError, match=message):
            tn.ImageSource.open(image)


@pytest.mark.parametrize("kind", ["PNG", "WEBP", "BMP", "TIFF", "PPM"])
def test_lossless_formats_are_read_exactly(kind: str) -> None:
    options = {"lossless": True} if kind == "WEBP" else {}
    pixels = np.random.default_rng(0).integers(0, 256, (40, 50, 3), dtype=np.uint8)
    np.testing.assert_array_equal(opened(encode_picture(Image.fromarray(pixels), kind, **options)), pixels)


@pytest.mark.parametrize(
    ("kind", "options"), [("JPEG", {"subsampling": 0}), ("GIF", {}), ("AVIF", {"subsampling": "4:4:4"})]
)
def test_lossy_formats_are_read_closely(kind: str, options: dict[str, object]) -> None:
    result = opened(encode_picture(Image.fromarray(picture()), kind, **options))
    assert abs(result.astype(int) - picture()).mean() < 3


@pytest.mark.parametrize("width", [5, 300])
def test_conversion_in_pieces_covers_every_pixel_once(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(0)
    rgba = generator.integers(0, 256, (31, width, 4), dtype=np.uint8)
    deep = generator.integers(0, 65536, (31, width, 3), dtype=np.uint16)
    images = [rgba, deep, deep[:, :, 0], deep / 65535, Image.fromarray(rgba), Image.fromarray(deep[:, :, 0])]
    at_once = [opened(image) for image in images]
    monkeypatch.setattr(decode, "PIECE", 64)
    for image, expected in zip(images, at_once, strict=True):
        np.testing.assert_array_equal(opened(image), expected)


def test_the_limit_of_pixels_is_ours_and_is_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    decode.check_size(10_000, 15_000, "It")
    huge = np.broadcast_to(np.uint8(0), (12_300, 12_300, 3))  # 151 million; takes no memory
    for image in (png_header(12_300, 12_300), huge):
        with pytest.raises(tn.TNetError, match="12300 x 12300 pixels; at most 150 million"):
            tn.ImageSource.open(image)
    # Pillow itself would warn of this picture; the limit of its other users stays what it was.
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 10_000)
    monkeypatch.setattr(decode, "PIECE", 5_000)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(opened(encode_picture(Image.fromarray(picture()))), picture())
    assert Image.MAX_IMAGE_PIXELS == 10_000


def resident() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096


MB = 2**20
BIG = 3600  # 37 MB of RGB


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "allowed"),
    [
        (lambda: np.full((BIG, BIG, 3), 9, np.uint8), 5 * MB),  # shared
        (lambda: np.full((BIG, BIG, 3), 9, np.uint16), 60 * MB),
        (lambda: np.full((BIG, BIG, 3), 0.5, np.float32), 60 * MB),
        (lambda: np.full((BIG, BIG, 4), 9, np.uint8), 60 * MB),
        (lambda: Image.new("RGBA", (BIG, BIG), "red"), 60 * MB),
        (lambda: Image.new("F", (BIG, BIG), 0.5), 60 * MB),
        (lambda: encode_picture(Image.new("RGB", (BIG, BIG), "red")), 115 * MB),  # and Pillow's own 49 MB
    ],
    ids=["uint8", "uint16", "float", "rgba", "pillow rgba", "pillow float", "file"],
)
def test_opening_takes_little_more_memory_than_the_result(make: Callable[[], object], allowed: int) -> None:
    image = make()
    opened(picture())
    peak, before = PeakMemory(torch.device("cpu")), resident()
    source = tn.ImageSource.open(image)
    assert 0 < peak.read() < before + allowed
    assert (source.width, source.height) == (BIG, BIG)


def test_the_hash_names_the_file_or_else_the_pixels(tmp_path: Path) -> None:
    data = encode_picture(Image.fromarray(picture()))
    (tmp_path / "a.png").write_bytes(data)
    from_file, from_array = tn.ImageSource.open(tmp_path / "a.png"), tn.ImageSource.open(picture())
    assert (from_file.hashed, from_file.sha256) == ("file", hashlib.sha256(data).hexdigest())
    assert from_array.hashed == "pixels"
    assert from_array.sha256 == tn.ImageSource.open(Image.fromarray(picture())).sha256
    assert from_array.sha256 != tn.ImageSource.open(picture(seed=1)).sha256
    # The same bytes in another shape are another picture.
    assert from_array.sha256 != tn.ImageSource.open(picture().reshape(64, 256, 3)).sha256


def test_an_array_is_shared_and_hashed_when_opened() -> None:
    pixels = np.ascontiguousarray(picture())
    source = tn.ImageSource.open(pixels)
    assert isinstance(source, ArraySource)
    assert np.shares_memory(source.array, pixels)
    assert pixels.flags.writeable and not source.array.flags.writeable
    expected = hashlib.sha256(b"128x128:" + pixels.tobytes()).hexdigest()
    pixels[:] = 0
    assert source.sha256 == expected
    backwards = picture()[::-1, ::-1]
    np.testing.assert_array_equal(opened(backwards), backwards)


@pytest.mark.parametrize("rows", [[3], [2, 3, 4], [0, 5, 19], []])
@pytest.mark.parametrize("cols", [[29], [7, 8, 9], [0, 1, 29], []])
def test_gathering_crosses_rows_and_columns(rows: list[int], cols: list[int]) -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (20, 30, 3), dtype=np.uint8)
    r, c = np.array(rows, np.int64), np.array(cols, np.int64)
    np.testing.assert_array_equal(tn.ImageSource.open(pixels).gather(r, c), pixels[np.ix_(r, c)])
