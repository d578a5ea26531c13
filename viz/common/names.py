"""Names of classes as a person writes them."""

from __future__ import annotations

import re

from tnet_core import Trace

_LONGEST = 40  # characters; what is longer does not fit beside its number


def class_name(trace: Trace, cls: int) -> str:
    """'Black footed Albatross' for '001.Black_footed_Albatross', the first of several synonyms; plain text."""
    return readable(trace.class_name(cls))


def class_names(trace: Trace) -> list[str]:
    """Of all classes, in their order."""
    return [class_name(trace, cls) for cls in range(len(trace.bias))]


def readable(name: str) -> str:
    bare = re.sub(r"^\d+[._ ]+(?=\D)", "", name)
    words = bare.replace("_", " ").partition(",")[0].strip() or name
    return words if len(words) <= _LONGEST else words[: _LONGEST - 1].rstrip() + "…"


def labelled(names: tuple[str, ...], label: str) -> int | None:
    """The class that a label means, written as the class or as its readable name; None if there is none."""
    wanted = label.casefold()
    return next((cls for cls, name in enumerate(names) if wanted in (name.casefold(), readable(name).casefold())), None)
