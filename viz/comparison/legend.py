"""The legend, as text of the page: it wraps on any screen and says which numbers are whose."""

from __future__ import annotations

import html

from viz.comparison.marks import marks, swatch
from viz.comparison.selection import Selection

_HEADS = {"measured": "Measured here", "published": "Published in the paper"}


def legend(shown: Selection) -> str:
    found = marks(shown.data)
    groups = []
    for kind, head in _HEADS.items():
        items = "".join(
            f"<li>{swatch(found[curve.id])}<span>{html.escape(curve.label)}</span></li>"
            for curve in shown.curves
            if curve.kind == kind
        )
        if items:
            groups.append(f'<div class="tnc-{kind}"><h3>{head}</h3><ul>{items}</ul></div>')
    more = (
        '<a class="tnc-jump" href="#comparison-curves">Choose other curves</a>'  # on narrow screens they are far below
    )
    return f'<div class="tnc-legend">{"".join(groups)}{more}</div>'
