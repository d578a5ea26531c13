"""Reads values out of an `evaluation.json` that anybody may have written: what is not as it should be is None."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tnet_core.checkpoints import Evaluation
from viz.common.curves import Interval

_MAX_LINE = 200  # characters of a text


@dataclass(frozen=True)
class Estimate:
    """A number and, where it was stated, its interval."""

    value: float
    interval: tuple[float, float] | None = None

    @property
    def is_clear(self) -> bool:
        """Whether the interval leaves no doubt about the sign."""
        return self.interval is not None and (self.interval[0] > 0 or self.interval[1] < 0)


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


def read_text(value: Any) -> str:
    """Return one line, not too long; empty where it is no text."""
    line = clean_line(value) if isinstance(value, str) else ""
    return line if len(line) <= _MAX_LINE else line[: _MAX_LINE - 1] + "…"


def item_at(values: list[Any], index: int) -> Any:
    """Return the item at `index`, None beyond the ends."""
    return values[index] if 0 <= index < len(values) else None


def is_agreement(evaluation: Evaluation) -> bool:
    """Whether the labels were the backbone's own answers for whole images: then nothing is known about accuracy."""
    return "agreement" in evaluation.raw


def read_signed_number(value: Any, far: float = 1.0) -> float | None:
    """Return a number in ±far."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not -far <= value <= far:
        return None
    return float(value)


def read_estimate(value: Any, interval: Any, far: float = 1.0) -> Estimate | None:
    """Return a number in ±far; an interval must have two such ends in their order."""
    number = read_signed_number(value, far)
    if number is None:
        return None
    ends = (
        [read_signed_number(end, far) for end in interval] if isinstance(interval, list) and len(interval) == 2 else []
    )
    if not ends or ends[0] is None or ends[1] is None or ends[0] > ends[1]:
        return Estimate(number)
    return Estimate(number, (ends[0], ends[1]))


def clean_line(value: str) -> str:
    """Return the text in one line, without characters that cannot be printed."""
    return " ".join("".join(c if c.isprintable() else " " for c in value).split())
