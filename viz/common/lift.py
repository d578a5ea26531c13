"""Lift over uniform: how a location distribution is shown, and the ends of its scale."""

from __future__ import annotations

import math


def lift_bounds(cells: int) -> tuple[float, float]:
    """Smallest and largest lift possible when logits have unit length.

    The extreme is one cell against all others being equal: their logits then differ by sqrt(n / (n - 1)).
    """
    ratio = math.exp(math.sqrt(cells / (cells - 1)))
    return tuple(cells * r / (r + cells - 1) for r in (1 / ratio, ratio))  # type: ignore[return-value]
