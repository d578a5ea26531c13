"""Five looks on a host that is busy: beside four processes that never rest, and for eight visitors at once.

As in the app, one thread takes the looks of all visitors (`pages/server/compute.py`), and they wait for their turns.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

import tnet_core as tn
from benchmarks.looks import model_and_picture

PROCESSES, VISITORS, LOOKS = 4, 8, 5


def busy(rounds: int) -> dict[str, Any]:
    """Measure `rounds` times ten traversals each: the quiet median, and 95th percentiles as multiples of it."""
    model, picture = model_and_picture()
    source = tn.ImageSource.open(picture)

    def traverse() -> float:
        began = time.perf_counter()
        tn.traverse(model, source, LOOKS)
        return 1e3 * (time.perf_counter() - began)

    count = 10 * rounds
    quiet = [traverse() for _ in range(count + 3)][3:]
    spinning = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(PROCESSES)]
    try:
        time.sleep(1)
        beside = [traverse() for _ in range(count)]
    finally:
        for process in spinning:
            process.kill()
            process.wait()
    with ThreadPoolExecutor(1) as looks, ThreadPoolExecutor(VISITORS) as visitors:

        def visit(_: int) -> float:
            began = time.perf_counter()
            looks.submit(traverse).result()
            return 1e3 * (time.perf_counter() - began)

        together = list(visitors.map(visit, range(VISITORS * rounds)))
    middle = statistics.median(quiet)
    return {
        "looks": LOOKS, "ms": middle, "beside_ms": float(np.percentile(beside, 95)),
        "together_ms": float(np.percentile(together, 95)), "times_beside": float(np.percentile(beside, 95)) / middle,
        "times_together": float(np.percentile(together, 95)) / middle, "goals": [3.0, 10.0],
    }  # fmt: skip
