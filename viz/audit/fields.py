"""Signed numbers and lines of text out of a file that anybody may have written; None or nothing for anything else."""

from __future__ import annotations

from typing import Any

from viz.audit.model import Estimate

_LONGEST = 200  # characters


def signed_number(value: Any, far: float = 1.0) -> float | None:
    """In ±far."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not -far <= value <= far:
        return None
    return float(value)


def estimate(value: Any, interval: Any, far: float = 1.0) -> Estimate | None:
    """A number in ±far; an interval must have two such ends in their order."""
    number = signed_number(value, far)
    if number is None:
        return None
    ends = [signed_number(end, far) for end in interval] if isinstance(interval, list) and len(interval) == 2 else []
    if not ends or ends[0] is None or ends[1] is None or ends[0] > ends[1]:
        return Estimate(number)
    return Estimate(number, (ends[0], ends[1]))


def one_line(value: str) -> str:
    return " ".join("".join(c if c.isprintable() else " " for c in value).split())


def text(value: Any) -> str:
    """One line, not too long."""
    line = one_line(value) if isinstance(value, str) else ""
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"
