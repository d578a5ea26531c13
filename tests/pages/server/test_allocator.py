"""Memory that was freed does not stay with the server, and only what took much of it pays for that."""

from __future__ import annotations

import ctypes
import subprocess
import sys
from pathlib import Path

import pytest

import tnet_core as tn
from pages.explore import service as explorers
from pages.explore.service import Explorer
from pages.server.model_cache import Shelf
from tests.support.large_files import as_large, scene, tiff
from tests.support.models import tiny
from tnet_core.checkpoints import Registry

__all__ = ["as_large"]

# Blocks small enough to come from a pool; the last one keeps the pool from shrinking by itself.
FREED = """
import os
from pages.server.allocator import give_back
from tools.server_memory import shares
blocks = [bytearray(60_000) for _ in range(2000)]
last = bytearray(60_000)
full = shares(os.getpid()).own
del blocks
kept = shares(os.getpid()).own
give_back()
print(full - kept, kept - shares(os.getpid()).own)
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "malloc_trim"), reason="the C library keeps no such pools")
def test_freed_memory_is_given_back() -> None:
    root = Path(__file__).parents[3]
    run = subprocess.run([sys.executable, "-c", FREED], cwd=root, capture_output=True, text=True, check=True)
    by_itself, asked = map(int, run.stdout.split())
    assert by_itself < 20e6 and asked > 100e6


def test_it_is_asked_for_after_large_pictures_alone(
    tmp_path: Path, as_large: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    tn.save(tiny(), tmp_path / "model")
    shelf = Shelf(Registry(), stand_in="lite0-cub", device="cpu")
    spec = shelf.add(str(tmp_path / "model"), on_notice=lambda _: None).spec
    explorer, given = Explorer(shelf), list[bool]()
    monkeypatch.setattr(explorers, "give_back", lambda: given.append(True))
    monkeypatch.setattr(explorers, "MANY_PIXELS", 300 * 300)
    explorer.open(spec, str(tiff(tmp_path / "small.tif", scene(300, 300))))
    assert given == []
    explorer.open(spec, str(tiff(tmp_path / "large.tif", scene(300, 301))))
    assert given == [True]
