"""The picture and, in a layer above it, the numbered boxes of its looks.

Two fragments of the same shape: the picture is sent once, the boxes on every move of the slider. Boxes
are positioned in per cent and drawn by the browser, so lines and numbers keep their size on any screen.
"""

from __future__ import annotations

import html

from tnet_core import ImageSource, Trace
from viz.encode import data_uri, preview

_LONGEST = 1400
_WIDEST = 4.0  # stranger shapes are shown squeezed, so that their boxes stay visible


def picture(source: ImageSource, title: str) -> str:
    """HTML of the picture with its caption."""
    name = html.escape(title)
    return (
        f'<figure class="tn-picture"><div class="tn-frame" style="{_shape(source.width, source.height)}">'
        f'<img src="{data_uri(preview(source, _LONGEST))}" alt="{name}"></div>'
        f"<figcaption>{name}, {source.width} × {source.height} px</figcaption></figure>"
    )


def boxes(trace: Trace, k: int) -> str:
    """HTML of the boxes of the first k looks; the newest is in focus."""
    drawn = "".join(_box(trace, position, newest=position == k - 1) for position in trace.select(k))
    count = "no look" if k == 0 else "1 look" if k == 1 else f"{k} looks"
    return (
        f'<div class="tn-frame" role="img" aria-label="Boxes of {count}" '
        f'style="{_shape(trace.image.width, trace.image.height)}">{drawn}</div>'
    )


def _box(trace: Trace, position: int, *, newest: bool) -> str:
    x0, y0, x1, y1 = (100 * edge for edge in trace.locations[position].box)
    number = position + 1
    return (
        f'<div class="tn-box{" tn-focus" if newest else ""}" data-look="{number}" '
        f'style="left:{x0:.3f}%;top:{y0:.3f}%;width:{x1 - x0:.3f}%;height:{y1 - y0:.3f}%"><b>{number}</b></div>'
    )


def _shape(width: int, height: int) -> str:
    ratio = min(max(width / height, 1 / _WIDEST), _WIDEST)
    return f"--ratio:{ratio:.5f}"
