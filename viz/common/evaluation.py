"""Reads values out of an `evaluation.json` that anybody may have written: what is not as it should be is None."""

from __future__ import annotations

from typing import Any

from tnet_core.checkpoints import Evaluation
from viz.common.curves import Interval


def read_mapping(value: Any, key: str) -> dict[str, Any]:
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, dict) else {}


def read_list(value: Any, key: str) -> list[Any]:
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, list) else []


def read_number(value: Any, high: float = 1e18) -> float | None:
    """Return a number in 0…high."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= high:
        return None
    return float(value)


def read_share(value: Any) -> float | None:
    return read_number(value, 1.0)


def read_interval(value: Any) -> Interval | None:
    if not isinstance(value, list) or len(value) != 2:
        return None
    low, high = read_share(value[0]), read_share(value[1])
    return None if low is None or high is None or low > high else (low, high)


def read_text(value: Any, longest: int = 60) -> str:
    """Return one short line; empty where it is no text."""
    return " ".join(value.split())[:longest] if isinstance(value, str) else ""


def item_at(values: list[Any], index: int) -> Any:
    """Return the item at `index`, None beyond the ends."""
    return values[index] if 0 <= index < len(values) else None


def is_agreement(evaluation: Evaluation) -> bool:
    """Whether the labels were the backbone's own answers for whole images: then nothing is known about accuracy."""
    return "agreement" in evaluation.raw
