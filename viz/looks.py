"""What the network saw: the thumbnail and the crops, each with its weight and its contribution."""

from __future__ import annotations

from collections.abc import Sequence

from tnet_core import Trace
from viz.encode import data_uri
from viz.ledger import names, shares_of
from viz.numbers import short, signed
from viz.selection import Shown, chosen


def encode(trace: Trace) -> tuple[str, ...]:
    """Data URIs, thumbnail first; made once per traversal."""
    return tuple(data_uri(pixels, quality=80) for pixels in (trace.thumbnail, *trace.crops))


def strip(trace: Trace, shown: Shown, images: Sequence[str]) -> str:
    """HTML list of the looks after the thumbnail; the newest is in focus."""
    positions = chosen(trace, shown)
    rows = [0, *(position + 1 for position in positions)]
    values, weights = shares_of(trace, shown).values, trace.weights(subset=positions)
    items = [
        _item(row, name, images[row], float(weight), float(value), focus=0 < row == rows[-1])
        for row, name, weight, value in zip(rows, names(trace, shown), weights, values, strict=True)
    ]
    return f'<ol class="tn-looks">{"".join(items)}</ol>'


def _item(row: int, name: str, image: str, weight: float, value: float, *, focus: bool) -> str:
    side = "tn-for" if value >= 0 else "tn-against"
    # The thumbnail has no box on the picture, so nothing to point at.
    pointer = f' data-look="{row}" tabindex="0"' if row else ""
    return (
        f'<li class="tn-look{" tn-focus" if focus else ""}"{pointer}><img src="{image}" alt="What {name} saw">'
        f'<b>{name}</b><span><i class="{side}">{signed(value)}</i><small>weight {short(weight)}</small></span></li>'
    )
