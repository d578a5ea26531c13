"""Traversals compute in one thread, whoever asks; memory they free does not stay with the server."""

from __future__ import annotations

import ctypes
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import tnet_core as tn
from pages.explore import service as explorers
from pages.explore.service import Explorer
from pages.server.compute import run_on_accelerator
from tests.support.large_files import as_large, scene, tiff
from tests.support.model_caches import build_model_cache
from tests.support.models import tiny

__all__ = ["as_large"]

# Blocks small enough to come from a pool; the last one keeps the pool from shrinking by itself.
FREED = """
import os
from pages.server.compute import release_freed_memory
from tools.server_memory import read_shares
blocks = [bytearray(60_000) for _ in range(2000)]
last = bytearray(60_000)
full = read_shares(os.getpid()).own
del blocks
kept = read_shares(os.getpid()).own
release_freed_memory()
print(full - kept, kept - read_shares(os.getpid()).own)
"""


@pytest.fixture(autouse=True)
def nothing_lent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SPACES_ZERO_GPU", raising=False)


def test_all_calls_run_in_the_same_thread_and_none_of_the_callers() -> None:
    where = run_on_accelerator(threading.get_ident)
    with ThreadPoolExecutor(4) as pool:
        found = set(pool.map(lambda _: where(), range(16)))
    assert len(found) == 1
    assert threading.get_ident() not in found


def test_arguments_answers_and_sentences_pass_through() -> None:
    def divide(a: int, *, by: int) -> float:
        if by == 0:
            raise tn.TNetError("Nothing is divided by nothing.")
        return a / by

    function = run_on_accelerator(divide)
    assert function(6, by=3) == 2
    with pytest.raises(tn.TNetError, match="Nothing is divided"):
        function(1, by=0)
    assert function(1, by=2) == 0.5  # and goes on


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
    cache = build_model_cache()
    spec = cache.add(str(tmp_path / "model"), on_notice=lambda _: None).spec
    explorer, given = Explorer(cache), list[bool]()
    monkeypatch.setattr(explorers, "release_freed_memory", lambda: given.append(True))
    monkeypatch.setattr(explorers, "LARGE_PIXELS", 300 * 300)
    explorer.open_picture(spec, str(tiff(tmp_path / "small.tif", scene(300, 300))))
    assert given == []
    explorer.open_picture(spec, str(tiff(tmp_path / "large.tif", scene(300, 301))))
    assert given == [True]
