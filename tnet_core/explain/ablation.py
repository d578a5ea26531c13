"""What is lost without a look, and what a few looks are good for on their own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tnet_core.explain.value import Measure, masks_of, values
from tnet_core.trace import Trace


@dataclass(frozen=True)
class LeaveOneOut:
    """How much the value falls when one look is left out (negative: it rises)."""

    full: float  # value with everything
    context: float | None  # loss without the thumbnail; None where it was not used or nothing would remain
    looks: np.ndarray  # (K,) loss without each look

    @property
    def without(self) -> list[float | None]:
        """The value that remains without the context, then without each look; None as in `context`."""
        return [None if self.context is None else self.full - self.context, *(self.full - self.looks).tolist()]


def leave_one_out(
    trace: Trace,
    cls: int | str,
    versus: int | str | None = None,
    *,
    context: bool = True,
    measure: Measure = "logit",
    **selectors: Any,
) -> LeaveOneOut:
    """Leave each selected look out in turn: its effect, which is not its contribution.

    The others are weighed anew, so effect and contribution may even differ in sign (`sign_disagreements`). Looks that
    were taken inside the one left out stay. `selectors` are those of `Trace`: k, budget or subset.
    """
    everything = trace.select(**selectors)
    subsets = [everything, *([p for p in everything if p != left_out] for left_out in everything)]
    results = values(trace, masks_of(trace, subsets, context), cls, versus, measure)
    without_context = None
    if context and everything:
        alone = values(trace, masks_of(trace, [everything], False), cls, versus, measure)[0]
        without_context = float(results[0] - alone)
    return LeaveOneOut(float(results[0]), without_context, results[0] - results[1:])


def sufficiency(
    trace: Trace,
    k: int,
    cls: int | str,
    versus: int | str | None = None,
    *,
    context: bool = True,
    measure: Measure = "probability",
) -> float:
    """Value of the first k looks alone: is this much enough for the decision?"""
    masks = masks_of(trace, [trace.select(k)], context)
    return float(values(trace, masks, cls, versus, measure)[0])


def necessity(
    trace: Trace,
    k: int,
    cls: int | str,
    versus: int | str | None = None,
    *,
    context: bool = True,
    measure: Measure = "probability",
) -> float:
    """Value lost when the first k looks are left out: was the decision in need of them?"""
    everything = trace.select()
    rest = everything[len(trace.select(k)) :]
    masks = masks_of(trace, [everything, rest], context)
    full, without = values(trace, masks, cls, versus, measure)
    return float(full - without)
