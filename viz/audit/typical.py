"""Images whose location probabilities are most, and least, like the mean of all."""

from __future__ import annotations

import html

from viz.audit.model import Audit
from viz.audit.panel import missing, panel
from viz.common.numbers import signed

TITLE = "Most and least typical images"


def typical_panel(audit: Audit) -> str:
    caption = (
        "Correlation of an image's location probabilities with the mean of all: 1 is looked at like the average image. "
        "The file has names only, no pictures."
    )
    if audit.typical is None:
        return panel("typical", TITLE, caption, missing("This evaluation names no typical images."))
    lists = "".join(
        f'<div><h3>{title}</h3><ol data-end="{end}">{"".join(_line(*item) for item in items)}</ol></div>'
        for title, end, items in (
            ("Most typical", "most", audit.typical.most),
            ("Least typical", "least", audit.typical.least),
        )
        if items
    )
    return panel("typical", TITLE, caption, f'<div class="tna-lists">{lists}</div>')


def _line(name: str, score: float) -> str:
    return f"<li><span>{html.escape(name)}</span> <b>{signed(score)}</b></li>"
