"""Colours and the common layout of all figures.

One accent marks the look in focus, everywhere. Contributions are blue (for) and orange (against), also
told by sign and side. Everything else is grey. Backgrounds are transparent and every colour reads on a
white page and on a nearly black one.
"""

from __future__ import annotations

from typing import Any

ACCENT = "#dc267f"
ACCENT_DEEP = "#c2196b"  # under the pointer
FOR = "#4a7fe8"
AGAINST = "#e8701a"
STRONG = "#6b7a99"  # the one bar that matters
INK = "#7a808c"  # text: the grey that is about equally far from white and from black
HAIRLINE = "rgba(128, 136, 150, 0.55)"

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
FONT_SIZE = 13


def build_layout(height: int, *, left: int, right: int, top: int = 4, bottom: int = 4) -> dict[str, Any]:
    """Build the layout of a still, transparent figure of a fixed height that takes the width it is given."""
    return {
        "template": "none",
        "height": height,
        "autosize": True,
        "margin": {"l": left, "r": right, "t": top, "b": bottom, "pad": 0},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"family": FONT, "size": FONT_SIZE, "color": INK},
        "hoverlabel": {"font": {"family": FONT, "size": FONT_SIZE}},
        "showlegend": False,
        # Dragging to zoom would catch the finger that wants to scroll.
        "dragmode": False,
    }


def build_axis(**changes: Any) -> dict[str, Any]:
    """Build an axis without ticks, grid or zoom."""
    plain = {"fixedrange": True, "showgrid": False, "zeroline": False, "ticks": "", "showline": False}
    return plain | changes
