"""The colours and the font of the page and of all figures.

One accent marks the look in focus, everywhere. Contributions are blue (for) and orange (against), also
told by sign and side. Everything else is grey. Backgrounds are transparent and every colour reads on a
white page and on a nearly black one.
"""

from __future__ import annotations

ACCENT = "#dc267f"
ACCENT_DEEP = "#c2196b"  # under the pointer
FOR = "#4a7fe8"
AGAINST = "#e8701a"
STRONG = "#6b7a99"  # the one bar that matters
INK = "#7a808c"  # text: the grey that is about equally far from white and from black
HAIRLINE = "rgba(128, 136, 150, 0.55)"

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
