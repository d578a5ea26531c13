"""HEIC photographs, as telephones take them: read like other pictures, and hostile ones end with one sentence."""

from __future__ import annotations

import io
import os
import struct
import time
from pathlib import Path

import numpy as np
import pytest
from PIL import ExifTags, Image
from pillow_heif import from_pillow

import tnet_core as tn
from tests.support.models import picture
from tests.support.processes import run_python

ROOT = Path(__file__).parents[2]


def encode_heic(image: Image.Image, **options: object) -> bytes:
    buffer = io.BytesIO()
    from_pillow(image).save(buffer, **options)
    return buffer.getvalue()


def declare_size(data: bytes, width: int, height: int) -> bytes:
    """The same file with another size in its header."""
    changed, at = bytearray(data), 0
    while (at := data.find(b"ispe", at + 1)) >= 0:
        struct.pack_into(">II", changed, at + 8, width, height)
    assert changed != data
    return bytes(changed)


def refused(data: bytes) -> str:
    with pytest.raises(tn.TNetError) as error:
        tn.ImageSource.open(data)
    text = str(error.value)
    assert "\n" not in text and text.endswith(".") and 10 < len(text) < 300
    return text


def test_a_heic_photograph_is_read_like_any_other(tmp_path: Path) -> None:
    path = tmp_path / "IMG_0001.HEIC"
    path.write_bytes(encode_heic(Image.fromarray(picture()), quality=95))
    opened = tn.ImageSource.open(path).gather(np.arange(128), np.arange(128))
    assert abs(opened.astype(int) - picture()).mean() < 3


def test_a_telephone_held_upright_takes_upright_pictures() -> None:
    """It writes the turn twice: into the picture, which counts, and into EXIF, which does not."""
    pixels = np.zeros((96, 160, 3), np.uint8)
    pixels[:, :80] = (220, 30, 30)  # red at the left is red above, once it was turned
    exif = Image.Exif()
    exif[ExifTags.Base.Orientation] = 6
    source = tn.ImageSource.open(encode_heic(Image.fromarray(pixels), quality=90, exif=exif.tobytes()))
    assert (source.width, source.height) == (96, 160)
    opened = source.gather(np.arange(160), np.arange(96)).astype(int)
    assert opened[:70, :, 0].min() > 180 and opened[90:].max() < 40


def test_transparency_is_shown_on_white() -> None:
    opened = tn.ImageSource.open(encode_heic(Image.new("RGBA", (64, 64), (255, 0, 0, 0)), quality=90))
    assert opened.gather(np.arange(64), np.arange(64)).min() > 250


def test_a_size_that_is_a_lie_is_refused_before_anything_is_decoded() -> None:
    data = encode_heic(Image.new("RGB", (1024, 1024), "red"), quality=30)
    assert "at most 150 million" in refused(declare_size(data, 30_000, 30_000))
    assert "at most 150 million" in refused(declare_size(data, 2**31 - 1, 1))
    for side in (40, 1000, 1025, 12_000):  # the stream itself has another size
        began = time.process_time()
        assert "damaged or cut off" in refused(declare_size(data, side, side))
        assert time.process_time() - began < 5


@pytest.mark.slow
def test_damaged_files_are_read_or_refused_soon_and_end_no_process(tmp_path: Path) -> None:
    """Bits of the header, bits anywhere, and a missing end, in a process of its own, which a reader in C may end."""
    noise = np.random.default_rng(0).integers(0, 256, (96, 128, 3), dtype=np.uint8)
    (tmp_path / "whole.heic").write_bytes(encode_heic(Image.fromarray(noise), quality=50))
    run = run_python("-c", DAMAGE, str(tmp_path / "whole.heic"), cwd=ROOT, env=os.environ, folder=tmp_path, timeout=240)
    assert run.returncode == 0, run.stderr[-2000:]
    read, refused_ones, longest = run.stdout.split()
    assert int(read) > 50 and int(refused_ones) > 50
    assert float(longest) < 2  # seconds of the processor


DAMAGE = """
import sys, time
from pathlib import Path
import numpy as np
import tnet_core as tn

whole, generator = Path(sys.argv[1]).read_bytes(), np.random.default_rng(1)
counts, longest = {True: 0, False: 0}, 0.0
tn.ImageSource.open(whole)  # loads the reader
for trial in range(600):
    data = bytearray(whole)
    if trial % 3 == 0:
        del data[int(generator.integers(len(data))) :]
    reach = 700 if trial % 3 == 1 else len(data)
    for _ in range(int(generator.integers(1, 12)) if data and trial % 3 else 0):
        data[int(generator.integers(min(reach, len(data))))] = int(generator.integers(256))
    began = time.process_time()
    try:
        tn.ImageSource.open(bytes(data))
        counts[True] += 1
    except tn.TNetError as error:
        assert "\\n" not in str(error) and len(str(error)) < 300, error
        counts[False] += 1
    longest = max(longest, time.process_time() - began)
print(counts[True], counts[False], longest)
"""
