"""One course as a drawing: the network's order, the oracle's, and the band of random ones."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from tnet_core.explain import Course
from viz.common.numbers import percent

_WIDTH, _HEIGHT = 380, 210
_LEFT, _RIGHT, _TOP, _BOTTOM = 42, 10, 8, 36


def chart(course: Course, name: str, below: str) -> str:
    """An SVG; `name` says what it shows to those who cannot see it, `below` what is counted from left to right."""
    count = len(course.network) - 1
    low, high = course.random_band
    there = _line(range(count + 1), low, count)
    band = f"{there} {_line(range(count, -1, -1), high, count)}"
    marks = "".join(
        f'<circle cx="{_x(k, count):.1f}" cy="{_y(p):.1f}" r="3.2" data-probability="{p:.6f}">'
        f"<title>{k}: {percent(p)}</title></circle>"
        for k, p in enumerate(course.network)
    )
    return (
        f'<svg class="tna-chart" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{name}">'
        f"{_rules()}{_ticks(count)}"
        f'<text x="{(_LEFT + _WIDTH - _RIGHT) / 2}" y="{_HEIGHT - 4}" text-anchor="middle">{below}</text>'
        f'<polygon class="tna-band" points="{band}"/>'
        f'<polyline class="tna-chance" points="{_line(range(count + 1), course.random_mean, count)}"/>'
        f'<polyline class="tna-hindsight" points="{_line(range(count + 1), course.oracle, count)}"/>'
        f'<polyline class="tna-network" points="{_line(range(count + 1), course.network, count)}"/>{marks}</svg>'
    )


def swatch(name: str) -> str:
    """A piece of a line, for the legend."""
    box = '<rect class="tna-band" x="0" y="1" width="26" height="10"/>' if name == "chance" else ""
    return (
        f'<svg class="tna-chart tna-swatch" width="26" height="12" aria-hidden="true">{box}'
        f'<line class="tna-{name}" x1="0" x2="26" y1="6" y2="6"/></svg>'
    )


def _x(k: int, count: int) -> float:
    return _LEFT + k / count * (_WIDTH - _LEFT - _RIGHT)


def _y(share: float) -> float:
    return _HEIGHT - _BOTTOM - share * (_HEIGHT - _TOP - _BOTTOM)


def _line(steps: Iterable[int], values: np.ndarray, count: int) -> str:
    return " ".join(f"{_x(k, count):.1f},{_y(float(values[k])):.1f}" for k in steps)


def _rules() -> str:
    return "".join(
        f'<line class="tna-rule" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{_y(v):.1f}" y2="{_y(v):.1f}"/>'
        f'<text x="{_LEFT - 6}" y="{_y(v) + 4:.1f}" text-anchor="end">{100 * v:.0f} %</text>'
        for v in (0.0, 0.5, 1.0)
    )


def _ticks(count: int) -> str:
    return "".join(
        f'<text x="{_x(k, count):.1f}" y="{_HEIGHT - 19}" text-anchor="middle">{k}</text>' for k in range(count + 1)
    )
