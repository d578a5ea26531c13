"""The fixed parts of the page and its one-line messages, as escaped HTML."""

from __future__ import annotations

import base64
import html
import re
from collections.abc import Sequence

MASTHEAD = (
    '<header class="tn-masthead"><h1>TNet Explorer</h1>'
    "<p>Watch a classifier decide where to look, and see what each look changed.</p></header>"
)

UNTRAINED = (
    '<p class="tn-notice" role="note"><strong>Untrained weights.</strong> This network was initialised at random: '
    "where it looks and what it scores mean nothing yet. The page shows how a decision is put together.</p>"
)


def problem(sentence: str) -> str:
    """What went wrong, for a screen reader at once; what is on the page stays."""
    return warning(f"{sentence} What is shown below is unchanged.")


def warning(sentence: str) -> str:
    """One sentence about something that is not as it was asked for, or nothing."""
    return f'<p class="tn-problem" role="alert">{html.escape(sentence)}</p>' if sentence else ""


def complaints(sentences: Sequence[str]) -> str:
    """What could not be used when the app started; what can be used is on the page."""
    return "".join(f'<p class="tn-notice" role="note">{html.escape(sentence)}</p>' for sentence in sentences)


def format_file_name(name: str) -> str:
    """Return a name that every file system takes: lower-case letters, digits and hyphens."""
    return re.sub(r"[^a-z0-9]+", "-", name.casefold()).strip("-")[:60] or "data"


def render_download(text: str, file: str, media_type: str, label: str, css_class: str) -> str:
    """Render a link that holds the file, so that no file is kept anywhere."""
    data = base64.b64encode(text.encode("utf-8")).decode("ascii")
    return f'<a class="{css_class}" download="{html.escape(file)}" href="data:{media_type};base64,{data}">{label}</a>'
