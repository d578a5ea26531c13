"""Exact Shapley values and pairwise interactions of looks, by enumerating every subset."""

from __future__ import annotations

import math
from typing import Unpack

import numpy as np

from tnet_core.errors import TNetError
from tnet_core.explain.value import ClassValue, ValueOptions
from tnet_core.trace import Trace

MAX_EXPLAINED_LOOKS = 12  # 4096 subsets


def shapley_values(
    trace: Trace, cls: int | str, versus: int | str | None = None, **how: Unpack[ValueOptions]
) -> np.ndarray:
    """Return the fair share of each look (K,) in value(all looks) - value(no look), which they add up to.

    The context is always present (or always absent): the shares are of the looks.
    """
    worth, count = _measure_all_subsets(ClassValue(trace, cls, versus, **how))
    codes = np.arange(1 << count)
    sizes = np.bitwise_count(codes)
    shares = np.empty(count)
    for look in range(count):
        without = codes[codes & (1 << look) == 0]
        weight = np.array([1.0 / (count * math.comb(count - 1, size)) for size in sizes[without]])
        shares[look] = weight @ (worth[without | (1 << look)] - worth[without])
    return shares


def interactions(
    trace: Trace, cls: int | str, versus: int | str | None = None, **how: Unpack[ValueOptions]
) -> np.ndarray:
    """Return the Shapley interaction index of every pair (K, K), zero diagonal.

    Positive: the two looks are worth more together than apart; negative: they tell the same.
    """
    worth, count = _measure_all_subsets(ClassValue(trace, cls, versus, **how))
    codes = np.arange(1 << count)
    sizes = np.bitwise_count(codes)
    table = np.zeros((count, count))
    for i in range(count):
        for j in range(i + 1, count):
            a, b = 1 << i, 1 << j
            without = codes[codes & (a | b) == 0]
            weight = np.array([1.0 / ((count - 1) * math.comb(count - 2, size)) for size in sizes[without]])
            joint = worth[without | a | b] - worth[without | a] - worth[without | b] + worth[without]
            table[i, j] = table[j, i] = weight @ joint
    return table


def _measure_all_subsets(target: ClassValue) -> tuple[np.ndarray, int]:
    """Return the value of every subset of looks, indexed by its bit code, and the number of looks."""
    count = len(target.trace.locations)
    if count > MAX_EXPLAINED_LOOKS:
        raise TNetError(f"Exact Shapley values need at most {MAX_EXPLAINED_LOOKS} looks; this trace has {count}.")
    codes = np.arange(1 << count)
    looks = codes[:, None] >> np.arange(count) & 1 == 1
    masks = np.concatenate([np.full((len(codes), 1), target.context), looks], axis=1)
    return target.measure_masks(masks), count
