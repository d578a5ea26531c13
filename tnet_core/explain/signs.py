"""Where a weight misleads: heavily weighted looks that argue against the class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tnet_core.trace import Trace


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
