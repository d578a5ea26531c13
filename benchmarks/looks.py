"""What a look costs, how the cost grows, and what a move of the slider costs."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

import tnet_core as tn
from benchmarks.pictures import PHOTOGRAPH
from benchmarks.rounds import Run, in_turn, middle, ratio

CHECKPOINT = "tnet-lite0-cub"
COUNTS = (1, 2, 3, 5, 7, 10, 13, 16, 19, 22, 25)
SIDES = (512, 1024, 2048, 4096, 8192)
SUBSETS = 200


def model_and_picture() -> tuple[tn.TNet, np.ndarray]:
    """Return the optimised model, and a photograph of its own size."""
    model = tn.optimised(tn.load(CHECKPOINT, device="cpu"))
    return model, read_photograph(model.config.input_size)


def read_photograph(side: int) -> np.ndarray:
    source = tn.ImageSource.open(PHOTOGRAPH)
    return source.resized((0, 0, source.width, source.height), (side, side))


def per_look(rounds: int) -> dict[str, Any]:
    """Time one look at a time, as the app's step button takes it; and all of a level at once."""
    model, picture = model_and_picture()
    source = tn.ImageSource.open(picture)

    def steps() -> None:
        traversal = tn.Traversal(model, source, 5)
        while traversal.step():
            pass

    seconds = in_turn({"steps": steps, "level": lambda: tn.traverse(model, source, 5)}, rounds)
    each = middle(seconds)
    return {
        "model": CHECKPOINT, "looks": 5, "step_ms": each["steps"] / 6, "level_ms": each["level"] / 6,
        "traversal_ms": each["level"],
    }  # fmt: skip


def reaggregation(rounds: int) -> dict[str, Any]:
    """Time weights and logits of subsets of 25 looks that nobody has asked for yet, against the looks themselves."""
    model, picture = model_and_picture()
    source = tn.ImageSource.open(picture)
    trace = tn.traverse(model, source, 25)
    draw = np.random.default_rng(0)

    def subsets() -> None:
        for _ in range(SUBSETS):
            rows = np.flatnonzero(draw.random(25) < 0.5).tolist()
            trace.logits(subset=rows)

    seconds = in_turn({"subsets": subsets, "traversal": lambda: tn.traverse(model, source, 25)}, rounds)
    each = middle(seconds)
    return {
        "looks": 25, "classes": trace.config.num_classes, "ms": each["subsets"] / SUBSETS,
        "traversal_ms": each["traversal"], "times": ratio(seconds, "traversal", "subsets") * SUBSETS, "goal_ms": 2.0,
    }  # fmt: skip


def growth_by_looks(rounds: int, counts: tuple[int, ...] = COUNTS) -> dict[str, Any]:
    """Measure time against looks, and how far it strays from a straight line."""
    model, picture = model_and_picture()
    source = tn.ImageSource.open(picture)
    ways: dict[str, Run] = {str(k): partial(tn.traverse, model, source, k) for k in counts}
    each = middle(in_turn(ways, rounds))
    times = np.array([each[str(k)] for k in counts])
    slope, start = np.polyfit(counts, times, 1, w=1 / times)  # relative errors count alike at both ends
    return {
        "model": CHECKPOINT, "looks": list(counts), "ms": times.tolist(), "ms_per_look": float(slope),
        "start_ms": float(start), "strays": float(np.abs(times / (start + slope * np.array(counts)) - 1).max()),
        "goal": 0.1,
    }  # fmt: skip


def growth_by_side(rounds: int, sides: tuple[int, ...] = SIDES) -> dict[str, Any]:
    """Measure the time of 5 looks against the side of a decoded picture. `benchmarks.sizes` does it with files."""
    model, _ = model_and_picture()
    sources = {side: tn.ImageSource.open(read_photograph(side)) for side in sides}
    ways: dict[str, Run] = {str(side): partial(tn.traverse, model, source, 5) for side, source in sources.items()}
    seconds = in_turn(ways, rounds)
    each = middle(seconds)
    return {
        "model": CHECKPOINT, "looks": 5, "sides": list(sides), "ms": [each[str(side)] for side in sides],
        "growth": ratio(seconds, str(sides[-1]), str(sides[0])), "pixels": (sides[-1] / sides[0]) ** 2,
    }  # fmt: skip
