"""The value of a set of looks: one number per subset, on which every explanation here is built."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypedDict

import numpy as np

from tnet_core.errors import TNetError
from tnet_core.stopping import compute_probabilities
from tnet_core.trace import Trace

Measure = Literal["logit", "probability"]


class ValueOptions(TypedDict, total=False):
    """The options of a `ClassValue`."""

    context: bool
    measure: Measure


IN_PROBABILITIES: ValueOptions = {"measure": "probability"}  # unless a caller says otherwise


@dataclass(frozen=True)
class ClassValue:
    """What a set of looks is asked for: a class's logit or probability, or its lead over a rival's."""

    trace: Trace
    cls: int | str
    versus: int | str | None = None
    context: bool = True  # whether the thumbnail is there all the time
    measure: Measure = "logit"

    def measure_sets(self, subsets: Sequence[Sequence[int]]) -> np.ndarray:
        """Return the value of each set of positions in `trace.locations`: (S,)."""
        masks = np.zeros((len(subsets), len(self.trace.locations) + 1), dtype=bool)
        masks[:, 0] = self.context
        for row, subset in enumerate(subsets):
            masks[row, [position + 1 for position in subset]] = True
        return self.measure_masks(masks)

    def measure_masks(self, masks: np.ndarray) -> np.ndarray:
        """Return the value of each subset (S, 1 + K), the context in column 0: (S,).

        With neither context nor looks the network has seen nothing: its logits are the bias.
        """
        trace, target = self.trace, self.trace.class_index(self.cls)
        rival = None if self.versus is None else trace.class_index(self.versus)
        if self.measure == "logit":
            logits = trace.aggregator.many_logits(masks, [target] if rival is None else [target, rival])
            return logits[:, 0] - (0.0 if rival is None else logits[:, 1])
        if self.measure != "probability":
            raise TNetError(f"A measure is 'logit' or 'probability', not {self.measure!r:.40}.")
        probabilities = compute_probabilities(trace.aggregator.many_logits(masks), trace.temperature or 1.0)
        return probabilities[:, target] - (0.0 if rival is None else probabilities[:, rival])
