"""An evaluation as text for a terminal, the paper's numbers beside ours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tnet_core.published import AttentionRow, PaperRow
from training.evaluation.bootstrap import describe_few_images
from training.evaluation.compare import PaperReference
from training.evaluation.measure import LOOKS_ONLY
from training.evaluation.stopping import read_rule

_MAX_ROWS = 24
_SHORT = {"learned": "top-1", LOOKS_ONLY: "looks only"}


def format_evaluation(
    content: dict[str, Any],
    paper: dict[tuple[int, ...], PaperRow] | None = None,
    attention: dict[int, AttentionRow] | None = None,
    beside: PaperReference | None = None,
) -> str:
    beside = beside or PaperReference()
    data = content["dataset"]
    parts = [f"{data['name']} {data['split']}: {data['size']} images, {data['classes']} classes"]
    if (precision := content.get("run", {}).get("precision", "float32")) != "float32":
        parts[0] += f", computed in {precision}"
    if data.get("unreadable"):
        parts[0] += f" ({data['unreadable']['count']} unreadable ones left out)"
    if few := describe_few_images(data["size"]):
        parts.append(few)
    parts.append(_format_accuracies(content, paper or {}, beside))
    areas = _format_areas(content, attention or {}, beside)
    for section in (
        _format_comparisons(content),
        areas,
        _format_calibration(content),
        _format_stopping(content),
        _format_heat_map(content),
        _format_equivariance(content),
    ):
        if section:
            parts.append(section)
    return "\n\n".join(parts)


def _format_accuracies(content: dict[str, Any], paper: dict[tuple[int, ...], PaperRow], beside: PaperReference) -> str:
    others = [
        name for name in (LOOKS_ONLY, "random", "centre", "mean", "surest", "oracle") if _is_measured(content, name)
    ]
    head = ["looks", "GFLOPs", "top-1", "interval", "top-5", *(_SHORT.get(name, name) for name in others)]
    if paper:
        head += [beside.column, "top-5", "GFLOPs"]
    rows = []
    for at in _select_budgets(content):
        result = content["budgets"][at]
        budget = tuple(result["budget"])
        low, high = result["top1_interval"]
        row = [_format_looks(budget), f"{result['flops'] / 1e9:.2f}", _format_percent(result["top1"])]
        row += [f"{_format_percent(low)}–{_format_percent(high)}", _format_percent(result["top5"])]
        row += [_format_percent(content["policies"][name]["top1"][at]) for name in others]
        if paper:
            # two levels of a model that has three: the looks below are none
            published = paper.get(budget) or (paper.get(budget[:1]) if not any(budget[1:]) else None)
            row += _format_published(published)
        rows.append(row)
    lines = _align_columns([head, *rows])
    return f"{beside.column}: {beside.heading}\n{lines}" if paper else lines


def _format_published(row: PaperRow | None) -> list[str]:
    if row is None:
        return ["", "", ""]
    return [
        f"{row.top1:.2f}",
        "" if row.top5 is None else f"{row.top5:.2f}",
        "" if row.gflops is None else f"{row.gflops:.2f}",
    ]


def _is_measured(content: dict[str, Any], name: str) -> bool:
    return "top1" in content["policies"].get(name, {})


def _select_budgets(content: dict[str, Any]) -> list[int]:
    """Return all budgets, or the telling ones where there are too many."""
    budgets = [tuple(result["budget"]) for result in content["budgets"]]
    if len(budgets) <= _MAX_ROWS:
        return list(range(len(budgets)))
    trained, most = content["trained_budget"], budgets[-1]
    keep = [{0, 1, 2, trained[level], most[level]} for level in range(len(most))]
    return [
        at
        for at, b in enumerate(budgets)
        if all(k in keep[level] for level, k in enumerate(b)) and (b[0] or not any(b))
    ]


def _format_comparisons(content: dict[str, Any]) -> str:
    lines = []
    budgets = [tuple(result["budget"]) for result in content["budgets"]]
    columns = [at for at in _select_budgets(content) if budgets[at] and budgets[at][0]][:6]
    for name, found in content.get("comparisons", {}).items():
        cells = [name.replace("-", " − ")]
        for at in columns:
            low, high = found["interval"][at]
            cells.append(f"{100 * found['difference'][at]:+.2f} [{100 * low:+.2f}, {100 * high:+.2f}]")
        lines.append(cells)
    if not lines:
        return ""
    head = ["points of top-1 at", *(_format_count(budgets[at]) for at in columns)]
    text = _align_columns([head, *lines])
    name = "surest" if "gap_to_surest" in content else "oracle"
    gap = content.get("gap_to_surest") or content.get("gap_closed")
    one = (1,) * len(budgets[-1])  # one look per grid
    if gap and one in budgets and gap["share"][budgets.index(one)] is not None:
        at = budgets.index(one)
        low, high = gap["interval"][at]
        text += (
            f"\nOf the gap between centre and {name} at {_format_count(one)}, the learned policy closes "
            f"{100 * gap['share'][at]:.1f} % [{100 * low:.1f}, {100 * high:.1f}]."
        )
    return text


def _format_areas(content: dict[str, Any], paper: dict[int, AttentionRow], beside: PaperReference) -> str:
    found = content.get("attention", {})
    learned = found.get("learned")
    if not learned or not learned["coverage"]:
        return ""
    boxes = "precision" in learned
    head = ["looks at level 2", *(["precision", "recall"] if boxes else []), "coverage"]
    head += [f"{beside.column}: precision", "recall", "coverage"] if paper else []
    rows = []
    for at, coverage in enumerate(learned["coverage"]):
        row = [str(at + 1)]
        row += [_format_percent(learned[key][at]) for key in ("precision", "recall")] if boxes else []
        row.append(_format_percent(coverage))
        printed = paper.get(at + 1)
        if paper:
            row += [f"{v:.2f}" for v in (printed.precision, printed.recall, printed.coverage)] if printed else [""] * 3
        rows.append(row)
    return _align_columns([head, *rows])


def _format_stopping(content: dict[str, Any]) -> str:
    found = content.get("stopping")
    if not found:
        return ""
    thresholds = (0.0, 0.5, 0.7, 0.8, 0.9, 0.95, 0.99, 1.0)
    points = [point for point in found["probability"]["points"] if point["threshold"] in thresholds]
    rows = [
        [f"{p['threshold']:g}", _format_percent(p["top1"]), f"{p['looks']:.2f}", f"{p['flops'] / 1e9:.2f}"]
        for p in points
    ]
    curve = _align_columns([["stop above", "top-1", "mean looks", "mean GFLOPs"], *rows])
    return "\n\n".join([curve, *_format_rule(found)])


def _format_rule(found: dict[str, Any]) -> list[str]:
    """Return the recommended rule and what it gives on the images it was not chosen on."""
    if "rule" not in found:
        return []
    crossed = found["cross_fitted"]
    low, high = crossed["top1_interval"]
    rows = [["fixed looks", "top-1", "stopping − fixed"]]
    for fixed in crossed["against"]:
        ends = [f"{100 * end:+.2f}" for end in fixed["interval"]]
        rows.append(
            [
                str(fixed["budget"][0]),
                _format_percent(fixed["top1"]),
                f"{100 * fixed['difference']:+.2f} [{', '.join(ends)}]",
            ]
        )
    return [
        f"recommended: {read_rule(found).describe()}, at temperature {found['rule']['temperature']:g}\n"
        f"cross-fitted: {_format_percent(crossed['top1'])} % [{_format_percent(low)}, {_format_percent(high)}] with "
        f"{crossed['looks']:.2f} looks and {crossed['flops'] / 1e9:.2f} GFLOPs on average",
        _align_columns(rows),
    ]


def _format_calibration(content: dict[str, Any]) -> str:
    found = content.get("calibration")
    if not found:
        return ""
    return (
        f"temperature {found['temperature']:g}: calibration error {_format_percent(found['error_before'])} % before, "
        f"{_format_percent(found['error_after'])} % after (cross-fitted)"
    )


def _format_heat_map(content: dict[str, Any]) -> str:
    found = content.get("heat_map")
    if not found or not found["taken"]:
        return ""
    n, images = found["grid"], found["images"]
    first = [f"{100 * count / images:.0f}" for count in found["taken"][0]]
    width = max(map(len, first))
    rows = [" ".join(cell.rjust(width) for cell in first[r * n : (r + 1) * n]) for r in range(n)]
    bias = found["centre_bias"]["after_looks"][0]
    return "\n".join([f"first look in % of the images (centre bias {bias:+.2f}):", *("  " + row for row in rows)])


def _format_equivariance(content: dict[str, Any]) -> str:
    found = content.get("equivariance")
    if not found:
        return ""
    rows = [["image", "score", "interval", "content", "position", "first look follows", "stays", "of images"]]
    for move in found["transforms"].values():
        first = move["first_look"]
        ends = " … ".join(_format_signed(end) for end in move["score_interval"])
        row = [
            move["about"],
            _format_signed(move["score"]),
            ends,
            _format_signed(move["content"]),
            _format_signed(move["position"]),
        ]
        rows.append([*row, _format_percent(first["followed"]), _format_percent(first["stayed"]), str(first["images"])])
    low, high = (_format_signed(end) for end in found["score_interval"])
    head = f"first looks follow content (1) or stay in position (-1): {_format_signed(found['score'])} [{low}, {high}]"
    return f"{head}\n{_align_columns(rows)}"


def _format_signed(value: float | None) -> str:
    return "–" if value is None else f"{value:+.2f}"


def _format_looks(budget: Sequence[int]) -> str:
    return " x ".join(map(str, budget)) if budget else "whole image"


def _format_count(budget: Sequence[int]) -> str:
    return f"{_format_looks(budget)} look{'' if tuple(budget) == (1,) else 's'}"


def _format_percent(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.2f}"


def _align_columns(rows: list[list[str]]) -> str:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = []
    for row in rows:
        first, *others = (
            cell.ljust(w) if i == 0 else cell.rjust(w) for i, (cell, w) in enumerate(zip(row, widths, strict=True))
        )
        lines.append("  ".join([first, *others]).rstrip())
    return "\n".join(lines)
