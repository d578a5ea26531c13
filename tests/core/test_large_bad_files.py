"""Bad large files: one sentence, soon, in little memory."""

from __future__ import annotations

import contextlib
import json
import struct
import subprocess
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import tnet_core as tn
from tests.support.large_files import as_large, scene, tiff
from tests.support.models import tiny
from tnet_core.imageio import large

pytestmark = pytest.mark.slow

__all__ = ["as_large"]

ROOT = Path(__file__).parents[2]


def read_refusal(path: Path) -> str:
    with pytest.raises(tn.TNetError) as error:
        tn.traverse(tiny(), path, sampling="native")
    text = str(error.value)
    assert "\n" not in text and text.endswith(".") and 10 < len(text) < 300
    return text


def field(data: bytes, tag: int) -> int:
    """Where the value of a field of the first directory of a little-endian classic TIFF is."""
    at = struct.unpack_from("<I", data, 4)[0]
    for i in range(struct.unpack_from("<H", data, at)[0]):
        if struct.unpack_from("<H", data, at + 2 + 12 * i)[0] == tag:
            return at + 2 + 12 * i + 8
    raise AssertionError(tag)


@pytest.mark.parametrize("keep", [0.02, 0.5, 0.9, 0.999])
def test_a_truncated_tiff(keep: float, tmp_path: Path, as_large: None) -> None:
    data = tiff(tmp_path / "a.tif", scene(300, 300), pyramid=True).read_bytes()
    (tmp_path / "cut.tif").write_bytes(data[: int(keep * len(data))])
    assert "damaged or cut off" in read_refusal(tmp_path / "cut.tif")


def test_a_tiff_that_lies_about_its_size(tmp_path: Path, as_large: None) -> None:
    data = bytearray(tiff(tmp_path / "a.tif", scene(300, 300)).read_bytes())
    for tag in (256, 257):
        struct.pack_into("<HII", data, field(data, tag) - 6, 4, 1, 60_000)
    path = tmp_path / "lie.tif"
    path.write_bytes(data)
    assert "60000 x 60000 pixels, which take 219961 tiles, but holds 9" in read_refusal(path)


def test_a_tiff_whose_tiles_lie_beyond_its_end(tmp_path: Path, as_large: None) -> None:
    data = bytearray(tiff(tmp_path / "a.tif", scene(300, 300)).read_bytes())
    offsets = struct.unpack_from("<I", data, field(data, 324))[0]
    struct.pack_into("<I", data, offsets + 4, 0xFFFFFF00)
    (tmp_path / "b.tif").write_bytes(data)
    assert "tiles reach beyond its end" in read_refusal(tmp_path / "b.tif")
    struct.pack_into("<I", data, offsets + 4, 0)
    (tmp_path / "c.tif").write_bytes(data)
    assert "leaves out some of its tiles" in read_refusal(tmp_path / "c.tif")


def test_directories_in_a_circle(tmp_path: Path, as_large: None) -> None:
    data = bytearray(tiff(tmp_path / "a.tif", scene(300, 300)).read_bytes())
    start = struct.unpack_from("<I", data, 4)[0]
    count = struct.unpack_from("<H", data, start)[0]
    struct.pack_into("<I", data, start + 2 + 12 * count, start)
    (tmp_path / "b.tif").write_bytes(data)
    assert "form a circle" in read_refusal(tmp_path / "b.tif")


