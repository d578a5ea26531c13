"""Official sampling of tiled files: one pass over the tiles, whoever asks and however often."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import tnet_core as tn
from tests.core.test_large_images import Counted
from tests.support.large_files import as_large, scene, tiff
from tests.support.models import TINY, tiny
from tnet_core.sampling.frame import Sampler

__all__ = ["as_large"]
HEIGHT, WIDTH = 300, 420


@pytest.fixture
def path(tmp_path: Path, as_large: None) -> Path:
    return tiff(tmp_path / "a.tif", scene(HEIGHT, WIDTH), tile=64)


def test_a_second_traversal_of_the_same_source_decodes_nothing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source, counted = tn.ImageSource.open(path), Counted(monkeypatch)
    first = tn.traverse(tiny(), source, budget=(9,))
    assert 0 < counted.pixels <= HEIGHT * WIDTH
    counted.pixels = 0
    again = tn.traverse(tiny(), source, budget=(9,))
    assert counted.pixels == 0
    np.testing.assert_array_equal(first.logits(), again.logits())


def test_what_was_prepared_is_not_read_again(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source, counted = tn.ImageSource.open(path), Counted(monkeypatch)
    Sampler(source, TINY).prepare()
    assert counted.pixels > 0
    counted.pixels = 0
    trace = tn.traverse(tiny(), source)
    assert counted.pixels == 0
    np.testing.assert_array_equal(trace.logits(), tn.traverse(tiny(), scene(HEIGHT, WIDTH)).logits())


def test_another_input_size_is_read_anew(path: Path) -> None:
    source, whole = tn.ImageSource.open(path), tn.ImageSource.open(scene(HEIGHT, WIDTH))
    for size in (128, 96, 128):
        tiled, plain = (Sampler(image, replace(TINY, input_size=size)) for image in (source, whole))
        for region in (tiled.whole(), tiled.cell(tiled.whole(), 4)):
            np.testing.assert_array_equal(tiled.read(region)[0], plain.read(region)[0])


def test_two_at_once_read_it_once(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source, counted = tn.ImageSource.open(path), Counted(monkeypatch)
    Sampler(tn.ImageSource.open(path), TINY).prepare()
    alone, counted.pixels = counted.pixels, 0
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: Sampler(source, TINY).prepare(), range(4)))
    assert counted.pixels == alone


def test_native_sampling_prepares_nothing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source, counted = tn.ImageSource.open(path), Counted(monkeypatch)
    Sampler(source, TINY, "native").prepare()
    assert counted.pixels == 0
