"""The picture and, in a layer above it, the numbered boxes of its looks.

Two fragments of the same shape: the picture is sent once, the boxes on every move of the slider. Boxes
are positioned in per cent and drawn by the browser, so lines and numbers keep their size on any screen.
"""

from __future__ import annotations

import html

from tnet_core import ImageSource, Trace
from viz.encode import data_uri, preview
from viz.selection import Shown, chosen, labels

_LONGEST = 1400
_WIDEST = 4.0  # stranger shapes are shown squeezed, so that their boxes stay visible


def picture(source: ImageSource, title: str, credit: str = "") -> str:
    """HTML of the picture with its caption; a credit names author and licence."""
    name = html.escape(title)
    by = f"<small>{html.escape(credit)}</small>" if credit else ""
    return (
        f'<figure class="tn-picture"><div class="tn-frame" style="{_shape(source.width, source.height)}">'
        f'<img src="{data_uri(preview(source, _LONGEST))}" alt="{name}"></div>'
        f"<figcaption>{name}, {source.width} × {source.height} px{by}</figcaption></figure>"
    )


def boxes(trace: Trace, shown: Shown) -> str:
    """HTML of the boxes of the looks; the newest is in focus."""
    positions, called = chosen(trace, shown), labels(trace)
    drawn = "".join(_box(trace, position, called[position], newest=position == positions[-1]) for position in positions)
    count = {0: "no look", 1: "1 look"}.get(len(positions), f"{len(positions)} looks")
    return (
        f'<div class="tn-frame" role="img" aria-label="Boxes of {count}" '
        f'style="{_shape(trace.image.width, trace.image.height)}">{drawn}</div>'
    )


def _box(trace: Trace, position: int, name: str, *, newest: bool) -> str:
    look = trace.locations[position]
    x0, y0, x1, y1 = (100 * edge for edge in look.box)
    deep = " tn-deep" if look.level > 2 else ""
    return (
        f'<div class="tn-box{deep}{" tn-focus" if newest else ""}" data-look="{position + 1}" '
        f'style="left:{x0:.3f}%;top:{y0:.3f}%;width:{x1 - x0:.3f}%;height:{y1 - y0:.3f}%"><b>{name}</b></div>'
    )


def _shape(width: int, height: int) -> str:
    ratio = min(max(width / height, 1 / _WIDEST), _WIDEST)
    return f"--ratio:{ratio:.5f}"
