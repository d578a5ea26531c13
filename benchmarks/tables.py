"""What `benchmarks.run` measured, as Markdown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

Row = tuple[str, ...]


def tables(result: dict[str, Any]) -> str:
    """One table per section that was measured."""
    return "\n\n".join(_TABLES[name](result[name]) for name in _TABLES if name in result)


def markdown(head: Row, rows: Sequence[Row]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _alternatives(found: dict[str, Any]) -> str:
    rows = []
    for line in found["against"]:
        plain, fast = line["plain"], line["fast"]
        rows.append((
            f"{line['tnet']}, {line['looks']} looks, against {line['baseline']}", str(line["batch"]),
            f"{fast['tnet']:.0f} / {plain['baseline']:.0f}", f"**{line['times']:.2f}x**",
            f"{line['goal']:.1f}x", f"{line['official']:.2f}x",
            f"{plain['tnet']:.0f} / {plain['baseline']:.0f}", f"{line['times_plain']:.2f}x",
            f"{fast['tnet']:.0f} / {fast['baseline']:.0f}", f"{line['times_fast']:.2f}x",
            f"{line['times_apart']:.2f}x",
        ))  # fmt: skip
    head = ("TNet against the whole image", "batch", "ms per image: TNet optimised / baseline as built", "times faster",
            "goal", "official code", "both as built", "times faster", "both optimised", "times faster",
            "… than the baseline's better way")  # fmt: skip
    absolute = [
        (f"{line['model']}, {line['looks']} looks", f"{line['forward_ms']:.0f}", f"{line['traversal_ms']:.0f}",
         f"{line['official_ms']:.0f}", f"{line['times']:.2f}x")
        for line in found["absolute"]
    ]  # fmt: skip
    beside = ("one image, optimised", "ms forward", "ms from bytes to trace", "ms official code", "times faster")
    return markdown(head, rows) + "\n\n" + markdown(beside, absolute)


def _look(found: dict[str, Any]) -> str:
    row = (found["model"], f"{found['step_ms']:.1f}", f"{found['level_ms']:.1f}", f"{found['traversal_ms']:.0f}")
    return markdown(("batch of 1", "ms per look, step by step", "ms per look, level at once", "ms for 5 looks"), [row])


def _slider(found: dict[str, Any]) -> str:
    row = (f"{found['looks']} looks, {found['classes']} classes", f"{found['ms']:.2f}", f"{found['goal_ms']:.0f}",
           f"{found['traversal_ms']:.0f}", f"{found['times']:.0f}x")  # fmt: skip
    return markdown(("a move of the slider", "ms", "goal", "ms of the looks", "times less"), [row])


def _curve(found: dict[str, Any]) -> str:
    row = (f"0…{found['budgets'] - 1} looks", f"{found['one_images_per_second']:.1f}",
           f"{found['each_images_per_second']:.1f}", f"{found['times']:.2f}x", f"{found['goal']:.0f}x")  # fmt: skip
    return markdown(
        ("complete curve", "images/s in one run", "images/s, a run per budget", "times faster", "goal"), [row]
    )


def _by_looks(found: dict[str, Any]) -> str:
    cells = tuple(f"{ms:.0f}" for ms in found["ms"])
    table = markdown(("looks", *map(str, found["looks"])), [("ms", *cells)])
    line = f"{found['start_ms']:.1f} ms + {found['ms_per_look']:.2f} ms per look"
    return f"{table}\n\n{line}; strays by {100 * found['strays']:.0f} % at most."


def _by_side(found: dict[str, Any]) -> str:
    table = markdown(
        ("side of the picture", *map(str, found["sides"])), [("ms, 5 looks", *(f"{ms:.1f}" for ms in found["ms"]))]
    )
    return f"{table}\n\n{found['pixels']:.0f} times the pixels, {found['growth']:.2f} times the time."


def _cold(found: dict[str, Any]) -> str:
    row = (str(found["starts"]), f"{found['page_seconds']:.1f}", f"{found['traversal_seconds']:.1f}")
    return markdown(("cold starts of `python app.py`", "s to the page", "s to a first traversal"), [row])


_TABLES: dict[str, Callable[[dict[str, Any]], str]] = {
    "alternatives": _alternatives,
    "look": _look,
    "slider": _slider,
    "curve": _curve,
    "growth_by_looks": _by_looks,
    "growth_by_side": _by_side,
    "cold_start": _cold,
}
