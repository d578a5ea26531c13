"""Memory of the process that listens at a port of this machine (Linux)."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from urllib.parse import urlsplit

STABLE_SHARE = 0.05  # growth of the last third over the middle one that counts as none …
STABLE_BYTES = 40e6  # … or this much: what the allocator keeps comes and goes


class MemoryWatch:
    """Reads a process' resident memory once a second, until told to stop."""

    def __init__(self, process: int) -> None:
        self.process = process
        self.samples: list[int] = []
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> MemoryWatch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        while True:
            self.samples.append(read_resident_bytes(self.process))
            if self._over.wait(1.0):
                return

    def thirds(self) -> tuple[float, float, float]:
        """Median of each third of the time, in bytes."""
        third = max(1, len(self.samples) // 3)
        parts = self.samples[:third], self.samples[third:-third] or self.samples, self.samples[-third:]
        return median(parts[0]), median(parts[1]), median(parts[2])

    def stable(self) -> bool:
        _, middle, last = self.thirds()
        return last - middle <= max(STABLE_SHARE * middle, STABLE_BYTES)


@dataclass(frozen=True)
class Shares:
    """Bytes in memory by where they come from."""

    own: int  # what the process has written: RssAnon of /proc/PID/status
    mapped: int  # pages of files, libraries above all, which the system can drop and read again: RssFile

    @property
    def total(self) -> int:
        return self.own + self.mapped


def read_shares(process: int) -> Shares:
    """Read the memory of a process; 0 once it has ended."""
    try:
        pages, mapped = map(int, Path(f"/proc/{process}/statm").read_text().split()[1:3])
    except OSError:
        return Shares(0, 0)
    size = os.sysconf("SC_PAGESIZE")
    return Shares((pages - mapped) * size, mapped * size)


def read_resident_bytes(process: int) -> int:
    """Bytes in memory; 0 once the process has ended."""
    return read_shares(process).total


def find_listener(address: str) -> int | None:
    """Return the process that answers at an address of this machine, or None where that cannot be told."""
    parts = urlsplit(address)
    if parts.hostname not in ("127.0.0.1", "localhost"):
        return None
    inodes = set(_find_sockets(parts.port or 80))
    for place in Path("/proc").glob("[0-9]*/fd/*"):
        try:
            target = str(place.readlink())
        except OSError:
            continue
        if target.startswith("socket:[") and target[8:-1] in inodes:
            return int(place.parts[2])
    return None


def _find_sockets(port: int) -> Iterator[str]:
    """Inodes of the sockets that listen at a port."""
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        try:
            lines = Path(table).read_text().splitlines()[1:]
        except OSError:
            continue
        for line in lines:
            fields = line.split()
            if fields[3] == "0A" and int(fields[1].rpartition(":")[2], 16) == port:
                yield fields[9]
