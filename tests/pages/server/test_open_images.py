"""Pictures kept open: decoded once, never out of date, bounded."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import tnet_core as tn
from pages.server import uploads
from pages.server.uploads import OpenImages
from tests.support.large_files import as_large, scene, tiff
from tests.support.models import picture

__all__ = ["as_large"]


def write_picture(path: Path, seed: int = 0) -> Path:
    Image.fromarray(picture(40, 60, seed)).save(path)
    return path


def everything(source: tn.ImageSource) -> np.ndarray:
    return source.gather(np.arange(source.height), np.arange(source.width))


def test_a_file_is_decoded_once_while_it_stays_as_it_is(tmp_path: Path) -> None:
    files, path = OpenImages(), write_picture(tmp_path / "a.png")
    first = files.open(path, None)
    assert files.open(path, None) is first
    write_picture(path, seed=1)
    os.utime(path, (1, 1))
    changed = files.open(path, None)
    assert changed is not first
    np.testing.assert_array_equal(everything(changed), picture(40, 60, 1))


def test_the_least_recently_used_goes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uploads, "MAX_OPEN_BYTES", 2 * 40 * 60 * 3)
    files, paths = OpenImages(), [write_picture(tmp_path / f"{seed}.png", seed) for seed in range(3)]
    first, second = files.open(paths[0], None), files.open(paths[1], None)
    assert files.open(paths[0], None) is first  # used again
    files.open(paths[2], None)
    assert files.open(paths[0], None) is first
    assert files.open(paths[1], None) is not second


def test_one_that_is_too_large_to_keep_is_opened_all_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uploads, "MAX_OPEN_BYTES", 100)
    files, path = OpenImages(), write_picture(tmp_path / "a.png")
    first = files.open(path, None)
    assert files.open(path, None) is not first
    np.testing.assert_array_equal(everything(first), picture(40, 60, 0))


def test_files_read_in_parts_are_counted_by_number_and_by_the_tiles_they_keep(
    tmp_path: Path, as_large: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(uploads, "MAX_OPEN_FILES", 2)
    files, paths = OpenImages(), [tiff(tmp_path / f"{seed}.tif", scene(60, 80, seed), tile=16) for seed in range(3)]
    sources = [files.open(path, None) for path in paths]
    assert files.open(paths[2], None) is sources[2] and files.open(paths[1], None) is sources[1]
    assert files.open(paths[0], None) is not sources[0]
    last = files.open(paths[2], None)
    assert last.held == 0
    last.gather(np.arange(60), np.arange(80))
    assert last.held == 2 * 80 * 16 * 3
    monkeypatch.setattr(uploads, "MAX_OPEN_BYTES", last.held - 1)
    files.open(paths[1], None)
    files.open(paths[0], None)
    assert files.open(paths[2], None) is not last


def test_limits_and_missing_files_get_one_sentence(tmp_path: Path) -> None:
    files, path = OpenImages(), write_picture(tmp_path / "a.png")
    with pytest.raises(tn.TNetError, match="60 x 40 pixels"):
        files.open(path, 1000)
    files.open(path, None)
    path.unlink()
    for missing in (path, tmp_path, Path("a\0b")):
        with pytest.raises(tn.TNetError, match="not here any more"):
            files.open(missing, None)
