"""Names and numbers as a person reads them: two significant digits, a true minus sign, units, readable class names."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from decimal import ROUND_HALF_UP, Decimal

from tnet_core import Trace

_MINUS = "\N{MINUS SIGN}"
_MAX_DECIMALS = 4  # smaller values are zero for a reader
# Folders that evaluations without labels name, since they are of no one data set.
_DATA_SETS = {"imagenet_val": "ImageNet", "cub200/train": "CUB-200-2011"}
_FOLDERS = re.compile(rf"(?<![\w/])(?:{(one := '|'.join(_DATA_SETS))})(?: \+ (?:{one}))*(?![\w/])")
_MAX_NAME = 40  # characters; what is longer does not fit beside its number


def _round_half_up(size: float, decimals: int) -> str:
    """Write a number with halves rounded up, as in the browser: Python's own way writes 62.5 as 62."""
    if size >= 1e15:  # has no halves
        return f"{size:.{decimals}f}"
    return f"{Decimal(float(size)).quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_UP):f}"


def format_number(value: float) -> str:
    """Write two significant digits, never in exponent notation; whole numbers keep all their digits."""
    if not math.isfinite(value):
        return "n/a"
    if abs(value) < 0.5 * 10**-_MAX_DECIMALS:
        return "0"
    decimals = min(_MAX_DECIMALS, max(0, 1 - math.floor(math.log10(abs(value)))))
    text = _round_half_up(abs(value), decimals)
    if decimals and len(text.replace(".", "").lstrip("0")) > 2:  # 9.96 became 10.0
        text = _round_half_up(abs(value), decimals - 1)
    return _MINUS + text if value < 0 else text


def format_signed(value: float) -> str:
    """Write a number as `format_number` does, with its sign."""
    text = format_number(value)
    return text if text in ("0", "n/a") or value < 0 else f"+{text}"


def format_percent(share: float | None) -> str:
    """Write a share as per cent; the sign stays on the line of its number."""
    return "" if share is None else f"{format_number(100 * share)}\N{NO-BREAK SPACE}%"


def format_points(share: float) -> str:
    """Return '+4.0': a difference of shares in points, one decimal as accuracies have."""
    text = f"{100 * abs(share):.1f}"
    return text if not float(text) else ("+" if share > 0 else _MINUS) + text


def format_factor(factor: float) -> str:
    return f"{format_number(factor)}×"


def format_fixed(value: float) -> str:
    """Write two decimals, for terms of a sum, which must add up as written."""
    text = _round_half_up(abs(value), 2)
    return _MINUS + text if value < 0 and float(text) else text


def format_flops(flops: float | None) -> str:
    """Return GFLOPs, or MFLOPs where a small model would be written as a row of zeros."""
    if flops is None:
        return ""
    if 0 < flops < 1e8:
        return f"{format_number(flops / 1e6)} MFLOPs"
    return f"{format_number(flops / 1e9)} GFLOPs"


def format_accuracy(share: float | None) -> str:
    """Return a share as per cent with one decimal: differences between budgets are often smaller than a per cent."""
    return "" if share is None else f"{100 * share:.1f} %"


def format_interval(ends: tuple[float, float] | None) -> str:
    """Return '73.4–80.2' for an interval of shares; empty where there is none."""
    return "" if ends is None else f"{100 * ends[0]:.1f}–{100 * ends[1]:.1f}"


def format_milliseconds(ms: float | None) -> str:
    return "" if ms is None else f"{format_number(ms)} ms"


def format_gigabytes(gigabytes: float | None) -> str:
    return "" if gigabytes is None else f"{format_number(gigabytes)} GB"


def format_look_count(looks: int) -> str:
    """Return '1 look' or '3 looks'."""
    return "1 look" if looks == 1 else f"{looks} looks"


def format_budget(budget: Sequence[int]) -> str:
    """Return '3 looks', or '2 × 1 looks' where looks are taken inside looks."""
    if not any(budget):
        return "thumbnail alone"
    written = " × ".join(str(k) for k in budget)
    return f"{written} look" if written == "1" else f"{written} looks"


def format_class_name(trace: Trace, cls: int) -> str:
    """Return 'Black footed Albatross' for '001.Black_footed_Albatross', the first of several synonyms; plain text."""
    return make_readable(trace.class_name(cls))


def list_class_names(trace: Trace) -> list[str]:
    """List the readable names of all classes, in their order."""
    return [format_class_name(trace, cls) for cls in range(len(trace.bias))]


def make_readable(name: str) -> str:
    """Return a name without its number and underscores, the first of several synonyms, not too long."""
    bare = re.sub(r"^\d+[._ ]+(?=\D)", "", name)
    words = bare.replace("_", " ").partition(",")[0].strip() or name
    return words if len(words) <= _MAX_NAME else words[: _MAX_NAME - 1].rstrip() + "…"


def format_data_set(text: str) -> str:
    """Return a text with data sets by their names, where an evaluation names folders: 'ImageNet and CUB-200-2011'."""
    return _FOLDERS.sub(lambda found: " and ".join(_DATA_SETS[name] for name in found[0].split(" + ")), text)


def find_class(names: tuple[str, ...], label: str) -> int | None:
    """Return the class that a label means, written as the class or as its readable name; None if there is none."""
    wanted = label.casefold()
    return next(
        (cls for cls, name in enumerate(names) if wanted in (name.casefold(), make_readable(name).casefold())), None
    )


def list_look_names(trace: Trace) -> tuple[str, ...]:
    """Return '1', '2', … for looks at the whole picture, '2.1' for the first one inside look 2.

    A budget leaves out looks of every grid, never their order: a look keeps its name at every budget.
    """
    names: list[str] = []
    taken: dict[int | None, int] = {}  # looks already met in each grid
    for look in trace.locations:
        taken[look.parent] = taken.get(look.parent, 0) + 1
        above = "" if look.parent is None else f"{names[look.parent]}."
        names.append(f"{above}{taken[look.parent]}")
    return tuple(names)


def compute_lift_bounds(cells: int) -> tuple[float, float]:
    """Return the smallest and largest lift over uniform possible when logits have unit length.

    The extreme is one cell against all others being equal: their logits then differ by sqrt(n / (n - 1)).
    """
    ratio = math.exp(math.sqrt(cells / (cells - 1)))
    return tuple(cells * r / (r + cells - 1) for r in (1 / ratio, ratio))  # type: ignore[return-value]
