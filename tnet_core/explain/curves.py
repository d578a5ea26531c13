"""Insertion and deletion curves over looks in any order, and orders to hold the network's own against.

A look's feature vector does not depend on the others, so an order may name a look before the one it lies in.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Unpack

import numpy as np

from tnet_core.errors import TNetError
from tnet_core.explain.value import IN_PROBABILITIES, ClassValue, ValueOptions
from tnet_core.numbers import check_whole
from tnet_core.trace import Trace


def insertion(
    trace: Trace,
    cls: int | str,
    order: Sequence[int] | None = None,
    versus: int | str | None = None,
    **how: Unpack[ValueOptions],
) -> np.ndarray:
    """Return the value after adding 0, 1, …, K looks in the given order (default: the network's): (K + 1,)."""
    chosen = _check_order(trace, order)
    target = ClassValue(trace, cls, versus, **(IN_PROBABILITIES | how))
    return target.measure_sets([chosen[:count] for count in range(len(chosen) + 1)])


def deletion(
    trace: Trace,
    cls: int | str,
    order: Sequence[int] | None = None,
    versus: int | str | None = None,
    **how: Unpack[ValueOptions],
) -> np.ndarray:
    """Return the value after taking 0, 1, …, K looks away in the given order (default: the network's): (K + 1,)."""
    chosen = _check_order(trace, order)
    target = ClassValue(trace, cls, versus, **(IN_PROBABILITIES | how))
    return target.measure_sets([chosen[count:] for count in range(len(chosen) + 1)])


def _check_order(trace: Trace, order: Sequence[int] | None) -> tuple[int, ...]:
    if order is None:
        return trace.select()
    chosen = trace.select(subset=order)
    if len(chosen) != len(trace.locations):
        raise TNetError(f"An order must name each of the {len(trace.locations)} looks once.")
    return chosen


Order = tuple[int, ...]  # positions in `trace.locations`, each once


def greedy_insertion(trace: Trace, cls: int | str, *, context: bool = True) -> Order:
    """Return the order in which each look, added to those before it, gives the class the most probability.

    Ties go to the first look.
    """
    return _greedy(trace, cls, context, adding=True)


def greedy_deletion(trace: Trace, cls: int | str, *, context: bool = True) -> Order:
    """Return the order in which each look is the one without which the class has the least probability left."""
    return _greedy(trace, cls, context, adding=False)


def _greedy(trace: Trace, cls: int | str, context: bool, adding: bool) -> Order:
    order: list[int] = []
    waiting = list(range(len(trace.locations)))
    while waiting:
        subsets = [[*order, look] if adding else [other for other in waiting if other != look] for look in waiting]
        found = ClassValue(trace, cls, None, context, "probability").measure_sets(subsets)
        order.append(waiting.pop(int(found.argmax() if adding else found.argmin())))
    return tuple(order)


def random_orders(trace: Trace, count: int, seed: int = 0) -> np.ndarray:
    """Return seeded shuffles of all looks: (count, K)."""
    generator = np.random.default_rng(check_whole(seed, "A seed", 0))
    everything = np.tile(np.arange(len(trace.locations)), (check_whole(count, "A number of orders", 1), 1))
    return generator.permuted(everything, axis=1)
