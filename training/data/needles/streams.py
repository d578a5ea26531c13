"""Random numbers and trigonometry that give the same integers on every machine."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from tnet_core.errors import TNetError

SPLITS = ("train", "validation", "test")
TURN = 1024  # angles are counted in parts of a full turn
ONE = 1 << 16  # fixed-point one

# What a stream is for: no two purposes share numbers.
_LABELS, _CANVAS = 0, 1


def canvas_stream(seed: int, split: str, index: int) -> np.random.Generator:
    """The numbers that canvas `index` of a split is drawn from."""
    return np.random.default_rng([seed, _CANVAS, _code(split), index])


def balanced_labels(seed: int, split: str, size: int, classes: int) -> np.ndarray:
    """(size,) int64. Every run of `classes` labels holds each class once, in random order."""
    generator = np.random.default_rng([seed, _LABELS, _code(split)])
    rounds = -(-size // classes)
    return generator.permuted(np.tile(np.arange(classes), (rounds, 1)), axis=1).ravel()[:size]


def _code(split: str) -> int:
    if split not in SPLITS:
        raise TNetError(f"The needles data set has no split '{split}'; it has {', '.join(SPLITS)}.")
    return SPLITS.index(split)


def between(generator: np.random.Generator, low: int, high: int) -> int:
    """A whole number in low…high, both included."""
    return int(generator.integers(low, high + 1))


@lru_cache(maxsize=1)
def sine_table() -> np.ndarray:
    """(TURN,) int64: sin(2 pi i / TURN) in fixed point. Rounding hides how a machine computes sines."""
    return np.array([round(math.sin(2 * math.pi * i / TURN) * ONE) for i in range(TURN)], dtype=np.int64)


def sine(angle: int) -> int:
    return int(sine_table()[angle % TURN])


def cosine(angle: int) -> int:
    return int(sine_table()[(angle + TURN // 4) % TURN])
