"""Insertion and deletion curves over looks, in any order."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tnet_core.errors import TNetError
from tnet_core.explain.value import Measure, masks_of, values
from tnet_core.trace import Trace


def insertion(
    trace: Trace,
    cls: int | str,
    order: Sequence[int] | None = None,
    *,
    versus: int | str | None = None,
    context: bool = True,
    measure: Measure = "probability",
) -> np.ndarray:
    """Value after adding 0, 1, …, K looks in the given order (default: the network's): (K + 1,)."""
    chosen = _checked(trace, order)
    subsets = [chosen[:count] for count in range(len(chosen) + 1)]
    return values(trace, masks_of(trace, subsets, context), cls, versus, measure)


def deletion(
    trace: Trace,
    cls: int | str,
    order: Sequence[int] | None = None,
    *,
    versus: int | str | None = None,
    context: bool = True,
    measure: Measure = "probability",
) -> np.ndarray:
    """Value after taking 0, 1, …, K looks away in the given order (default: the network's): (K + 1,)."""
    chosen = _checked(trace, order)
    subsets = [chosen[count:] for count in range(len(chosen) + 1)]
    return values(trace, masks_of(trace, subsets, context), cls, versus, measure)


def _checked(trace: Trace, order: Sequence[int] | None) -> tuple[int, ...]:
    if order is None:
        return trace.select()
    chosen = trace.select(subset=order)
    if len(chosen) != len(trace.locations):
        raise TNetError(f"An order must name each of the {len(trace.locations)} looks once.")
    return chosen
