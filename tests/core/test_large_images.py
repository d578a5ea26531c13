"""Files of any size: the same pixels as decoding them whole, but only those that are asked for."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest
import pyvips
from PIL import Image

import tnet_core as tn
from tests.support.large_files import as_large, scene, tiff
from tests.support.models import TINY, tiny
from tnet_core.__main__ import main
from tnet_core.imageio import large, pyramid, raw_level, scratch, vips
from tnet_core.imageio import source as sources
from tnet_core.imageio.decode import decode_bytes
from tnet_core.imageio.layouts import VipsLevel
from tnet_core.imageio.source import ArraySource, ImageSource, LargeSource

pytestmark = pytest.mark.slow

__all__ = ["as_large"]

HEIGHT, WIDTH = 391, 523
PIXELS = scene(HEIGHT, WIDTH)
RGBA = np.dstack([PIXELS, scene(HEIGHT, WIDTH, 1)[:, :, 0]])
DEEP = (PIXELS.astype(np.uint16) << 8) + scene(HEIGHT, WIDTH, 2)


def png(path: Path, image: Image.Image | np.ndarray) -> Path:
    if isinstance(image, Image.Image):
        image.save(path)
    else:
        assert cv2.imwrite(str(path), image)
    return path


def jpeg(path: Path, image: Image.Image, orientation: int = 1, **options: object) -> Path:
    exif = Image.Exif()
    exif[0x0112] = orientation
    image.save(path, exif=exif.tobytes(), **options)
    return path


RGB = Image.fromarray(PIXELS)
FILES: dict[str, Callable[[Path], Path]] = {
    "pyramid.tif": lambda p: tiff(p, PIXELS, pyramid=True),
    "pyramid-jpeg.tif": lambda p: tiff(p, PIXELS, pyramid=True, compression="jpeg"),
    "subifds-big.tif": lambda p: tiff(p, PIXELS, pyramid=True, subifd=True, bigtiff=True),
    "tiled.tif": lambda p: tiff(p, PIXELS, compression="deflate"),
    "strips.tif": lambda p: tiff(p, PIXELS, tile=None),
    "grey.tif": lambda p: tiff(p, PIXELS[:, :, :1], pyramid=True),
    "white-is-zero.tif": lambda p: tiff(p, PIXELS[:, :, :1], miniswhite=True),
    "deep.tif": lambda p: tiff(p, DEEP),
    "deep-grey.tif": lambda p: tiff(p, DEEP[:, :, :1]),
    "alpha.tif": lambda p: tiff(p, RGBA),
    "colour.jpg": lambda p: jpeg(p, RGB),
    "grey.jpg": lambda p: jpeg(p, RGB.convert("L")),
    "colour.png": lambda p: png(p, RGB),
    "grey.png": lambda p: png(p, RGB.convert("L")),
    "alpha.png": lambda p: png(p, Image.fromarray(RGBA)),
    "grey-alpha.png": lambda p: png(p, Image.fromarray(RGBA).convert("LA")),
    "palette.png": lambda p: png(p, RGB.convert("P")),
    "deep.png": lambda p: png(p, DEEP),
    "deep-grey.png": lambda p: png(p, DEEP[:, :, 0]),
    "turned.tif": lambda p: turned_tiff(p, 6),
    **{f"turned-{o}.jpg": (lambda p, o=o: jpeg(p, RGB, o)) for o in range(2, 9)},
}


def turned_tiff(path: Path, orientation: int) -> Path:
    image = pyvips.Image.new_from_array(PIXELS).copy(interpretation="srgb")
    image.set_type(pyvips.GValue.gint_type, "orientation", orientation)
    image.tiffsave(str(path), tile=True, tile_width=128, tile_height=128, compression="lzw")
    return path


def both(path: Path) -> tuple[LargeSource, ArraySource]:
    """The same file read in parts, and decoded whole."""
    source = ImageSource.open(path)
    assert isinstance(source, LargeSource)
    whole = ArraySource(decode_bytes(path.read_bytes(), "It"))
    assert (source.width, source.height) == (whole.width, whole.height)
    return source, whole


@pytest.mark.parametrize("name", FILES)
def test_every_kind_equals_decoding_it_whole(name: str, tmp_path: Path, as_large: None) -> None:
    source, whole = both(FILES[name](tmp_path / name))
    generator = np.random.default_rng(0)
    rows = np.unique(generator.integers(0, source.height, 90))
    cols = np.unique(generator.integers(0, source.width, 120))
    np.testing.assert_array_equal(source.gather(rows, cols), whole.gather(rows, cols))
    across, down = np.arange(130, 300), np.arange(7, 31)
    np.testing.assert_array_equal(source.gather(down, across), whole.gather(down, across))
    for box, size in [((11, 21, 171, 101), (96, 96)), ((130, 40, 140, 50), (64, 64))]:  # from the original
        assert pyramid.choose_factor(source.layout.factors, box, size) == 1
        np.testing.assert_array_equal(source.resized(box, size), whole.resized(box, size))


# Largest mean difference of 255, and largest single one, at hard edges. Levels stored as JPEG have lost more.
CLOSE, CLOSE_JPEG = (2.5, 32), (8.0, 64)
WITH_LEVELS = ["pyramid.tif", "pyramid-jpeg.tif", "subifds-big.tif", "tiled.tif", "strips.tif", "turned.tif"]


@pytest.mark.parametrize("name", WITH_LEVELS + [name for name in FILES if name.endswith(".jpg")])
def test_smaller_levels_are_close_to_the_original(name: str, tmp_path: Path, as_large: None) -> None:
    source, whole = both(FILES[name](tmp_path / name))
    mean, single = CLOSE_JPEG if name == "pyramid-jpeg.tif" else CLOSE
    everything = (0, 0, source.width, source.height)
    used = set()
    for box, size in [
        (everything, (22, 22)),
        (everything, (17, 9)),
        ((3, 5, 389, 388), (19, 23)),
        (everything, (5, 5)),
    ]:
        used.add(pyramid.choose_factor(source.layout.factors, box, size))
        difference = np.abs(source.resized(box, size).astype(int) - whole.resized(box, size))
        assert difference.mean() <= mean and difference.max() <= single, (difference.mean(), difference.max(), size)
    assert len(used) >= 2 and 1 not in used


@pytest.mark.parametrize("name", ["pyramid.tif", "tiled.tif", "colour.png", "turned-6.jpg"])
@pytest.mark.parametrize("sampling", ["official", "native"])
def test_traversals_agree_with_the_picture_in_memory(name: str, sampling: str, tmp_path: Path, as_large: None) -> None:
    source, whole = both(FILES[name](tmp_path / name))
    large_trace = tn.traverse(tiny(), source, sampling=sampling)
    trace = tn.traverse(tiny(), whole, sampling=sampling)
    if sampling == "official":
        np.testing.assert_array_equal(large_trace.logits(), trace.logits())
        assert [np.array_equal(a, b) for a, b in zip(large_trace.crops, trace.crops, strict=True)] == [True] * 3
        assert [look.index for look in large_trace.locations] == [look.index for look in trace.locations]
    # A smaller level is close to the original, not equal: two cells scored alike may change places.
    assert {look.index for look in large_trace.locations} == {look.index for look in trace.locations}
    assert abs(large_trace.logits() - trace.logits()).max() < 0.05


class Counted:
    """Counts the pixels that levels of a file deliver."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.pixels = 0
        read = VipsLevel.read

        def counting(level: VipsLevel, x: int, y: int, width: int, height: int) -> np.ndarray:
            self.pixels += width * height
            return read(level, x, y, width, height)

        monkeypatch.setattr(VipsLevel, "read", counting)


