"""What the network saw: the thumbnail and the crops, each with its weight and its contribution."""

from __future__ import annotations

from collections.abc import Sequence

from tnet_core import Trace
from viz.encode import data_uri
from viz.ledger import names, shares_of
from viz.numbers import short, signed


def encode(trace: Trace) -> tuple[str, ...]:
    """Data URIs, thumbnail first; made once per traversal."""
    return tuple(data_uri(pixels, quality=80) for pixels in (trace.thumbnail, *trace.crops))


def strip(trace: Trace, k: int, images: Sequence[str]) -> str:
    """HTML list of the first k looks after the thumbnail; the newest is in focus."""
    values = shares_of(trace, k).values
    weights = trace.weights(k)
    items = [
        _item(row, name, images[row], float(weights[row]), float(values[row]), focus=0 < row == k)
        for row, name in enumerate(names(trace, k))
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
