"""Draws docs/tnet.svg, the README's picture of what TNet does.

Usage: python -m tools.diagram
"""

from __future__ import annotations

from pathlib import Path

OUT = Path(__file__).parents[1] / "docs" / "tnet.svg"

INK, GREY, PALE, PAPER, ACCENT = "#1f2933", "#7b8794", "#e4e7eb", "#ffffff", "#d9480f"
LOOKS = ((1, 3), (2, 1), (3, 0))  # row, column of the cells that are looked at
WEIGHTS = (0.18, 0.41, 0.29, 0.12)  # context first; an illustration, not a measurement


def _draw_text(x: float, y: float, words: str, size: int = 15, fill: str = INK, anchor: str = "middle") -> str:
    return f'<text x="{x}" y="{y}" font-size="{size}" fill="{fill}" text-anchor="{anchor}">{words}</text>'


def _draw_rect(x: float, y: float, w: float, h: float, fill: str = "none", stroke: str = "none", more: str = "") -> str:
    return f'<rect x="{x}" y="{y}" width="{w}" height="{h}" fill="{fill}" stroke="{stroke}" {more}/>'


def _draw_bird(x: float, y: float, side: float) -> str:
    """Return a bird on a branch, drawn in a 100 x 100 box and scaled to `side`."""
    shapes = (
        '<rect width="100" height="100" fill="#cfe3ee"/>'
        '<path d="M-2 78 Q40 66 102 74 L102 80 Q40 73 -2 85 Z" fill="#7a5c43"/>'
        '<path d="M22 62 L4 84 L12 86 L33 70 Z" fill="#3e4c59"/>'
        '<ellipse cx="46" cy="54" rx="25" ry="17" fill="#c2410c" transform="rotate(-24 46 54)"/>'
        '<path d="M28 60 Q44 44 62 52 Q50 68 32 68 Z" fill="#52606d"/>'
        '<circle cx="67" cy="36" r="12" fill="#c2410c"/>'
        '<path d="M77 33 L89 37 L77 41 Z" fill="#323f4b"/>'
        '<circle cx="70" cy="33" r="2.4" fill="#111"/>'
        '<path d="M46 68 L45 77 M54 67 L55 76" stroke="#323f4b" stroke-width="1.6"/>'
    )
    return f'<svg x="{x}" y="{y}" width="{side}" height="{side}" viewBox="0 0 100 100">{shapes}</svg>'


def _draw_crop(x: float, y: float, side: float, row: int, col: int) -> str:
    """Cell (row, col) of the 5 x 5 grid of 36 % cells, enlarged."""
    start = (16 * col, 16 * row)
    inner = _draw_bird(-start[0] * side / 36, -start[1] * side / 36, side * 100 / 36)
    return f'<svg x="{x}" y="{y}" width="{side}" height="{side}">{inner}</svg>'


def draw() -> str:
    """Return the whole picture as SVG."""
    side, left, top = 250, 40, 70
    parts = [
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1180 400" role="img" '
        'font-family="system-ui, -apple-system, Segoe UI, Helvetica, Arial, sans-serif" '
        'aria-label="TNet looks at a thumbnail, scores a grid of regions, crops the best ones from the full image '
        'and classifies from the weighted average of all looks.">',
        _draw_rect(0, 0, 1180, 400, PAPER, more='rx="12"'),
        _draw_text(left + side / 2, 45, "1  thumbnail and candidate grid"),
        _draw_bird(left, top, side),
    ]
    for i in range(1, 5):  # hairlines between the centres of neighbouring cells
        at = 0.18 * side + (i - 0.5) * 0.16 * side
        parts.append(f'<path d="M{left + at} {top}v{side}M{left} {top + at}h{side}" stroke="{PAPER}" opacity=".55"/>')
    for number, (row, col) in enumerate(LOOKS, start=1):
        x, y = left + 0.16 * col * side, top + 0.16 * row * side
        parts.append(_draw_rect(x, y, 0.36 * side, 0.36 * side, stroke=ACCENT, more='stroke-width="2.5"'))
        parts.append(_draw_rect(x, y, 22, 20, ACCENT) + _draw_text(x + 11, y + 15, str(number), 14, PAPER))
    parts.append(_draw_text(left + side / 2, top + side + 30, "lift over uniform ranks the cells", 13, GREY))

    parts.append(_draw_text(490, 45, "2  looks, cropped from the full image"))
    views = [_draw_bird(375, 82, 96)] + [
        _draw_crop(375 + 130 * (n % 2), 82 + 130 * (n // 2), 96, *LOOKS[n - 1]) for n in range(1, 4)
    ]
    for n, view in enumerate(views):
        x, y = 375 + 130 * (n % 2), 82 + 130 * (n // 2)
        name = "context" if n == 0 else f"look {n}"
        parts += [view, _draw_rect(x, y, 96, 96, stroke=GREY if n == 0 else ACCENT, more='stroke-width="2"')]
        parts.append(_draw_text(x + 48, y + 114, name, 13, GREY))

    parts.append(_draw_text(765, 45, "3  weighted average"))
    for n, weight in enumerate(WEIGHTS):
        y = 92 + 56 * n
        name = "context" if n == 0 else f"look {n}"
        parts.append(_draw_text(700, y + 20, name, 14, INK, "end"))
        parts.append(_draw_rect(712, y, 150, 28, PALE))
        parts.append(_draw_rect(712, y, 300 * weight, 28, GREY if n == 0 else ACCENT))

    parts.append(_draw_text(1040, 45, "4  decision, exactly additive"))
    for n, (name, share) in enumerate((("species A", 0.81), ("species B", 0.12), ("species C", 0.04))):
        y = 100 + 62 * n
        parts.append(_draw_text(960, y, name, 15, INK, "start"))
        parts.append(
            _draw_rect(960, y + 8, 170, 16, PALE) + _draw_rect(960, y + 8, 170 * share, 16, INK if n == 0 else GREY)
        )
    parts.append(
        _draw_text(1045, 310, "each look’s signed share", 13, GREY)
        + _draw_text(1045, 328, "sums to the logit", 13, GREY)
    )

    for x in (312, 617, 895):
        parts.append(f'<path d="M{x} 195h30m-9 -8 9 8 -9 8" fill="none" stroke="{GREY}" stroke-width="2.5"/>')
    parts.append(
        _draw_text(
            590, 380, "recurse inside a look for the next processing level; more looks cost linearly more", 13, GREY
        )
    )
    return "\n".join([*parts, "</svg>"]) + "\n"


if __name__ == "__main__":
    OUT.write_text(draw(), encoding="utf-8")
