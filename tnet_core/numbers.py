"""Small numeric helpers shared by the core."""

from __future__ import annotations

import operator
from typing import Annotated, Any

import numpy as np
from pydantic import PlainSerializer, PlainValidator

from tnet_core.errors import TNetError


def check_whole(value: object, what: str, low: int | None = None, high: int | None = None) -> int:
    """Return a whole number within bounds (numpy's integers too), or a sentence that names `what`."""
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


def check_entries(value: object, what: str) -> tuple[object, ...]:
    """Return the members of a list-like value, or a sentence that names `what`."""
    try:
        if isinstance(value, (str, bytes)):
            raise TypeError
        return tuple(value)  # type: ignore[arg-type]
    except TypeError:
        raise TNetError(f"{what} must be a list of whole numbers, not {value!r:.60}.") from None


def correlate_ranks(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return Spearman's correlation of each row: (B, N) twice -> (B,); NaN where all values of a row are equal.

    Values that tie share the mean of their ranks. Those less than 1e-12 apart tie.
    """
    a, b = (_centre_ranks(values) for values in (first, second))
    length = np.sqrt((a * a).sum(1) * (b * b).sum(1))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(length > 0, (a * b).sum(1) / length, np.nan).clip(-1, 1)


def _centre_ranks(values: np.ndarray) -> np.ndarray:
    """Return twice the rank of each value minus that of the middle: the number of smaller minus that of larger ones."""
    found = np.empty(values.shape)
    for row, line in enumerate(values):
        found[row] = np.sign(np.round(line[:, None] - line[None, :], 12)).sum(1)
    return found


def softmax(logits: np.ndarray) -> np.ndarray:
    """Return the softmax along the last axis."""
    exponentials = np.exp(logits - logits.max(-1, keepdims=True))
    return exponentials / exponentials.sum(-1, keepdims=True)


def read_array(values: Any, ndim: int) -> np.ndarray:
    """Return finite float32 numbers of nested lists; a ValueError says what else was given."""
    try:
        array = np.asarray(values, dtype=np.float32)
    except (TypeError, ValueError, OverflowError):
        raise ValueError("must hold numbers, in rows of the same length") from None
    if array.ndim != ndim or not np.isfinite(array).all():
        raise ValueError(f"must hold finite numbers in {ndim} dimension{'s' * (ndim > 1)}")
    return array


def list_numbers(array: np.ndarray) -> list[Any]:
    """Return nested lists of the shortest decimals that round-trip as float32."""
    if array.ndim > 1:
        return [list_numbers(row) for row in array]
    return [float(str(value)) for value in array.astype(np.float32)]


# Arrays in files, which numpy checks: nested lists of finite numbers.
Vector = Annotated[np.ndarray, PlainValidator(lambda value: read_array(value, 1)), PlainSerializer(list_numbers)]
Matrix = Annotated[np.ndarray, PlainValidator(lambda value: read_array(value, 2)), PlainSerializer(list_numbers)]
