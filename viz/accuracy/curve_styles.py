"""How a curve is drawn, in the chart as in the legend and the table.

Measured here: filled markers, solid lines. Published: hollow markers, dashed lines. Every measured curve has a colour,
which its variants share, and every family of published models; symbols differ too, so that no difference is told by
colour alone. Every colour has a contrast of 3 : 1 or more with a white page and with a nearly black one; the accent is
left to the slider.
"""

from __future__ import annotations

from dataclasses import dataclass

from viz.accuracy.catalogue import DataSet
from viz.common.curves import ROLES, Curve

MEASURED_COLOURS = ("#4a86e8", "#0c8040", "#9148b8", "#c06a5c")
TNET_COLOUR, EFFICIENTNET_COLOUR = "#c47a00", "#1a97a8"
OTHER_COLOURS = ("#c06a5c", "#7c8595", "#9148b8", "#0c8040")
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "triangle-down", "pentagon")


@dataclass(frozen=True)
class CurveStyle:
    color: str
    symbol: str
    filled: bool
    width: float
    dash: str  # "solid", or what plotly takes
    size: int  # of the markers in pixels; 0: none


def assign_styles(data: DataSet) -> dict[str, CurveStyle]:
    """Return styles by id, for all curves of a data set: none changes when others are chosen."""
    found: dict[str, CurveStyle] = {}
    ranks = {curve.id: rank for rank, curve in enumerate(data.measured)}
    others = list(dict.fromkeys(c.family for c in data.published if c.family not in ("TNet", "EfficientNet")))
    members: dict[str, int] = {}
    for curve in data.curves:
        if curve.role:
            role, basis = ROLES[curve.role], found[curve.variant_of]  # which comes before its variants
            found[curve.id] = CurveStyle(
                basis.color, role.symbol or "circle", True, 1.2, role.dash, 7 if role.symbol else 0
            )
            continue
        if curve.kind == "measured":
            again, rank = divmod(ranks[curve.id], len(MEASURED_COLOURS))
            symbol = SYMBOLS[(rank + again) % len(SYMBOLS)]
            found[curve.id] = CurveStyle(MEASURED_COLOURS[rank], symbol, True, 2.5, "solid", 9)
        else:
            number = members.get(curve.family, 0)
            members[curve.family] = number + 1
            fixed = {"TNet": TNET_COLOUR, "EfficientNet": EFFICIENTNET_COLOUR}
            color = fixed.get(curve.family) or OTHER_COLOURS[others.index(curve.family) % len(OTHER_COLOURS)]
            symbol = SYMBOLS[_find_symbol_index(curve, others, number) % len(SYMBOLS)]
            found[curve.id] = CurveStyle(color, symbol, False, 1.5, "6px,4px", 10)
    return found


def _find_symbol_index(curve: Curve, others: list[str], number: int) -> int:
    """Return the number of a symbol; families that may share a colour begin with different ones."""
    return number + (others.index(curve.family) + 1 if curve.family in others else 0)


def make_translucent(color: str, alpha: float) -> str:
    red, green, blue = (int(color[at : at + 2], 16) for at in (1, 3, 5))
    return f"rgba({red}, {green}, {blue}, {alpha})"


_SHAPES = {
    "circle": "M4.2 0A4.2 4.2 0 1 1-4.2 0A4.2 4.2 0 1 1 4.2 0Z",
    "square": "M-4-4H4V4H-4Z",
    "diamond": "M0-5.2 5.2 0 0 5.2-5.2 0Z",
    "triangle-up": "M0-5 5 3.6H-5Z",
    "triangle-down": "M0 5-5-3.6H5Z",
    "pentagon": "M0-4.8 4.8-1.3 3 4.3H-3L-4.8-1.3Z",
    "cross": "M-1.6-5H1.6V-1.6H5V1.6H1.6V5H-1.6V1.6H-5V-1.6H-1.6Z",
    "x": "M-4.6-2.4-2.4-4.6 0-2.2 2.4-4.6 4.6-2.4 2.2 0 4.6 2.4 2.4 4.6 0 2.2-2.4 4.6-4.6 2.4-2.2 0Z",
}


def render_swatch(mark: CurveStyle) -> str:
    """Render the line and marker as SVG; its meaning stands beside it as text."""
    return f"{_SVG}{_render_line_and_marker(mark)}</svg>"


def render_symbol(name: str, mark: CurveStyle) -> str:
    """Render the same to be drawn once and shown often, by `render_symbol_use`."""
    return f'<symbol id="{name}" viewBox="0 0 34 14">{_render_line_and_marker(mark)}</symbol>'


def render_symbol_use(name: str) -> str:
    return f'{_SVG}<use href="#{name}"/></svg>'


def _render_line_and_marker(mark: CurveStyle) -> str:
    dash = "" if mark.dash == "solid" else f' stroke-dasharray="{_DASHES.get(mark.dash, mark.dash)}"'
    line = f'stroke="{mark.color}" stroke-width="{mark.width}"{dash}'
    paint = f'fill="{mark.color}"' if mark.filled else f'fill="none" stroke="{mark.color}" stroke-width="1.6"'
    # The line passes behind a hollow marker only at its sides, as in the chart.
    parts = [(0, 34)] if mark.filled or not mark.size else [(0, 11), (23, 34)]
    drawn = "".join(f'<path d="M{x0} 7H{x1}" fill="none" {line}/>' for x0, x1 in parts)
    if not mark.size:
        return drawn
    place = f'transform="translate(17 7) scale({0.7 if mark.size < 8 else 1})"'
    return f'{drawn}<path d="{_SHAPES[mark.symbol]}" {place} {paint}/>'


_SVG = '<svg class="accuracy-swatch" viewBox="0 0 34 14" width="34" height="14" aria-hidden="true">'
_DASHES = {"dot": "1.5,3", "dashdot": "8,3,1.5,3"}
