"""Adaptive stopping: how many looks this image would have needed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tnet_core.errors import TNetError
from tnet_core.numbers import softmax
from tnet_core.trace import Trace


@dataclass(frozen=True)
class Stop:
    """Where a traversal would have stopped."""

    k: int  # looks taken
    prediction: int
    margins: np.ndarray  # (K + 1,) probability of the first class minus that of the second, for every k
    flops: int  # spent up to k
    flops_saved: int  # of the whole run
    reached: bool  # False: the threshold was never exceeded and all looks were taken


def adaptive_stop(trace: Trace, threshold: float) -> Stop:
    """Stop after the first k looks whose margin between the two best classes exceeds the threshold."""
    if not isinstance(threshold, (int, float)) or not 0.0 <= threshold <= 1.0:
        raise TNetError(f"A stopping threshold is a probability margin in 0…1, not {threshold!r:.40}.")
    count = len(trace.locations)
    # Prefixes need no model, so this also works on a trace read from a file.
    logits = np.stack([trace.logits(k) for k in range(count + 1)]).astype(np.float64)
    probabilities = softmax(logits)
    best = np.sort(probabilities, axis=1)[:, ::-1]
    margins = best[:, 0] - (best[:, 1] if best.shape[1] > 1 else 0.0)
    above = np.flatnonzero(margins > threshold)
    k = int(above[0]) if len(above) else count
    spent, total = trace.cost(k).flops, trace.cost().flops
    return Stop(k, int(probabilities[k].argmax()), margins, spent, total - spent, bool(len(above)))
