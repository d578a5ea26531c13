"""Where a number misleads about a look: its weight about its contribution, its contribution about its effect."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tnet_core.explain.ablation import leave_one_out
from tnet_core.explain.value import Measure
from tnet_core.trace import Trace

_NOTHING = 1e-6  # smaller effects and contributions are rounding


@dataclass(frozen=True)
class SignViolation:
    look: int | None  # position in `trace.locations`; None: the context
    weight: float
    contribution: float  # negative


def sign_violations(
    trace: Trace, cls: int | str, versus: int | str | None = None, **selectors: Any
) -> list[SignViolation]:
    """Looks with more than an even share of the weight and a negative contribution, worst first.

    Compare with a rival class (`versus`) where logits have no common zero.
    """
    shares = trace.contributions(cls, versus, **selectors)
    weights = trace.weights(**selectors)
    even = 1.0 / len(weights)
    # Uniform weights are all exactly even: none of them is high. The margin absorbs rounding.
    found = [
        SignViolation(look, float(weight), float(value))
        for look, weight, value in zip(shares.looks, weights, shares.values, strict=True)
        if weight > even * (1 + 1e-5) and value < 0
    ]
    return sorted(found, key=lambda violation: violation.contribution)


@dataclass(frozen=True)
class SignDisagreement:
    look: int | None  # position in `trace.locations`; None: the context
    contribution: float  # exact share of the logit, or of the lead over a rival
    effect: float  # of the other sign: the value with everything minus the value without this look


def sign_disagreements(
    trace: Trace, cls: int | str, versus: int | str | None = None, *, measure: Measure = "logit", **selectors: Any
) -> list[SignDisagreement]:
    """Looks that add to the class in the sum and yet lower it, or the other way round; greatest effect first.

    Without a look the others are weighed anew, so what it contributes is not what it changes.
    """
    shares = trace.contributions(cls, versus, **selectors)
    left_out = leave_one_out(trace, cls, versus, measure=measure, **selectors)
    effects = [*([left_out.context] if None in shares.looks else []), *left_out.looks]
    found = [
        SignDisagreement(look, float(share), float(effect))
        for look, share, effect in zip(shares.looks, shares.values, effects, strict=True)
        if effect is not None and differ_in_sign(share, effect)
    ]
    return sorted(found, key=lambda one: -abs(one.effect))


def differ_in_sign(one: float, other: float) -> bool:
    """Return whether two numbers have opposite signs; one that is zero but for rounding has none."""
    return min(abs(one), abs(other)) > _NOTHING and (one > 0) != (other > 0)
