"""One traversal in a process of its own: what it took, as one line of JSON. Called by `benchmarks.sizes`.

python -m benchmarks.probe CHECKPOINT FILE LOOKS[,LOOKS…]
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

import tnet_core as tn
from tnet_core.inference.memory import PeakMemory


def measure(checkpoint: str, path: str, budget: tuple[int, ...]) -> dict[str, Any]:
    """Return seconds and memory of a first traversal, of a second one, and of hashing the file.

    Both traversals open the file; the second finds what the first has built. Neither needs the hash
    of a large file, which is taken when it is asked for; that of a small one is part of opening it.
    """
    model = tn.load(checkpoint, device="cpu")

    def traverse(image: Any) -> tn.Trace:
        return tn.traverse(model, image, budget=budget, levels=len(budget) + 1, sampling="native")

    for _ in range(2):
        traverse(np.zeros((512, 512, 3), np.uint8))  # warm
    peak = PeakMemory(torch.device("cpu"))
    first, building = time_run(lambda: traverse(path))
    again, repeating = time_run(lambda: traverse(path))
    _, hashing = time_run(lambda: first.image.sha256)
    assert np.array_equal(first.logits(), again.logits())
    return {
        "looks": len(again.locations),
        "cells": [look.path for look in again.locations],
        "pixels_read": again.cost().pixels_read,
        "hash": hashing,
        "first": building,
        "again": repeating,
        "peak_bytes": peak.read(),
    }


def time_run(run: Callable[[], Any]) -> tuple[Any, dict[str, float]]:
    began, worked = time.perf_counter(), time.process_time()
    result = run()
    return result, {"seconds": time.perf_counter() - began, "processor": time.process_time() - worked}


if __name__ == "__main__":
    print(json.dumps(measure(sys.argv[1], sys.argv[2], tuple(int(k) for k in sys.argv[3].split(",")))))
