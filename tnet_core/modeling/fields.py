"""Whether a value read from a file has the type that a dataclass field declares."""

from __future__ import annotations

import math
import typing
from typing import Any, Literal


def fits(value: Any, hint: Any) -> bool:
    """True when `value` is of the declared type; whole numbers are accepted for floats."""
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if hint is Any:
        return True
    if origin is Literal:
        return isinstance(value, str) and value in args
    if origin is tuple:
        if not isinstance(value, tuple):
            return False
        if args[-1] is Ellipsis:
            return all(fits(item, args[0]) for item in value)
        return len(value) == len(args) and all(fits(v, a) for v, a in zip(value, args, strict=True))
    if origin is dict:
        return isinstance(value, dict) and all(fits(k, args[0]) and fits(v, args[1]) for k, v in value.items())
    if args:  # X | None
        return any(fits(value, option) for option in args)
    if hint is float:
        if isinstance(value, int):  # a whole number too large for a float is none of ours
            return not isinstance(value, bool) and abs(value) < 2**53
        return isinstance(value, float) and math.isfinite(value)
    if hint is int:
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, hint)


def described(hint: Any) -> str:
    """A declared type in words a user can read: "int", "tuple[int, ...]", "one of 'a', 'b'"."""
    if typing.get_origin(hint) is Literal:
        return "one of " + ", ".join(repr(option) for option in typing.get_args(hint))
    return str(getattr(hint, "__name__", hint) if not typing.get_args(hint) else hint).replace("typing.", "")
