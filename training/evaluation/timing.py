"""Time per image, one image at a time: what somebody waits for who gives the network a single picture.

The passes that measure accuracy look at many images at once and at many more cells than a budget needs, so their
duration says nothing about a budget. Here `tn.traverse` runs on some of the images, decoded before, once per budget.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from tnet_core.cost import flops
from tnet_core.imageio.source import ImageSource
from tnet_core.inference.memory import PeakMemory
from tnet_core.inference.traversal import traverse
from tnet_core.modeling.config import TNetConfig
from tnet_core.modeling.tnet import TNet
from training.evaluation.stream import evaluation_mode

MAX_TIMED_IMAGES = 8
MAX_SECONDS = 15.0  # seconds, about
_MIN_ROUNDS = 3  # at least so many images per budget, else fewer budgets are timed
ABOUT = (
    "ms_per_image of a budget: median over images of one traversal of one decoded image (batch of 1), which includes "
    "cutting and resizing the looks and keeping a trace, and excludes decoding and loading the model; after a warm-up. "
)
_MEMORY = {
    "cuda": "memory_gb: the most that the allocator held on the device during it, the weights included.",
    "cpu": "Memory is left out: a process on a CPU has no count of its own for one traversal.",
}
Timings = dict[tuple[int, ...], dict[str, float]]


def time_budgets(
    model: TNet, images: Sequence[np.ndarray], budgets: Sequence[tuple[int, ...]], limit: float = MAX_SECONDS
) -> tuple[Timings, dict[str, Any]]:
    """Return what each budget's entry gets, and how it was measured. `images` are (H, W, 3) uint8."""
    sources = [ImageSource.open(image) for image in images]
    seconds: dict[tuple[int, ...], list[float]] = {}
    memory: dict[tuple[int, ...], int] = {}
    began = time.perf_counter()

    def run(source: ImageSource, budget: tuple[int, ...]) -> float:
        peak = PeakMemory(model.device)
        taken = _time_call(lambda: traverse(model, source, budget), model.device)
        memory[budget] = max(memory.get(budget, 0), peak.read())
        return taken

    with evaluation_mode(model):
        largest = budgets[-1]
        run(sources[0], largest)  # the first run of all sets things up
        cost = run(sources[0], largest) / flops(model.config, largest)
        chosen = select_affordable(model.config, budgets, cost, limit / _MIN_ROUNDS)
        for budget in chosen:
            run(sources[0], budget)
        memory.clear()
        for count, source in enumerate(sources):
            if count and time.perf_counter() - began > limit * count / (count + 1):  # the next one would be too much
                break
            for budget in chosen:
                seconds.setdefault(budget, []).append(run(source, budget))
    timings: Timings = {
        budget: {"ms_per_image": round(1000 * float(np.median(found)), 3)} for budget, found in seconds.items()
    }
    kind = "cuda" if model.device.type == "cuda" else "cpu"
    if kind == "cuda":
        for budget in timings:
            timings[budget]["memory_gb"] = round(memory[budget] / 1e9, 4)
    rounds = len(seconds[chosen[0]])
    about = {
        "about": ABOUT + _MEMORY[kind], "batch_size": 1, "images": rounds, "budgets": len(chosen),
        "seconds": round(time.perf_counter() - began, 1),
    }  # fmt: skip
    return timings, about


def select_affordable(
    config: TNetConfig, budgets: Sequence[tuple[int, ...]], seconds_per_flop: float, limit: float
) -> list[tuple[int, ...]]:
    """Return all budgets if a round over them stays within the limit, else some, evenly spread, always the first."""
    expected = np.array([flops(config, budget) for budget in budgets], dtype=np.float64) * seconds_per_flop
    for step in range(1, len(budgets)):
        if expected[::step].sum() <= limit:
            return list(budgets[::step])
    return [budgets[0]]


def _time_call(work: Callable[[], object], device: torch.device) -> float:
    cuda = device.type == "cuda"
    if cuda:
        torch.cuda.synchronize(device)
    began = time.perf_counter()
    work()
    if cuda:
        torch.cuda.synchronize(device)
    return time.perf_counter() - began
