"""Which process is watched, and when its memory counts as settled."""

from __future__ import annotations

import mmap
import os
import socket
from pathlib import Path

import pytest

from tools.server_memory import MemoryWatch, Shares, find_listener, read_resident_bytes, read_shares


def test_the_process_that_listens_at_an_address_is_found() -> None:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        port = server.getsockname()[1]
        assert find_listener(f"http://127.0.0.1:{port}") == os.getpid()
    assert find_listener(f"http://127.0.0.1:{port}") is None


def test_a_server_elsewhere_has_no_process_here() -> None:
    assert find_listener("https://example.com:443") is None


def test_memory_is_that_of_the_process() -> None:
    before = read_resident_bytes(os.getpid())
    with mmap.mmap(-1, 60_000_000) as held:  # new pages: what was freed before could serve an ordinary allocation
        held.write(os.urandom(60_000_000))
        after = read_resident_bytes(os.getpid())
    assert 50e6 < after - before < 130e6
    assert read_resident_bytes(2**22 + 1) == 0  # above the largest number of a process


def test_what_a_process_has_written_is_told_from_files_it_reads(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(os.urandom(60_000_000))
    before = read_shares(os.getpid())
    with (tmp_path / "a").open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        assert sum(mapped[:: mmap.PAGESIZE]) > 0  # every page is touched
        after = read_shares(os.getpid())
    assert 50e6 < after.mapped - before.mapped < 70e6 and abs(after.own - before.own) < 20e6
    assert after.total == after.own + after.mapped and read_shares(2**22 + 1) == Shares(0, 0)


@pytest.mark.parametrize(
    ("samples", "stable"),
    [
        ([100, 200, 300, 1000, 1000, 1000, 1010, 1010, 1010], True),  # grows, then settles
        ([1000] * 6 + [1049] * 3, True),
        ([1000] * 3 + [1500] * 3 + [2000] * 3, False),
        (list(range(1000, 2000, 50)), False),  # a leak
    ],
)
def test_growth_in_the_last_third_is_not_stable(samples: list[int], stable: bool) -> None:
    watch = MemoryWatch(os.getpid())
    watch.samples = [1_000_000 * sample for sample in samples]
    assert watch.stable() is stable
