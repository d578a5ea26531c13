"""What is lost without a look, what a few looks are good for on their own, and which numbers mislead about a look."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Unpack

import numpy as np

from tnet_core.explain.value import IN_PROBABILITIES, ClassValue, Measure, ValueOptions
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
    measure: Measure = "logit",
    **selectors: Any,
) -> LeaveOneOut:
    """Leave each selected look out in turn: its effect, which is not its contribution.

    The others are weighed anew, so effect and contribution may even differ in sign (`sign_disagreements`). Looks that
    were taken inside the one left out stay. `selectors` are those of `Trace`: k, budget or subset; context.
    """
    context = selectors.pop("context", True)
    everything = trace.select(**selectors)
    subsets = [everything, *([p for p in everything if p != left_out] for left_out in everything)]
    target = ClassValue(trace, cls, versus, context, measure)
    results = target.measure_sets(subsets)
    without_context = None
    if context and everything:
        without_context = float(results[0] - replace(target, context=False).measure_sets([everything])[0])
    return LeaveOneOut(float(results[0]), without_context, results[0] - results[1:])


def sufficiency(
    trace: Trace, k: int, cls: int | str, versus: int | str | None = None, **how: Unpack[ValueOptions]
) -> float:
    """Return the value of the first k looks alone: is this much enough for the decision?"""
    return float(ClassValue(trace, cls, versus, **(IN_PROBABILITIES | how)).measure_sets([trace.select(k)])[0])


def necessity(
    trace: Trace, k: int, cls: int | str, versus: int | str | None = None, **how: Unpack[ValueOptions]
) -> float:
    """Return the value lost when the first k looks are left out: was the decision in need of them?"""
    everything = trace.select()
    rest = everything[len(trace.select(k)) :]
    full, without = ClassValue(trace, cls, versus, **(IN_PROBABILITIES | how)).measure_sets([everything, rest])
    return float(full - without)


_NOTHING = 1e-6  # smaller effects and contributions are rounding


@dataclass(frozen=True)
class SignViolation:
    look: int | None  # position in `trace.locations`; None: the context
    weight: float
    contribution: float  # negative


def sign_violations(
    trace: Trace, cls: int | str, versus: int | str | None = None, **selectors: Any
) -> list[SignViolation]:
    """List looks with more than an even share of the weight and a negative contribution, worst first.

    Compare with a rival class (`versus`) where logits have no common zero.
    """
    shares = trace.contributions(cls, versus, **selectors)
    weights = trace.weights(**selectors)
    even = 1.0 / len(weights)
    # Uniform weights are all exactly even: none of them is high. The margin absorbs rounding.
    rows = map(SignViolation, shares.looks, weights.tolist(), shares.values.tolist())
    found = (row for row in rows if row.weight > even * (1 + 1e-5) and row.contribution < 0)
    return sorted(found, key=lambda row: row.contribution)


@dataclass(frozen=True)
class SignDisagreement:
    look: int | None  # position in `trace.locations`; None: the context
    contribution: float  # exact share of the logit, or of the lead over a rival
    effect: float  # of the other sign: the value with everything minus the value without this look


def sign_disagreements(
    trace: Trace, cls: int | str, versus: int | str | None = None, *, measure: Measure = "logit", **selectors: Any
) -> list[SignDisagreement]:
    """List looks that add to the class in the sum and yet lower it, or the other way round; greatest effect first.

    Without a look the others are weighed anew, so what it contributes is not what it changes.
    """
    shares = trace.contributions(cls, versus, **selectors)
    left_out = leave_one_out(trace, cls, versus, measure=measure, **selectors)
    effects = [*([left_out.context] if None in shares.looks else []), *left_out.looks.tolist()]
    rows = zip(shares.looks, shares.values.tolist(), effects, strict=True)
    found = (SignDisagreement(look, share, effect) for look, share, effect in rows if effect is not None)
    return sorted(
        (row for row in found if differ_in_sign(row.contribution, row.effect)), key=lambda row: -abs(row.effect)
    )


def differ_in_sign(one: float, other: float) -> bool:
    """Return whether two numbers have opposite signs; one that is zero but for rounding has none."""
    return min(abs(one), abs(other)) > _NOTHING and (one > 0) != (other > 0)
