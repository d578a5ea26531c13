"""What all tabs share of the page: its head, its fixed parts, and its one-line messages as escaped HTML."""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence
from pathlib import Path

from viz.common.style import ACCENT
from viz.common.templates import render_macro
from viz.web.modules import build_web_head

_VIZ = Path(__file__).parents[1]
_SHEETS = (
    "common/page.css",
    "explore/explore.css",
    "explore/export.css",
    "explore/zoom.css",
    "explore/tour.css",
    "explore/game.css",
    "accuracy/accuracy.css",
    "compare/compare.css",
    "audit/audit.css",
    "what_if/what_if.css",
    "your_data/your_data.css",
)


def build_page_head() -> str:
    """Return the page's style sheets, the accent as a variable before them, and what loads its code.

    They go into the document's head: Gradio rewrites the selectors of a sheet it is given as such.
    """
    sheets = "\n".join((_VIZ / name).read_text(encoding="utf-8") for name in _SHEETS)
    return f"{build_web_head()}<style>.gradio-container {{ --tn-accent: {ACCENT}; }}\n{sheets}</style>"


def render_masthead() -> str:
    """Render the page's title, what it is for, and what explains it."""
    return render_macro("common/page.html", "masthead")


def render_untrained() -> str:
    """Render the notice that an untrained network means nothing yet."""
    return render_macro("common/page.html", "untrained")


def render_problem(sentence: str) -> str:
    """Render what went wrong, for a screen reader at once; what is on the page stays."""
    return render_warning(f"{sentence} What is shown below is unchanged.")


def render_warning(sentence: str) -> str:
    """Render one sentence about something that is not as it was asked for, or nothing."""
    return render_macro("common/page.html", "warning", sentence)


def render_notices(sentences: Sequence[str]) -> str:
    """Render what could not be used when the app started; what can be used is on the page."""
    return render_macro("common/page.html", "notices", sentences)


def format_file_name(name: str) -> str:
    """Return a name that every file system takes: lower-case letters, digits and hyphens."""
    return re.sub(r"[^a-z0-9]+", "-", name.casefold()).strip("-")[:60] or "data"


def render_download(text: str, file: str, media_type: str, label: str, css_class: str) -> str:
    """Render a link that holds the file, so that no file is kept anywhere."""
    data = base64.b64encode(text.encode("utf-8")).decode("ascii")
    return render_macro("common/page.html", "download", file, f"data:{media_type};base64,{data}", label, css_class)