def test_damage_inside_a_tile_a_jpeg_and_a_png(tmp_path: Path, as_large: None) -> None:
    data = bytearray(tiff(tmp_path / "a.tif", scene(300, 300), compression="deflate").read_bytes())
    offset = struct.unpack_from("<I", data, struct.unpack_from("<I", data, field(data, 324))[0])[0]
    data[offset : offset + 200] = bytes(200)
    (tmp_path / "b.tif").write_bytes(data)
    assert "damaged or cut off" in read_refusal(tmp_path / "b.tif")
    for kind in ("jpg", "png"):
        Image.fromarray(scene(300, 300)).save(tmp_path / f"a.{kind}")
        whole = (tmp_path / f"a.{kind}").read_bytes()
        (tmp_path / f"b.{kind}").write_bytes(whole[: len(whole) // 2])
        assert "damaged or cut off" in read_refusal(tmp_path / f"b.{kind}")


@pytest.mark.parametrize("seed", range(40))
def test_a_tiff_with_random_bytes_in_its_directory_is_read_or_refused(
    seed: int, tmp_path: Path, as_large: None
) -> None:
    data = bytearray(tiff(tmp_path / "a.tif", scene(200, 200), pyramid=True, bigtiff=seed % 2 == 1).read_bytes())
    start = struct.unpack_from("<Q", data, 8)[0] if seed % 2 else struct.unpack_from("<I", data, 4)[0]
    generator = np.random.default_rng(seed)
    for at in generator.integers(start, min(start + 300, len(data)), 3):
        data[at] = generator.integers(256)
    path = tmp_path / "b.tif"
    path.write_bytes(data)
    with contextlib.suppress(tn.TNetError):  # any other error would show
        source = tn.ImageSource.open(path)
        assert source.resized((0, 0, source.width, source.height), (16, 16)).shape == (16, 16, 3)


def test_kinds_that_are_decoded_whole_keep_their_limit_and_say_why(
    tmp_path: Path, as_large: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    colour = Image.fromarray(scene(300, 200))
    colour.save(tmp_path / "a.jpg", progressive=True)
    colour.convert("CMYK").save(tmp_path / "b.jpg")
    colour.convert("P").save(tmp_path / "c.png", transparency=3)
    tiff(tmp_path / "d.tif", (scene(300, 200) / 255).astype(np.float32))
    tiff(tmp_path / "e.tif", scene(300, 200), tile=512)
    monkeypatch.setattr(large, "_MAX_CACHED", 1 << 20)
    reasons = {
        "a.jpg": "progressive",
        "b.jpg": "four inks",
        "c.png": "transparent",
        "d.tif": "unusual",
        "e.tif": "tiles",
    }
    for name in reasons:
        if name != "d.tif":  # floats in colour are beyond Pillow too
            assert tn.ImageSource.open(tmp_path / name).width == 200
    monkeypatch.setattr(large, "MAX_PIXELS", 50_000)
    for name, reason in reasons.items():
        assert reason in read_refusal(tmp_path / name)


def test_limits_of_large_files(tmp_path: Path, as_large: None, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tiff(tmp_path / "a.tif", scene(300, 200))
    with pytest.raises(tn.TNetError, match=r"200 x 300 pixels; at most 0 million are opened here\.$"):
        tn.ImageSource.open(path, most_pixels=59_999)
    assert tn.ImageSource.open(path, most_pixels=60_000).height == 300
    monkeypatch.setattr(large, "MAX_TILED", 59_999)
    assert "300 pixels; at most 0 million" in read_refusal(path)
    monkeypatch.setattr(large, "MAX_LARGE_BYTES", 1000)
    assert "GB; at most" in read_refusal(path)


PROBE = """
import json, resource, sys, time
import tnet_core as tn
from tnet_core.inference.memory import PeakMemory
import torch
def resident():
    return int(open("/proc/self/statm").read().split()[1]) * 4096
tn.ImageSource.open(sys.argv[1])
answers = []
for path in sys.argv[2:]:
    peak, before, began = PeakMemory(torch.device("cpu")), resident(), time.perf_counter()
    try:
        tn.ImageSource.open(path)
        answers.append("opened")
    except tn.TNetError as error:
        answers.append([str(error), time.perf_counter() - began, peak.read() - before])
print(json.dumps(answers))
"""


def test_bombs_are_refused_within_seconds_in_little_memory(tmp_path: Path) -> None:
    """In a process of its own, so that the memory is that of these files."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 60_000, 60_000, 8, 2, 0, 0, 0))
    (tmp_path / "empty.png").write_bytes(head + chunk(b"IDAT", zlib.compress(bytes(1000))) + chunk(b"IEND", b""))
    # As many bytes as its pixels can be squeezed into: a real bomb.
    squeezed = zlib.compressobj(9)
    block = squeezed.compress(bytes(1 << 24)) + squeezed.flush(zlib.Z_FULL_FLUSH)
    with (tmp_path / "bomb.png").open("wb") as file:
        file.write(head)
        for _ in range(60_000 * 180_001 // (1 << 24) + 1):
            file.write(chunk(b"IDAT", block))
        file.write(chunk(b"IEND", b""))
    data = bytearray(tiff(tmp_path / "a.tif", scene(300, 300)).read_bytes())
    for tag in (256, 257):
        struct.pack_into("<HII", data, field(data, tag) - 6, 4, 1, 60_000)
    (tmp_path / "lie.tif").write_bytes(data)
    good = tmp_path / "good.png"
    Image.fromarray(scene(50, 50)).save(good)
    files = [str(tmp_path / name) for name in ("empty.png", "bomb.png", "lie.tif")]
    run = subprocess.run(
        [sys.executable, "-c", PROBE, str(good), *files], cwd=ROOT, capture_output=True, text=True, check=True
    )
    for (text, seconds, memory), words in zip(
        json.loads(run.stdout), ("more than its", "at most 1074 million", "which take 219961 tiles"), strict=True
    ):
        assert words in text
        assert seconds < 5 and memory < 50 << 20
