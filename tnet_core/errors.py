"""The one exception family for mistakes a user can make, and other libraries' errors as parts of its sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pydantic import ValidationError

UNKNOWN = " is not a known field"
# pydantic's kinds of errors -> what the value should have been
_EXPECTED = {
    "bool_type": "true or false",
    "dataclass_type": "a mapping of fields",
    "dict_type": "a mapping",
    "finite_number": "a finite number",
    "float_type": "a number",
    "greater_than": "more than {gt}",
    "greater_than_equal": "at least {ge}",
    "int_type": "a whole number",
    "less_than": "less than {lt}",
    "less_than_equal": "at most {le}",
    "list_type": "a list",
    "literal_error": "{expected}",
    "model_type": "a mapping of fields",
    "string_type": "a text",
    "too_long": "at most {max_length} values",
    "too_short": "at least {min_length} values",
    "tuple_type": "a list",
}


class TNetError(ValueError):
    """Says in one sentence what was wrong and what to do; shown to users as it is."""


def reason(error: BaseException) -> str:
    """Return the cause of an error in a few words, on one line, without a full stop."""
    text = (error.strerror if isinstance(error, OSError) else None) or str(error) or type(error).__name__
    return text.strip().splitlines()[0][:200].rstrip(". ") if text.strip() else type(error).__name__


def find_problem(error: ValidationError) -> tuple[str, str]:
    """Return the first field a schema refused, such as 'budgets[0].top1' (empty: the whole), and what follows its name.

    That is ' is missing' or ' is 7, but must be at most 1'. A validator of ours says it in its own words, after a colon
    where they are not a clause.
    """
    first = error.errors(include_url=False)[0]
    kind, value, context = first["type"], first["input"], first.get("ctx", {})
    parts = [f"[{part}]" if isinstance(part, int) else f".{part}" for part in first["loc"] if part != "[key]"]
    field = "".join(parts)[:120].lstrip(".")
    if kind == "missing":
        return field, " is missing"
    if kind in ("extra_forbidden", "unexpected_keyword_argument"):
        return field, UNKNOWN
    if kind == "value_error":
        words = str(context["error"]).rstrip(".")
        return field, f" {words}" if words[:1].islower() else f": {words}"
    limits = {name: int(end) if isinstance(end, float) and end.is_integer() else end for name, end in context.items()}
    expected = _EXPECTED[kind].format_map(limits) if kind in _EXPECTED else f"another value ({first['msg']})"
    return field, f" is {value!r:.60}, but must be {expected}"


def state_problem(error: ValidationError, subject: str = "its field ") -> str:
    """Return the sentence about the first problem that a schema found, such as "its field 'top1' is missing."."""
    field, problem = find_problem(error)
    return f"{subject}'{field}'{problem}." if field else f"it{problem}."
