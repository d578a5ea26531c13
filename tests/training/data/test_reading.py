"""Reading one image file, and files of images that unpack to too much."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.training.data_files import picture
from tnet_core.errors import TNetError
from tnet_core.imageio.decode import decode_bytes
from training.data.needles.mnist import MAX_UNPACKED_BYTES, read_idx
from training.data.reading import read_image


def saved(path: Path, image: Image.Image, **options: object) -> Path:
    image.save(path, **options)  # type: ignore[arg-type]
    return path


@pytest.mark.parametrize("suffix", [".jpg", ".png", ".webp", ".bmp", ".tiff", ".gif", ".ppm"])
@pytest.mark.parametrize("mode", ["RGB", "L"])
def test_every_format_gives_the_pixels_that_the_app_sees(tmp_path: Path, suffix: str, mode: str) -> None:
    path = saved(tmp_path / f"a{suffix}", Image.fromarray(picture(0, 41, 57)).convert(mode))
    image, full = read_image(path)
    assert full == (41, 57) and image.dtype == np.uint8
    assert np.array_equal(image, decode_bytes(path.read_bytes(), "a"))


@pytest.mark.parametrize("orientation", range(1, 9))
def test_jpegs_are_turned_upright(tmp_path: Path, orientation: int) -> None:
    exif = Image.Exif()
    exif[0x0112] = orientation
    path = saved(tmp_path / "a.jpg", Image.fromarray(picture(0, 40, 64)), exif=exif)
    expected = decode_bytes(path.read_bytes(), "a")
    image, full = read_image(path)
    assert np.array_equal(image, expected) and full == expected.shape[:2]
    small, full = read_image(path, 10)
    assert min(small.shape[:2]) == 10 and full == expected.shape[:2]
    assert (small.shape[0] > small.shape[1]) == (full[0] > full[1])


def test_transparency_and_print_colours_follow_the_same_rules(tmp_path: Path) -> None:
    seen = np.dstack([picture(0), np.full((24, 32), 100, np.uint8)])
    for path in (
        saved(tmp_path / "a.png", Image.fromarray(seen, "RGBA")),
        saved(tmp_path / "b.jpg", Image.fromarray(picture(0)).convert("CMYK")),
    ):
        assert np.array_equal(read_image(path)[0], decode_bytes(path.read_bytes(), "a"))


@pytest.mark.parametrize("limit", [1, 7, 15, 31, 40, 100])
@pytest.mark.parametrize("suffix", [".jpg", ".png"])
def test_the_shorter_side_is_what_was_asked_for(tmp_path: Path, suffix: str, limit: int) -> None:
    path = saved(tmp_path / f"a{suffix}", Image.fromarray(picture(0, 121, 65)))
    image, full = read_image(path, limit)
    assert full == (121, 65)
    assert image.shape[1] == min(limit, 65)
    assert abs(image.shape[0] - 121 * image.shape[1] / 65) <= 2


@pytest.mark.parametrize("cut", [1, 2, 3, 200, 4000, 20_000])
def test_a_jpeg_that_was_cut_off_is_refused(tmp_path: Path, cut: int) -> None:
    noise = np.random.default_rng(0).integers(0, 255, (200, 200, 3), np.uint8)
    path = saved(tmp_path / "a.jpg", Image.fromarray(noise))
    path.write_bytes(path.read_bytes()[:-cut])
    with pytest.raises(TNetError, match="damaged or cut off"):
        read_image(path)


def test_a_small_file_that_unpacks_to_too_much_is_not_held_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "train-images-idx3-ubyte.gz"
    path.write_bytes(gzip.compress(bytes(MAX_UNPACKED_BYTES + (1 << 20)), 1))
    asked = []
    plain = gzip.GzipFile.read
    monkeypatch.setattr(gzip.GzipFile, "read", lambda self, size=-1: asked.append(size) or plain(self, size))
    with pytest.raises(TNetError, match="unpacks to more than 64 MB"):
        read_idx(path)
    assert asked == [MAX_UNPACKED_BYTES + 1]
