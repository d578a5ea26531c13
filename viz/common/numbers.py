"""How numbers are written on the page: two significant digits, a true minus sign, units."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import ROUND_HALF_UP, Decimal

_MINUS = "\N{MINUS SIGN}"
_MOST_DECIMALS = 4  # smaller values are zero for a reader


def _rounded(size: float, decimals: int) -> str:
    """Halves go up, as in the browser: Python's own way writes 62.5 as 62."""
    if size >= 1e15:  # has no halves
        return f"{size:.{decimals}f}"
    return f"{Decimal(float(size)).quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_UP):f}"


def short(value: float) -> str:
    """Two significant digits, never in exponent notation; whole numbers keep all their digits."""
    if not math.isfinite(value):
        return "n/a"
    if abs(value) < 0.5 * 10**-_MOST_DECIMALS:
        return "0"
    decimals = min(_MOST_DECIMALS, max(0, 1 - math.floor(math.log10(abs(value)))))
    text = _rounded(abs(value), decimals)
    if decimals and len(text.replace(".", "").lstrip("0")) > 2:  # 9.96 became 10.0
        text = _rounded(abs(value), decimals - 1)
    return _MINUS + text if value < 0 else text


def signed(value: float) -> str:
    """As `short`, with the sign always written."""
    text = short(value)
    return text if text in ("0", "n/a") or value < 0 else f"+{text}"


def percent(share: float) -> str:
    return f"{short(100 * share)} %"


def times(factor: float) -> str:
    return f"{short(factor)}×"


def fixed(value: float) -> str:
    """Two decimals: for terms of a sum, which must add up as written."""
    text = _rounded(abs(value), 2)
    return _MINUS + text if value < 0 and float(text) else text


def gigaflops(flops: int) -> str:
    """GFLOPs, or MFLOPs where a small model would be written as a row of zeros."""
    if 0 < flops < 1e8:
        return f"{short(flops / 1e6)} MFLOPs"
    return f"{short(flops / 1e9)} GFLOPs"


def format_accuracy(share: float | None) -> str:
    """Return a share as per cent with one decimal: differences between budgets are often smaller than a per cent."""
    return "" if share is None else f"{100 * share:.1f} %"


def format_interval(ends: tuple[float, float] | None) -> str:
    """Return '73.4–80.2' for an interval of shares; empty where there is none."""
    return "" if ends is None else f"{100 * ends[0]:.1f}–{100 * ends[1]:.1f}"


def format_share(share: float | None) -> str:
    return "" if share is None else percent(share)


def format_cost(flops: float | None) -> str:
    return "" if flops is None else gigaflops(round(flops))


def format_milliseconds(ms: float | None) -> str:
    return "" if ms is None else f"{short(ms)} ms"


def format_gigabytes(gigabytes: float | None) -> str:
    return "" if gigabytes is None else f"{short(gigabytes)} GB"


def format_look_count(looks: int) -> str:
    """Return '1 look' or '3 looks'."""
    return "1 look" if looks == 1 else f"{looks} looks"


def format_budget(budget: Sequence[int]) -> str:
    """Return '3 looks', or '2 × 1 looks' where looks are taken inside looks."""
    if not any(budget):
        return "thumbnail alone"
    written = " × ".join(str(k) for k in budget)
    return f"{written} look" if written == "1" else f"{written} looks"
