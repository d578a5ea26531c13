"""The legend, as text of the page: it wraps on any screen and says which numbers are whose."""

from __future__ import annotations

import html

from viz.accuracy.marks import marks, swatch
from viz.accuracy.selection import Selection
from viz.accuracy.traces import drawn
from viz.common.curves import Curve

_HEADS = {"measured": "Measured here", "published": "Published in the paper"}


def legend(shown: Selection) -> str:
    found, points = marks(shown.data), drawn(shown)
    groups = []
    for kind, head in _HEADS.items():
        head += _machines(shown, kind) if shown.x.name == "time" else ""
        items = "".join(
            _item(curve, swatch(found[curve.id]), curve.id in points) for curve in shown.curves if curve.kind == kind
        )
        if items:
            groups.append(f'<div class="tnc-{kind}"><h3>{head}</h3><ul>{items}</ul></div>')
    # On narrow screens they are far below.
    more = (
        '<button type="button" class="tn-jump tnc-jump" data-scroll-to="comparison-curves">Choose other curves</button>'
    )
    return f'<div class="tnc-legend">{"".join(groups)}{more}</div>'


def _machines(shown: Selection, kind: str) -> str:
    """', on …': whose times they are."""
    found = dict.fromkeys(curve.timed_on for curve in shown.curves if curve.kind == kind and curve.timed_on)
    return f", on {html.escape('; '.join(found))}" if found else ""


def _item(curve: Curve, mark: str, is_drawn: bool) -> str:
    name = html.escape(curve.label)
    return (
        f"<li>{mark}<span>{name}</span></li>"
        if is_drawn
        else f'<li class="tnc-absent"><span>{name}: not stated</span></li>'
    )
