"""Names of classes as a person writes them."""

from __future__ import annotations

import re

from tnet_core import Trace

_LONGEST = 40  # characters; what is longer does not fit beside its number


def class_name(trace: Trace, cls: int) -> str:
    """'Black footed Albatross' for '001.Black_footed_Albatross', the first of several synonyms; plain text."""
    name = re.sub(r"^\d+[._ ]+(?=\D)", "", trace.class_name(cls))
    words = name.replace("_", " ").partition(",")[0].strip() or trace.class_name(cls)
    return words if len(words) <= _LONGEST else words[: _LONGEST - 1].rstrip() + "…"
