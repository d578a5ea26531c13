"""JSON and YAML from files nobody vouches for: without duplicates, NaN, anchors, deep nesting or broken text.

pydantic reads JSON too, but takes the last of two equal keys and NaN where any value may stand.
"""

from __future__ import annotations

import json
import math
from typing import Any

import yaml

from tnet_core.errors import TNetError, reason

MAX_DEPTH = 32
_MAX_YAML_PARTS = 30_000  # an entry of the registry has about sixty


def parse_json(data: bytes) -> Any:
    """Return the value of a JSON text; the error begins with 'it'."""
    try:
        value = json.loads(
            data.decode("utf-8"),
            object_pairs_hook=_refuse_duplicates,
            parse_float=_parse_finite,
            parse_constant=_refuse_nan,
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


def _refuse_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise TNetError(f"it has the key {twice!r:.40} more than once.")
    return found


def _parse_finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise TNetError(f"the number {text[:40]} is too large.")
    return value


def _refuse_nan(text: str) -> float:
    raise TNetError(f"{text} is not a JSON number.")


class StrictYaml(yaml.BaseLoader):
    """What all loaders refuse. This one converts nothing: a commit of digits only stays a text."""

    _depth = _parts = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        event = self.peek_event()
        # An anchor that is repeated often enough fills any memory, so there are none.
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            raise _refuse(event, "anchors and aliases (& and *) are not allowed")
        self._parts += 1
        if self._parts > _MAX_YAML_PARTS:
            raise _refuse(event, "it has too many parts")
        if self._depth >= MAX_DEPTH:
            raise _refuse(event, f"it is nested deeper than {MAX_DEPTH} levels")
        self._depth += 1
        node = super().compose_node(parent, index)
        self._depth -= 1
        return node

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise _refuse(key, "a list or mapping is used as a key")
            if key.value in seen:
                raise _refuse(key, f"the key {key.value!r:.40} appears twice")
            seen.add(key.value)
        return super().construct_mapping(node, deep)


def _refuse(place: Any, problem: str) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(problem=problem, problem_mark=place.start_mark)


def parse_yaml(data: str | bytes, loader: type[StrictYaml] = StrictYaml) -> Any:
    """Return the value of a YAML text; the error begins with 'it'."""
    try:
        return yaml.load(data.decode("utf-8") if isinstance(data, bytes) else data, Loader=loader)
    except UnicodeDecodeError:
        raise TNetError("it is not UTF-8 text.") from None
    except (yaml.YAMLError, ValueError, OverflowError, RecursionError) as error:
        problem = getattr(error, "problem", None) or reason(error)
        mark = getattr(error, "problem_mark", None)
        where = f" (line {mark.line + 1})" if mark else ""
        raise TNetError(f"it is not valid YAML: {problem}{where}.") from None
