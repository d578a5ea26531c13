"""Values out of an `evaluation.json` that anybody may have written: what is not as it should be is None."""

from __future__ import annotations

from typing import Any

from viz.common.curves import Interval


def mapping(value: Any, key: str) -> dict[str, Any]:
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, dict) else {}


def items(value: Any, key: str) -> list[Any]:
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, list) else []


def number(value: Any, high: float = 1e18) -> float | None:
    """A number in 0…high."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= high:
        return None
    return float(value)


def share(value: Any) -> float | None:
    return number(value, 1.0)


def interval(value: Any) -> Interval | None:
    if not isinstance(value, list) or len(value) != 2:
        return None
    low, high = share(value[0]), share(value[1])
    return None if low is None or high is None or low > high else (low, high)


def text(value: Any, longest: int = 60) -> str:
    """One short line; empty where it is no text."""
    return " ".join(value.split())[:longest] if isinstance(value, str) else ""


def at(values: list[Any], index: int) -> Any:
    """None beyond the ends."""
    return values[index] if 0 <= index < len(values) else None