def test_only_what_a_look_needs_is_decoded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same looks at the same scene, four times as large: no more pixels are read, and the trace says so."""
    counted, read = Counted(monkeypatch), {}
    for side in (1024, 4096):
        monkeypatch.setattr(large, "TILED_ABOVE", 0)
        image = pyvips.Image.new_from_array(scene(256, 256)).copy(interpretation="srgb").resize(side / 256)
        path = tmp_path / f"{side}.tif"
        image.tiffsave(str(path), tile=True, pyramid=True, compression="jpeg", tile_width=256, tile_height=256)
        counted.pixels = 0
        trace = tn.traverse(tiny(), path, budget=(4,), sampling="native")
        read[side] = counted.pixels
        assert 0 < counted.pixels <= 1.1 * trace.cost().pixels_read
    assert read[4096] <= 1.3 * read[1024] < 5 * (4 * 64) ** 2


def test_official_sampling_passes_over_the_tiles_once(
    tmp_path: Path, as_large: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = FILES["tiled.tif"](tmp_path / "a.tif")
    counted = Counted(monkeypatch)
    tn.traverse(tiny(), path, budget=(9,), sampling="official")
    assert counted.pixels <= HEIGHT * WIDTH


def test_temporary_levels_are_built_once_bounded_and_removed(
    tmp_path: Path, as_large: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    shelf = scratch._FolderCache()
    monkeypatch.setattr(scratch, "_CACHE", shelf)
    paths = [tiff(tmp_path / f"{seed}.tif", scene(HEIGHT, WIDTH, seed)) for seed in range(2)]
    counted, box = Counted(monkeypatch), (0, 0, WIDTH, HEIGHT)
    first = tn.ImageSource.open(paths[0])
    before = first.resized(box, (20, 20))
    assert counted.pixels == HEIGHT * WIDTH
    tn.ImageSource.open(paths[0]).resized(box, (20, 20))
    assert counted.pixels == HEIGHT * WIDTH  # kept by the picture's file
    size = sum(w * h * 3 for w, h, _ in raw_level.plan_levels(WIDTH, HEIGHT, 1, first=False))
    assert shelf._root is not None and sum(f.stat().st_size for f in shelf._root.rglob("*.rgb")) == size
    monkeypatch.setattr(scratch, "MAX_SCRATCH_BYTES", 2 * size - 1)
    tn.ImageSource.open(paths[1]).resized(box, (20, 20))
    assert len(list(shelf._root.iterdir())) == 1  # the other made room
    np.testing.assert_array_equal(first.resized(box, (20, 20)), before)  # who had it open reads on
    monkeypatch.setattr(scratch, "MAX_SCRATCH_BYTES", size - 1)
    with pytest.raises(tn.TNetError, match="GB of temporary files"):
        tn.ImageSource.open(tiff(tmp_path / "3.tif", scene(HEIGHT, WIDTH, 3))).resized(box, (20, 20))
    scratch._remove(shelf._root, 0)  # another process's
    assert shelf._root.is_dir()


def test_levels_survive_odd_sizes(tmp_path: Path, as_large: None) -> None:
    for height, width in [(65, 259), (130, 67), (321, 1), (257, 66)]:
        pixels = np.full((height, width, 3), 77, np.uint8)
        source, _ = both(png(tmp_path / f"{height}.png", Image.fromarray(pixels)))
        for factor in source.layout.factors:
            level = source.layout.level(factor)
            assert (level.width, level.height) == (-(-width // factor), -(-height // factor))
            assert (level.read(0, 0, level.width, level.height) == 77).all()


@pytest.mark.parametrize("size", [(300, 200), (600, 150), (100, 600), (40, 500)])
@pytest.mark.parametrize("name", ["colour.png", "turned.tif"])
def test_cuts_too_large_for_memory_are_averaged_line_by_line(
    name: str, size: tuple[int, int], tmp_path: Path, as_large: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "_AT_ONCE", 1000)
    for limit in (1 << 20, 2000):
        monkeypatch.setattr(pyramid, "_PIXELS", limit)
        source, whole = both(FILES[name](tmp_path / name))
        monkeypatch.setattr(source.layout, "factors", (1,))
        everything = (0, 0, source.width, source.height)
        difference = np.abs(source.resized(everything, size).astype(int) - whole.resized(everything, size))
        assert difference.max() <= 1 and difference.mean() < 0.01


def test_small_files_stay_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = FILES["pyramid.tif"](tmp_path / "a.tif")
    assert isinstance(tn.ImageSource.open(path), ArraySource)
    monkeypatch.setattr(large, "TILED_ABOVE", 0)
    assert isinstance(tn.ImageSource.open(path), LargeSource)


def test_a_source_can_be_sent_to_another_process(tmp_path: Path, as_large: None) -> None:
    source, _ = both(FILES["turned-6.jpg"](tmp_path / "a.jpg"))
    again = pickle.loads(pickle.dumps(source))
    assert isinstance(again, LargeSource) and again.sha256 == source.sha256
    np.testing.assert_array_equal(again.resized((0, 0, 100, 200), (9, 9)), source.resized((0, 0, 100, 200), (9, 9)))


def test_pages_that_are_other_pictures_are_no_levels(tmp_path: Path, as_large: None) -> None:
    path = tmp_path / "pages.tif"
    pages = [Image.fromarray(scene(size, size, size)) for size in (256, 128)]
    pages[0].save(path, save_all=True, append_images=pages[1:], tile=(64, 64))
    source = tn.ImageSource.open(path)
    assert isinstance(source, LargeSource)
    assert source.resized((0, 0, 256, 256), (8, 8)) == pytest.approx(
        ArraySource(np.asarray(pages[0])).resized((0, 0, 256, 256), (8, 8)), abs=3
    )


@pytest.mark.parametrize("loader", ["svgload", "gifload", "webpload", "pdfload", "magickload", "csvload", "vipsload"])
def test_no_other_loader_can_be_reached(loader: str, tmp_path: Path) -> None:
    library = vips.load_library()
    (tmp_path / "a").write_text("<svg xmlns='http://www.w3.org/2000/svg' width='9' height='9'/>")
    with pytest.raises((library.Error, AttributeError)):
        getattr(library.Image, loader)(str(tmp_path / "a"))
    with pytest.raises(library.Error):
        library.Image.new_from_file(str(tmp_path / "a"))
    assert library.cache_get_max() == 0 and library.concurrency_get() == 1


def test_automatic_levels_end_where_a_cell_is_at_base_resolution(tmp_path: Path, as_large: None) -> None:
    path = tiff(tmp_path / "a.tif", scene(1030, 700), pyramid=True)
    trace = tn.traverse(tiny(), path, levels="auto", sampling="native")
    # 1030 px, then 515, 258, 129 and 64: what the network sees. The budget of training is 3 looks.
    assert trace.levels == 5 and trace.budget == (3, 3, 3, 3)
    deepest = [look for look in trace.locations if look.level == 5]
    assert len(deepest) == 81 and all(max(look.pixels[2:]) <= 64 for look in deepest)
    assert all(look.pixels[2] > 64 for look in trace.locations if look.level == 4)
    given = tn.traverse(tiny(), path, budget=(2, 1, 1, 1), levels="auto", sampling="native")
    assert given.budget == (2, 1, 1, 1)
    assert tn.traverse(tiny(), path, budget=2, levels="auto", sampling="native").budget == (2, 3, 3, 3)
    assert tn.traverse(tiny(), path, levels="auto", sampling="official").levels == 2  # its input has 128 px
    assert tn.traverse(tiny(), np.zeros((40, 40, 3), np.uint8), levels="auto", sampling="native").levels == 2
    with pytest.raises(tn.TNetError, match="longer than the 5 levels"):
        tn.traverse(tiny(), path, budget=(1,) * 5, levels="auto", sampling="native")
    again = tn.Trace.from_json(trace.to_json())
    assert again.levels == 5
    from tnet_core.inference.replay import replay

    replay(again, tiny(), path)


def test_automatic_levels_on_the_command_line(
    tmp_path: Path, as_large: None, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = str(tn.save(tiny(replace(TINY, budget=(1,))), tmp_path / "tiny"))
    path = str(tiff(tmp_path / "a.tif", scene(600, 500), pyramid=True))
    assert main([path, "--checkpoint", folder, "--levels", "auto", "--sampling", "native"]) == 0
    printed = capsys.readouterr().out
    assert "4 looks" in printed and "level 5:" in printed
    assert main([path, "--checkpoint", folder, "--levels", "all"]) == 2
    assert "a whole number or 'auto'" in capsys.readouterr().err
