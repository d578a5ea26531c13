"""JSON from files nobody vouches for: bounded, without duplicates, NaN, deep nesting or broken text."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from tnet_core.checkpoints.files import read_bounded, reason
from tnet_core.errors import TNetError

MAX_DEPTH = 32


def read_json(path: Path, limit: int) -> Any:
    """The value in a JSON file of at most `limit` bytes."""
    data = read_bounded(path, limit)
    try:
        return parse_json(data)
    except TNetError as error:
        raise TNetError(f"'{path}' cannot be used: {error}") from None


def parse_json(data: bytes) -> Any:
    try:
        value = json.loads(
            data.decode("utf-8"), object_pairs_hook=_unique, parse_float=_finite, parse_constant=_no_constant
        )
    except TNetError:
        raise
    except UnicodeDecodeError:
        raise TNetError("it is not UTF-8 text.") from None
    except RecursionError:
        raise TNetError(f"it is nested deeper than {MAX_DEPTH} levels.") from None
    except ValueError as error:
        raise TNetError(f"it is not valid JSON ({reason(error)}).") from None
    check_json(value)
    return value


def check_json(value: Any) -> None:
    """Refuse what a later writer or terminal could not handle, and what is not JSON at all."""
    pending = [(value, 1)]
    while pending:
        item, depth = pending.pop()
        if depth > MAX_DEPTH:
            raise TNetError(f"it is nested deeper than {MAX_DEPTH} levels.")
        if isinstance(item, str):
            _check_text(item)
        elif isinstance(item, dict):
            for key, child in item.items():
                if not isinstance(key, str):
                    raise TNetError(f"it has the key {key!r:.40}, which is not text.")
                _check_text(key)
                pending.append((child, depth + 1))
        elif isinstance(item, (list, tuple)):
            pending += [(child, depth + 1) for child in item]
        elif isinstance(item, float):
            if not math.isfinite(item):
                raise TNetError("it holds a number that is not finite.")
        elif item is not None and not isinstance(item, (bool, int)):
            raise TNetError(f"it holds a value of type '{type(item).__name__}', which JSON does not know.")


def _check_text(text: str) -> None:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:  # half of a surrogate pair, written as an escape
        raise TNetError("it holds text that is not valid Unicode.") from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise TNetError(f"it has the key {twice!r:.40} more than once.")
    return found


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise TNetError(f"the number {text[:40]} is too large.")
    return value


def _no_constant(text: str) -> float:
    raise TNetError(f"{text} is not a JSON number.")
