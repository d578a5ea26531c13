"""What `benchmarks.run` measured, as Markdown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from benchmarks.busy import PROCESSES, VISITORS
from benchmarks.machine import ROOT
from benchmarks.rounds import describe_spread
from tnet_core.errors import TNetError

Row = tuple[str, ...]


def tables(result: dict[str, Any]) -> str:
    """Return a table per section that was measured."""
    return "\n\n".join(_TABLES[name](result[name]) for name in _TABLES if name in result)


def markdown(head: Row, rows: Sequence[Row]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def summary(result: dict[str, Any]) -> str:
    """Return the README's tables: the strictest comparison first, the others beside it; of what was measured."""
    parts = []
    if "alternatives" in result:
        rows = []
        for line in result["alternatives"]["against"]:
            ms, way, times = line["ms"], line["strictest"], line["times"]
            rows.append((
                f"{line['tnet']}, {line['looks']} looks; {line['baseline']}", str(line["batch"]), f"{ms['TNet']:.0f}",
                f"{ms[way]:.0f} ({way})", f"**{times[way][0]:.2f}**", f"{times['bfloat16'][0]:.2f}",
                f"{times['as timm gives it'][0]:.2f}",
            ))  # fmt: skip
        head = ("TNet; the same backbone on the whole image", "batch", "TNet, ms per image",
                "whole image, its quickest way", "times faster", "both in bfloat16", "than timm gives it")  # fmt: skip
        parts.append(markdown(head, rows))
    facts = [fact for name, state in _FACTS.items() if name in result for fact in [state(result[name])]]
    return "\n\n".join([*parts, markdown(("", ""), facts)] if facts else parts)


_FACTS: dict[str, Callable[[dict[str, Any]], Row]] = {
    "growth_by_side": lambda found: (
        f"time of {found['looks']} looks at a picture of {found['sides'][0]} / {found['sides'][-1]} px a side "
        f"({found['pixels']:.0f} times the pixels)", f"{found['ms'][0]:.0f} / {found['ms'][-1]:.0f} ms",
    ),
    "growth_by_looks": lambda found: (
        f"time of {found['looks'][0]} / {found['looks'][-1]} looks: {found['start_ms']:.0f} ms + "
        f"{found['ms_per_look']:.1f} ms per look, within {100 * found['strays']:.0f} %",
        f"{found['ms'][0]:.0f} / {found['ms'][-1]:.0f} ms",
    ),
    "slider": lambda found: (
        f"a move of the slider: any subset of {found['looks']} looks, {found['classes']} classes",
        f"{found['ms']:.2f} ms",
    ),
    "curve": lambda found: (
        f"accuracy for 0…{found['budgets'] - 1} looks in one evaluation, against an evaluation per budget",
        f"{found['times']:.1f} times faster",
    ),
    "cold_start": lambda found: (
        "`python app.py` to the first traversal: the first start, later ones",
        f"{found['first_traversal_seconds']:.1f} / {found['traversal_seconds']:.1f} s",
    ),
}  # fmt: skip


def describe_machine(found: dict[str, Any]) -> str:
    """Return one line about where and when it was measured."""
    return (
        f"Measured {found['date']} on {found['cores']} cores of an {found['processor']}, no GPU, load {found['load']} "
        "before it; ratios are medians over turns, with the least and the largest."
    )


def replace_between(text: str, name: str, content: str) -> str:
    """Return a text with what stands between a name's two marks replaced."""
    begin, end = f"<!-- {name}: written by benchmarks -->", f"<!-- end of {name} -->"
    if begin not in text or end not in text:
        raise TNetError(f"The marks of '{name}' are missing.")
    before, _, rest = text.partition(begin)
    return f"{before}{begin}\n{content}\n{end}{rest.partition(end)[2]}"


def write_tables(page: str, name: str, about: str, content: str) -> None:
    """Put tables between the marks of a page of the project."""
    text = (ROOT / page).read_text(encoding="utf-8")
    made = replace_between(text, name, f"{about}\n\n{content}")
    (ROOT / page).write_text(made, encoding="utf-8")


def _alternatives(found: dict[str, Any]) -> str:
    rows = []
    for line in found["against"]:
        ms, times = line["ms"], {way: describe_spread(values) for way, values in line["times"].items()}
        way = line["strictest"]
        rows.append((
            f"{line['tnet']}, {line['looks']} looks, against {line['baseline']}", str(line["batch"]),
            f"{ms['TNet']:.0f} / {ms[way]:.0f}", f"**{times[way]}**, {way}",
            f"{ms['TNet, bfloat16']:.0f} / {ms['bfloat16']:.0f}", times["bfloat16"], times["same engine"],
            times["ONNX Runtime"], f"{ms['as timm gives it']:.0f}", times["as timm gives it"], f"{line['goal']:.1f}x",
            times["both in PyTorch"],
        ))  # fmt: skip
    head = ("TNet against the whole image", "batch", "ms per image, float32: TNet / the baseline's quickest way",
            "times faster", "bfloat16", "times faster", "than the baseline on the same engine", "… on ONNX Runtime",
            "ms, as timm gives it", "times faster", "goal", "both in PyTorch")  # fmt: skip
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
    rows = [
        (which, str(found["starts"]), f"{found[f'{key}page_seconds']:.1f}", f"{found[f'{key}traversal_seconds']:.1f}")
        for which, key in (("first, models are converted", "first_"), ("later", ""))
    ]
    return markdown(("start of `python app.py`", "times", "s to the page", "s to a first traversal"), rows)


def _busy(found: dict[str, Any]) -> str:
    rows = [
        (f"beside {PROCESSES} busy processes", f"{found['beside_ms']:.0f}", f"{found['times_beside']:.1f}x", "3x"),
        (f"{VISITORS} visitors at once", f"{found['together_ms']:.0f}", f"{found['times_together']:.1f}x", "10x"),
    ]
    quiet = f"of the quiet median, {found['ms']:.0f} ms"
    return markdown((f"{found['looks']} looks on a busy host", "ms, 95th percentile", quiet, "goal, at most"), rows)


_TABLES: dict[str, Callable[[dict[str, Any]], str]] = {
    "alternatives": _alternatives,
    "look": _look,
    "slider": _slider,
    "curve": _curve,
    "growth_by_looks": _by_looks,
    "growth_by_side": _by_side,
    "busy": _busy,
    "cold_start": _cold,
}
