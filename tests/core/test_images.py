"""Files and arrays of every common kind become correct, upright RGB."""

from __future__ import annotations

import io
from pathlib import Path

import cv2
import numpy as np
import pytest
from PIL import Image

import tnet_core as tn
from tests.support.models import picture
from tnet_core.images.source import ArraySource


def opened(image: object) -> np.ndarray:
    source = tn.ImageSource.open(image)
    assert isinstance(source, ArraySource)
    assert (source.height, source.width) == source.array.shape[:2]
    assert source.array.dtype == np.uint8 and source.array.shape[2] == 3
    return source.array


def encoded(image: Image.Image, kind: str = "PNG", **options: object) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


def test_path_bytes_pillow_and_array_agree(tmp_path: Path) -> None:
    pixels = picture(20, 30)
    data = encoded(Image.fromarray(pixels))
    (tmp_path / "a.png").write_bytes(data)
    for image in (pixels, Image.fromarray(pixels), data, tmp_path / "a.png", str(tmp_path / "a.png")):
        np.testing.assert_array_equal(opened(image), pixels)


def test_a_source_passes_through() -> None:
    source = tn.ImageSource.open(picture())
    assert tn.ImageSource.open(source) is source


@pytest.mark.parametrize("orientation", range(1, 9))
def test_exif_orientation_is_applied(orientation: int) -> None:
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
    data = encoded(Image.fromarray(np.ascontiguousarray(stored)), exif=exif.tobytes())
    np.testing.assert_array_equal(opened(data), upright)


def test_greyscale_becomes_three_equal_channels() -> None:
    grey = picture()[:, :, 0]
    for image in (grey, grey[:, :, None], encoded(Image.fromarray(grey))):
        np.testing.assert_array_equal(opened(image), np.repeat(grey[:, :, None], 3, 2))


def test_one_bit_images_become_black_and_white() -> None:
    bits = picture()[:, :, 0] > 127
    np.testing.assert_array_equal(opened(encoded(Image.fromarray(bits)))[:, :, 0], bits * 255)


def test_transparency_is_shown_on_white() -> None:
    rgba = np.dstack([picture(), np.full((128, 128), 255, np.uint8)])
    rgba[:64, :, 3] = 0
    rgba[:, :64, :3] = 7  # colour hidden under transparent pixels must not show
    for image in (rgba, Image.fromarray(rgba), encoded(Image.fromarray(rgba))):
        result = opened(image)
        assert (result[:64] == 255).all()
        np.testing.assert_array_equal(result[64:], rgba[64:, :, :3])


def test_palette_with_a_transparent_colour_is_shown_on_white() -> None:
    image = Image.new("P", (4, 2), 1)
    image.putpalette([10, 20, 30, 200, 100, 50])
    image.paste(0, (0, 0, 2, 2))
    result = opened(encoded(image, transparency=0))
    assert (result[:, :2] == 255).all() and (result[:, 2:] == (200, 100, 50)).all()


def test_grey_with_alpha_is_shown_on_white() -> None:
    image = Image.merge("LA", [Image.new("L", (3, 3), 0), Image.new("L", (3, 3), 51)])
    assert (opened(encoded(image)) == 204).all()  # black at 20 % over white


def test_cmyk_becomes_rgb() -> None:
    image = Image.new("CMYK", (8, 8), (255, 0, 0, 0))  # pure cyan
    assert (opened(image) == (0, 255, 255)).all()
    through_jpeg = opened(encoded(image, "JPEG", quality=100)).astype(int)
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


def test_float_arrays_in_the_unit_range_are_accepted() -> None:
    np.testing.assert_array_equal(opened(picture().astype(np.float32) / 255), picture())


def test_other_formats_are_read() -> None:
    for kind in ("WEBP", "BMP", "GIF", "TIFF", "PPM"):
        options = {"lossless": True} if kind == "WEBP" else {}
        result = opened(encoded(Image.fromarray(picture()), kind, **options))
        assert result.shape == (128, 128, 3)


def test_the_hash_names_the_file_or_else_the_pixels(tmp_path: Path) -> None:
    import hashlib

    data = encoded(Image.fromarray(picture()))
    (tmp_path / "a.png").write_bytes(data)
    from_file, from_array = tn.ImageSource.open(tmp_path / "a.png"), tn.ImageSource.open(picture())
    assert (from_file.hashed, from_file.sha256) == ("file", hashlib.sha256(data).hexdigest())
    assert from_array.hashed == "pixels"
    assert from_array.sha256 == tn.ImageSource.open(Image.fromarray(picture())).sha256
    assert from_array.sha256 != tn.ImageSource.open(picture(seed=1)).sha256
    # The same bytes in another shape are another picture.
    assert from_array.sha256 != tn.ImageSource.open(picture().reshape(64, 256, 3)).sha256
