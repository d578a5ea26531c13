"""Orders to hold the network's own against: the best one found with hindsight, and chance.

A look's feature vector does not depend on the others, so an order may name a look before the one it lies in.
"""

from __future__ import annotations

import numpy as np

from tnet_core.explain.value import masks_of, values
from tnet_core.numbers import whole
from tnet_core.trace import Trace

Order = tuple[int, ...]  # positions in `trace.locations`, each once


def greedy_insertion(trace: Trace, cls: int | str, *, context: bool = True) -> Order:
    """Each look is the one that, added to those before it, gives the class the most probability; ties to the first."""
    return _greedy(trace, cls, context, adding=True)


def greedy_deletion(trace: Trace, cls: int | str, *, context: bool = True) -> Order:
    """Each look is the one without which the class has the least probability left; ties to the first."""
    return _greedy(trace, cls, context, adding=False)


def _greedy(trace: Trace, cls: int | str, context: bool, adding: bool) -> Order:
    order: list[int] = []
    waiting = list(range(len(trace.locations)))
    while waiting:
        subsets = [[*order, look] if adding else [other for other in waiting if other != look] for look in waiting]
        found = values(trace, masks_of(trace, subsets, context), cls, measure="probability")
        order.append(waiting.pop(int(found.argmax() if adding else found.argmin())))
    return tuple(order)


def random_orders(trace: Trace, count: int, seed: int = 0) -> np.ndarray:
    """Seeded shuffles of all looks: (count, K)."""
    generator = np.random.default_rng(whole(seed, "A seed", 0))
    everything = np.tile(np.arange(len(trace.locations)), (whole(count, "A number of orders", 1), 1))
    return generator.permuted(everything, axis=1)
