"""Rank correlation: of what two networks think of the cells of a grid, and of the order in which looks were taken."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tnet_core.trace import Trace


@dataclass(frozen=True)
class RankCorrelation:
    """-1 for the opposite order, 0 for no relation, 1 for the same order."""

    spearman: float
    kendall: float


def average_ranks(values: Sequence[float] | np.ndarray) -> np.ndarray:
    """1 for the smallest; values that tie share the mean of their ranks: float64 (N,)."""
    flat = np.asarray(values, dtype=np.float64).ravel()
    _, group, counts = np.unique(flat, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return (last - (counts - 1) / 2)[group]


def spearman(x: Sequence[float] | np.ndarray, y: Sequence[float] | np.ndarray) -> float | None:
    """Pearson's correlation of average ranks; None where one of them does not vary."""
    a, b = (ranks - ranks.mean() for ranks in (average_ranks(x), average_ranks(y)))
    scale = np.sqrt((a @ a) * (b @ b))
    return None if scale == 0 else float(np.clip((a @ b) / scale, -1, 1))


def kendall(x: Sequence[float] | np.ndarray, y: Sequence[float] | np.ndarray) -> float | None:
    """Tau-b, which allows for ties: concordant minus discordant pairs; None where one of them does not vary."""
    a, b = (np.asarray(values, dtype=np.float64).ravel() for values in (x, y))
    upper = np.triu_indices(len(a), 1)
    first = np.sign(a[:, None] - a[None, :])[upper]
    second = np.sign(b[:, None] - b[None, :])[upper]
    scale = np.sqrt(np.count_nonzero(first) * np.count_nonzero(second))
    return None if scale == 0 else float((first @ second) / scale)


def score_correlation(a: Trace, b: Trace) -> RankCorrelation | None:
    """Of the location logits of the first grid; None where grids differ in size or one is flat."""
    if not a.distributions or not b.distributions or a.config.grid != b.config.grid:
        return None
    return _both(a.distributions[0].logits, b.distributions[0].logits)


def order_correlation(a: Trace, b: Trace) -> RankCorrelation | None:
    """Of the order in which cells of the first grid were looked at; those that were not tie for the last place."""
    if a.config.grid != b.config.grid:
        return None
    return _both(_turns(a), _turns(b))


def _turns(trace: Trace) -> np.ndarray:
    """(cells,) when each cell of the first grid was looked at."""
    taken = [look.index for look in trace.locations if look.parent is None]
    turns = np.full(trace.config.cells, len(taken))
    turns[taken] = np.arange(len(taken))
    return turns


def _both(x: np.ndarray, y: np.ndarray) -> RankCorrelation | None:
    rho, tau = spearman(x, y), kendall(x, y)
    return None if rho is None or tau is None else RankCorrelation(rho, tau)
