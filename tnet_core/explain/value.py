"""The value of a set of looks: one number per subset, on which every explanation here is built."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from tnet_core.errors import TNetError
from tnet_core.numbers import softmax
from tnet_core.trace import Trace

Measure = Literal["logit", "probability"]


def masks_of(trace: Trace, subsets: Sequence[Sequence[int]], context: bool) -> np.ndarray:
    """Positions in `trace.locations` -> (S, 1 + K) bool, the context in column 0."""
    masks = np.zeros((len(subsets), len(trace.locations) + 1), dtype=bool)
    masks[:, 0] = context
    for row, subset in enumerate(subsets):
        masks[row, [position + 1 for position in subset]] = True
    return masks


def values(
    trace: Trace, masks: np.ndarray, cls: int | str, versus: int | str | None = None, measure: Measure = "logit"
) -> np.ndarray:
    """Value of each subset (S, 1 + K) -> (S,): the class's logit, its lead over another, or its probability.

    With neither context nor looks the network has seen nothing: its logits are the bias.
    """
    target = trace.class_index(cls)
    rival = None if versus is None else trace.class_index(versus)
    if measure == "logit":
        if rival is None:
            return trace.aggregator.many_logits(masks, [target])[:, 0]
        logits = trace.aggregator.many_logits(masks, [target, rival])
        return logits[:, 0] - logits[:, 1]
    if measure != "probability":
        raise TNetError(f"A measure is 'logit' or 'probability', not {measure!r:.40}.")
    probabilities = softmax(trace.aggregator.many_logits(masks))
    return probabilities[:, target] - (0.0 if rival is None else probabilities[:, rival])
