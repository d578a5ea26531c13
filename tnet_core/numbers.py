"""Small numeric helpers shared by the core."""

from __future__ import annotations

import operator

import numpy as np

from tnet_core.errors import TNetError


def whole(value: object, what: str, low: int | None = None, high: int | None = None) -> int:
    """A whole number within bounds (numpy's integers too), or a sentence that names `what`."""
    try:
        if isinstance(value, (bool, np.bool_)):
            raise TypeError
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise TNetError(f"{what} must be a whole number, not {value!r:.60}.") from None
    if (low is not None and number < low) or (high is not None and number > high):
        if low is not None and high is not None and high < low:
            raise TNetError(f"{what} is {number}, but there is none to choose.")
        bounds = f"in {low}…{high}" if high is not None else f"at {low} or above"
        raise TNetError(f"{what} is {number}, but must lie {bounds}.")
    return number


def entries(value: object, what: str) -> tuple[object, ...]:
    """The members of a list-like value, or a sentence that names `what`."""
    try:
        if isinstance(value, (str, bytes)):
            raise TypeError
        return tuple(value)  # type: ignore[arg-type]
    except TypeError:
        raise TNetError(f"{what} must be a list of whole numbers, not {value!r:.60}.") from None


def softmax(logits: np.ndarray) -> np.ndarray:
    """Along the last axis."""
    exponentials = np.exp(logits - logits.max(-1, keepdims=True))
    return exponentials / exponentials.sum(-1, keepdims=True)
