"""How a curve is drawn, in the chart as in the legend and the table.

Measured here: filled markers, solid lines. Printed in the paper: hollow markers, dashed lines. By others: small hollow
markers of their own, dotted lines. Every measured curve has a colour,
which its variants share, and every family of published models; symbols differ too, so that no difference is told by
colour alone. Every colour has a contrast of 3 : 1 or more with a white page and with a nearly black one; the accent is
left to the slider.
"""

from __future__ import annotations

from dataclasses import dataclass

from viz.accuracy.catalogue import DataSet
from viz.common.curves import DOTS, ROLES, Curve

MEASURED_COLOURS = ("#4a86e8", "#0c8040", "#9148b8", "#c06a5c")
TNET_COLOUR, EFFICIENTNET_COLOUR = "#c47a00", "#1a97a8"
OTHER_COLOURS = ("#c06a5c", "#7c8595", "#9148b8", "#0c8040")
PEER_COLOUR = "#7c8595"
PEER_SYMBOLS = ("star", "cross", "x", "triangle-down", "diamond", "square")
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "triangle-down", "pentagon")


@dataclass(frozen=True)
class CurveStyle:
    color: str
    symbol: str
    filled: bool
    width: float
    dashes: str  # as SVG takes them; empty for a solid line
    size: int  # of the markers in pixels; 0: none

    @property
    def line_parts(self) -> list[tuple[int, int]]:
        """Both ends of a swatch's line: a hollow marker hides its middle."""
        return [(0, 34)] if self.filled or not self.size else [(0, 11), (23, 34)]

    @property
    def outline(self) -> str:
        """The marker as an SVG path."""
        return _SHAPES[self.symbol]


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
                basis.color, role.symbol or "circle", True, 1.6, role.dashes, 7 if role.symbol else 0
            )
            continue
        if curve.kind == "peer":
            symbol = PEER_SYMBOLS[data.peers.index(curve) % len(PEER_SYMBOLS)]
            found[curve.id] = CurveStyle(PEER_COLOUR, symbol, False, 1.2, DOTS, 9)
            continue
        if curve.kind == "measured":
            again, rank = divmod(ranks[curve.id], len(MEASURED_COLOURS))
            symbol = SYMBOLS[(rank + again) % len(SYMBOLS)]
            found[curve.id] = CurveStyle(MEASURED_COLOURS[rank], symbol, True, 2.5, "", 9)
        else:
            number = members.get(curve.family, 0)
            members[curve.family] = number + 1
            fixed = {"TNet": TNET_COLOUR, "EfficientNet": EFFICIENTNET_COLOUR}
            color = fixed.get(curve.family) or OTHER_COLOURS[others.index(curve.family) % len(OTHER_COLOURS)]
            symbol = SYMBOLS[_find_symbol_index(curve, others, number) % len(SYMBOLS)]
            found[curve.id] = CurveStyle(color, symbol, False, 1.5, "6,4", 10)
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
    "star": "M0-5.6 1.5-1.8 5.4-1.7 2.3.8 3.4 4.6 0 2.4-3.4 4.6-2.3.8-5.4-1.7-1.5-1.8Z",
    "cross": "M-1.6-5H1.6V-1.6H5V1.6H1.6V5H-1.6V1.6H-5V-1.6H-1.6Z",
    "x": "M-4.6-2.4-2.4-4.6 0-2.2 2.4-4.6 4.6-2.4 2.2 0 4.6 2.4 2.4 4.6 0 2.2-2.4 4.6-4.6 2.4-2.2 0Z",
}
