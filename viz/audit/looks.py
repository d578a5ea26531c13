"""Which looks a faithfulness report is about, and how many."""

from __future__ import annotations

from tnet_core import Trace
from tnet_core.explain.shapley import MAX_LOOKS
from viz.budgets import opening

FEWEST = 2
_USUAL = 8


def pool(trace: Trace) -> tuple[int, ...]:
    """Positions, in the network's order, that a report may take from the front.

    Two levels: all. More: those of the trained budget, since a page takes far more, level by level.
    """
    within = trace.select(budget=opening(trace)) if trace.levels > 2 else ()
    return (within if len(within) >= FEWEST else trace.select())[:MAX_LOOKS]


def usual(trace: Trace) -> int:
    """How many to begin with: as many as in training, and at least a handful."""
    return min(len(pool(trace)), max(_USUAL, len(trace.select(budget=opening(trace)))))
