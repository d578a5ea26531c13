"""Colours and the common layout of all figures.

One accent marks the look in focus, everywhere. Contributions are blue (for) and orange (against), also
told by sign and side. Everything else is grey. Backgrounds are transparent and every colour reads on a
white page and on a nearly black one.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

ACCENT = "#dc267f"
FOR = "#4a7fe8"
AGAINST = "#e8701a"
STRONG = "#6b7a99"  # the one bar that matters
WEAK = "rgba(128, 140, 165, 0.45)"  # the others
INK = "#7a808c"  # text: the grey that is about equally far from white and from black
FAINT = "rgba(128, 140, 165, 0.16)"  # the scale under a bar
HAIRLINE = "rgba(128, 136, 150, 0.55)"

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
FONT_SIZE = 13


def layout(height: int, *, left: int, right: int, top: int = 4, bottom: int = 4) -> dict[str, Any]:
    """A still, transparent figure of a fixed height that takes the width it is given."""
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


def axis(**changes: Any) -> dict[str, Any]:
    """An axis without ticks, grid or zoom."""
    plain = {"fixedrange": True, "showgrid": False, "zeroline": False, "ticks": "", "showline": False}
    return plain | changes


def head(most_looks: int = 40) -> str:
    """The page's style sheet: the accent as a variable, the sheet itself, and the linked looks.

    For the document's head: Gradio rewrites the selectors of a sheet it is given as such.
    """
    sheet = Path(__file__).with_name("page.css").read_text(encoding="utf-8")
    return f"<style>.gradio-container {{ --tn-accent: {ACCENT}; }}\n{sheet}\n{_linked_looks(most_looks)}</style>"


def _linked_looks(most: int) -> str:
    """Rules that mark a look in every panel while it is pointed at, or focused, in one of them."""
    pointed = [f'.gradio-container:has([data-look="{n}"]:is(:hover, :focus-visible))' for n in range(1, most + 1)]
    boxes = [f'{page} .tn-box[data-look="{n}"]' for n, page in enumerate(pointed, start=1)]
    crops = [f'{page} .tn-look[data-look="{n}"] img' for n, page in enumerate(pointed, start=1)]
    return (
        f"{','.join(boxes)} {{ box-shadow: inset 0 0 0 3px var(--tn-accent), 0 0 0 1px #fff; }}\n"
        f"{','.join(box + ' b' for box in boxes)} {{ z-index: 4; color: #fff; background: var(--tn-accent); }}\n"
        f"{','.join(crops)} {{ box-shadow: 0 0 0 3px var(--tn-accent); }}\n"
    )
