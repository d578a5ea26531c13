"""Bad input gets one clear sentence; unusual but legitimate input gets the correct result."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import tnet_core as tn
from tests.support.models import TINY_3L, picture, tiny


def jpeg(side: int = 256) -> bytes:
    buffer = io.BytesIO()
    noise = np.random.default_rng(0).integers(0, 256, (side, side, 3), dtype=np.uint8)
    Image.fromarray(noise).save(buffer, "JPEG")
    return buffer.getvalue()


def one_sentence(error: pytest.ExceptionInfo[tn.TNetError]) -> None:
    text = str(error.value)
    assert "\n" not in text and text.endswith(".") and 10 < len(text) < 300


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"this is no picture at all, only text", "not an image in a format we read"),
        (jpeg()[:3000], "damaged or cut off"),
        (jpeg()[:40], "not an image|damaged"),
        (b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n", "not an image"),
        (b"\x89PNG\r\n\x1a\n" + b"\x00" * 40, "not an image|damaged"),
    ],
)
def test_broken_files(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "photo.jpg"
    path.write_bytes(content)
    for image in (path, content):
        with pytest.raises(tn.TNetError, match=message) as error:
            tn.traverse(tiny(), image)
        one_sentence(error)


def test_missing_files_and_folders(tmp_path: Path) -> None:
    for path, message in ((tmp_path / "none.jpg", "no file"), (tmp_path, "not a file"), ("a\0b", "cannot be read")):
        with pytest.raises(tn.TNetError, match=message) as error:
            tn.traverse(tiny(), path)
        one_sentence(error)


def test_a_file_that_declares_a_gigantic_size_is_refused_before_decoding() -> None:
    import struct
    import zlib

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", 60_000, 60_000, 8, 2, 0, 0, 0)
    bomb = (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(b"\0" * 1000))
        + chunk(b"IEND", b"")
    )
    with pytest.raises(tn.TNetError, match="million") as error:
        tn.traverse(tiny(), bomb)
    one_sentence(error)


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.full((8, 8, 3), np.nan), "NaN"),
        (np.full((8, 8, 3), np.inf), "NaN or infinite"),
        (np.full((8, 8, 3), 3.0), "outside 0…1"),
        (np.zeros((8, 8, 3), np.int64), "not int64"),
        (np.zeros((8, 8, 2), np.uint8), "shape"),
        (np.zeros((8,), np.uint8), "shape"),
        (np.zeros((0, 8, 3), np.uint8), "no pixels"),
        (np.array([["a", "b"]]), "must hold uint8"),
    ],
)
def test_bad_arrays(array: np.ndarray, message: str) -> None:
    with pytest.raises(tn.TNetError, match=message) as error:
        tn.traverse(tiny(), array)
    one_sentence(error)


@pytest.mark.parametrize("image", [None, 7, object(), [1, 2]])
def test_things_that_are_no_images(image: object) -> None:
    with pytest.raises(tn.TNetError, match="An image must be"):
        tn.traverse(tiny(), image)


@pytest.mark.parametrize(("height", "width"), [(1, 1), (2, 30_000), (30_000, 2), (1, 500)])
@pytest.mark.parametrize("sampling", ["official", "native"])
def test_tiny_and_extremely_long_images_are_legitimate(height: int, width: int, sampling: str) -> None:
    image = picture(height, width)
    trace = tn.traverse(tiny(), image, budget=(9,), sampling=sampling)
    assert len(trace.locations) == 9 and np.isfinite(trace.logits()).all()
    assert (trace.image.width, trace.image.height) == (width, height)


def test_one_pixel_fills_everything() -> None:
    trace = tn.traverse(tiny(), np.full((1, 1, 3), (10, 200, 30), np.uint8), budget=(1,))
    assert (trace.thumbnail == (10, 200, 30)).all() and (trace.crops[0] == (10, 200, 30)).all()


def test_budget_zero_is_the_thumbnail_alone() -> None:
    trace = tn.traverse(tiny(), picture(), budget=(0,))
    assert trace.locations == () and len(trace.distributions) == 1
    np.testing.assert_array_equal(trace.logits(), trace.logits(0))
    assert tn.traverse(tiny(), picture(), budget=0).locations == ()


@pytest.mark.parametrize(
    ("budget", "levels", "message"),
    [
        ((10,), None, "9 cells"),
        ((-1,), None, "9 cells"),
        ((1, 1), None, "2 entries does not fit 2 levels"),
        ((1,), 3, "1 entries does not fit 3 levels"),
        ((), None, "0 entries does not fit 2 levels"),
        ((1.5,), None, "whole number"),
        ("5", None, "list of whole numbers"),
        ((1,), 0, "1…12"),
        ((1,), "two", "whole number"),
        ((9,) * 5, 6, "at most"),
        (None, 99, "1…12"),
    ],
)
def test_bad_budgets_and_levels(budget: object, levels: object, message: str) -> None:
    with pytest.raises(tn.TNetError, match=message) as error:
        tn.traverse(tiny(), picture(), budget=budget, levels=levels)  # type: ignore[arg-type]
    one_sentence(error)


def test_a_grid_finer_than_pixels_is_refused() -> None:
    with pytest.raises(tn.TNetError, match="too small to be divided"):
        tn.traverse(tiny(TINY_3L), picture(), budget=(1,) * 11, levels=12)
