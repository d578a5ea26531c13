"""Freed memory, given back to the system."""

from __future__ import annotations

import ctypes
import sys
from contextlib import suppress


def give_back() -> None:
    """What the C library keeps of freed memory; 10 to 40 ms, so it is for work that took seconds.

    glibc gives most threads a pool of their own, and what is freed stays in its pool. Requests come in dozens of
    threads: after ten large pictures 390 MB lay in such pools, unused. Two pools for all (MALLOC_ARENA_MAX) are no way
    out: one run of the app held 700 MB more with them.
    """
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):  # other C libraries have no such function
            ctypes.CDLL(None).malloc_trim(0)
