"""Several ways of doing the same, timed in turn: what the machine does besides hits all of them alike."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

Run = Callable[[], Any]


def in_turn(ways: Mapping[str, Run], rounds: int) -> dict[str, list[float]]:
    """Return the seconds of each way in each round, after one run of each that is not counted."""
    for run in ways.values():
        run()
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, run in ways.items():
            began = time.perf_counter()
            run()
            seconds[name].append(time.perf_counter() - began)
    return seconds


def middle(seconds: Mapping[str, list[float]]) -> dict[str, float]:
    """Return the median of each way, in milliseconds."""
    return {name: 1e3 * statistics.median(values) for name, values in seconds.items()}


def ratio(seconds: Mapping[str, list[float]], slow: str, fast: str) -> float:
    """Return how many times faster it is: the median of the rounds' ratios."""
    return spread(seconds, slow, fast)[0]


def compare(seconds: Mapping[str, list[float]], base: str) -> dict[str, tuple[float, float, float]]:
    """Return how many times slower than `base` each way is: median, least and largest of the rounds' ratios."""
    return {name: spread(seconds, name, base) for name in seconds}


def spread(seconds: Mapping[str, list[float]], slow: str, fast: str) -> tuple[float, float, float]:
    """Return how many times faster it is: median, least and largest of the rounds' ratios."""
    found = [a / b for a, b in zip(seconds[slow], seconds[fast], strict=True)]
    return statistics.median(found), min(found), max(found)


def describe_spread(found: Sequence[float]) -> str:
    """Return '1.31x (1.25 to 1.40)'."""
    return f"{found[0]:.2f}x ({found[1]:.2f} to {found[2]:.2f})"
