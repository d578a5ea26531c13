"""What the tab says, an evaluation as a table, and what it got wrong: pictures, confused classes, places of looks."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from tnet_core.schemas.evaluation import parse_evaluation
from viz.common.curves import Curve, CurvePoint
from viz.common.evaluation import item_at, read_estimate, read_list, read_mapping, read_share
from viz.common.measured import VisitorEvaluation, read_visitor_curves
from viz.common.page import format_file_name, render_download
from viz.common.templates import render_macro
from viz.common.text import format_accuracy, format_budget, format_percent, format_points, make_readable

_render = partial(render_macro, "your_data/your_data.html")
INTRO, WAITING = _render("intro"), _render("waiting")
_COLUMNS = {
    "": "Learned",
    "centre": "Centre",
    "random": "Random",
    "mean": "Same looks",
    "surest": "Surest",
    "oracle": "Hindsight",
}
_RIVALS = {
    "centre": "looks from the centre outwards",
    "random": "looks at random",
    "mean": "the same looks for every image",
}
_MAX_CLASSES = 14  # in the matrix


@dataclass(frozen=True)
class FailurePicture:
    """One failure as the gallery shows it; classes as the checkpoint names them."""

    title: str  # of the picture, as its owner called it
    label: str
    prediction: str
    surety: float  # probability of the prediction
    cause: str  # look or recognise; empty where nothing tells
    is_doubtful: bool  # whether the label looks wrong
    thumbnail: str  # data URI, or empty
    can_open: bool


@dataclass(frozen=True)
class FailureGallery:
    """Failures of one evaluation; `pictures` are the surest of them."""

    budget: tuple[int, ...]
    images: int  # measured
    wrong: int
    doubtful: int
    causes: Mapping[str, int]
    reference: str  # policy that tells causes apart, or empty
    pictures: tuple[FailurePicture, ...]
    confusions: Mapping[tuple[str, str], int]  # label, prediction -> images, right ones included
    taken: tuple[int, ...]  # images in which each cell is looked at
    taken_failures: tuple[int, ...]


@dataclass(frozen=True)
class ZipLimits:
    """What a zip may hold, and what is kept of it while the page is open."""

    size: int  # bytes of the zip
    images: int
    pixels: int  # of one image
    failures: int  # bytes of the images that are kept because they were answered wrongly


def render_zip_layout(limits: ZipLimits) -> str:
    """Render how a zip is packed, closed until somebody opens it."""
    return _render("zip_layout", limits)


def render_result(own: VisitorEvaluation, notices: Sequence[str], seconds: float) -> str:
    """Render whether choosing looks paid, what was measured on what, what was left out, and the accuracies."""
    groups = _group_curves(read_visitor_curves(own))
    tables = [_build_table(group) for group in groups]
    return _render(
        "result", own, parse_evaluation(own.content), describe_choosing(own, groups), notices, seconds, tables
    )


def describe_choosing(own: VisitorEvaluation, groups: Sequence[Mapping[str, Curve]]) -> str:
    """Say how often the network is right with its own looks, and with looks that nobody chooses by the picture.

    It is about the budget of training, or the largest where that was not measured.
    """
    if not groups:
        return ""
    trained = tuple(k for k in read_list(own.content, "trained_budget") if isinstance(k, int))
    group = next((g for g in groups if any(p.budget == trained for p in g[""].points)), groups[-1])
    point = next((p for p in group[""].points if p.budget == trained), group[""].points[-1])
    if point.top1 is None or not any(point.budget):
        return ""
    rivals = [
        (role, words, other.top1)
        for role, words in _RIVALS.items()
        if role in group and (other := _find_same_budget(group[role], point)) is not None and other.top1 is not None
    ]
    shares = [f"the network's own looks are right in {format_accuracy(point.top1)} of the images"]
    shares += [f"{words} in {format_accuracy(top1)}" for _, words, top1 in rivals]
    listed = shares[0] if len(shares) == 1 else f"{', '.join(shares[:-1])} and {shares[-1]}"
    sentence = f"With {format_budget(point.budget)}, {listed}."
    at = [result.budget for result in parse_evaluation(own.content).results].index(point.budget)
    for role, words, _ in rivals[:1]:
        sentence += _describe_difference(own.content, role, words, at)
    return sentence


def _describe_difference(content: Mapping[str, Any], role: str, words: str, at: int) -> str:
    """Say by how much choosing is better or worse, and whether that is in doubt; empty where it is unknown."""
    compared = read_mapping(read_mapping(content, "comparisons"), f"learned-{role}")
    ends = item_at(read_list(compared, "interval"), at)
    found = read_estimate(item_at(read_list(compared, "difference"), at), ends)
    if found is None or found.interval is None:
        return ""
    if not found.value:
        return f" There is no difference to {words}."
    size = f"{100 * abs(found.value):.1f} points {'better' if found.value > 0 else 'worse'} than {words}"
    confidence = read_share(read_mapping(content, "intervals").get("confidence"))
    name = "interval" if confidence is None else f"{format_percent(confidence)} interval"
    interval = f"{name} {format_points(found.interval[0])} to {format_points(found.interval[1])}"
    if found.is_clear:
        return f" Choosing is {size} ({interval})."
    return f" That choosing is {size} is not established: the {interval} holds zero."


def _group_curves(curves: Sequence[Curve]) -> list[dict[str, Curve]]:
    """Group curves by table: a model of three levels has one for each number of looks inside a look."""
    groups: dict[str, dict[str, Curve]] = {}
    for curve in curves:
        if curve.role in _COLUMNS:
            groups.setdefault(curve.variant_of or curve.id, {})[curve.role] = curve
    return list(groups.values())


def _build_table(group: dict[str, Curve]) -> tuple[list[str], list[tuple[CurvePoint, dict[str, CurvePoint | None]]]]:
    """Return the columns of one group and, for each budget of its learned looks, what every column says about it."""
    shown = {role: title for role, title in _COLUMNS.items() if role in group}
    points = group[""].points
    rows = [
        (point, {title: _find_same_budget(group[role], point) for role, title in shown.items()}) for point in points
    ]
    return list(shown.values()), rows


def _find_same_budget(curve: Curve, point: CurvePoint) -> CurvePoint | None:
    return next((other for other in curve.points if other.budget == point.budget), None)


def render_file_link(name: str, text: str) -> str:
    """Render the link to the evaluation as a file."""
    file = f"{format_file_name(name)}.evaluation.json"
    link = render_download(text, file, "application/json", "Download evaluation.json", "your-data-download")
    return link + _render("file_note")


def render_chart_notice(name: str) -> str:
    return _render("chart_notice", name)


def render_failures(found: FailureGallery) -> str:
    """Render gallery, matrix and maps; one sentence where nothing went wrong."""
    return render_macro(
        "your_data/failures.html", "failures", found, describe_failures(found), _build_matrix(found), _build_maps(found)
    )


def describe_failures(found: FailureGallery) -> str:
    """Say in one or two sentences what went wrong."""
    if not found.wrong:
        return f"None of the {found.images} images is wrong."
    share = 100 * found.wrong / found.images
    sentence = f"{found.wrong} of {found.images} images are wrong ({share:.1f} %)."
    if found.wrong == 1:
        sentence = f"1 of {found.images} images is wrong ({share:.1f} %)."
    if found.reference:
        look = found.causes.get("look", 0)
        how = "chosen with hindsight" if found.reference == "oracle" else "that make the network surest"
        sentence += (
            f" {look} failed to look: as many looks, {how}, would have been right. {found.wrong - look} failed to "
            "recognise: not even these would."
        )
    return sentence


def _build_matrix(found: FailureGallery) -> dict[str, Any] | None:
    """Return rows of counts for the classes that are confused most, None where nothing is."""
    wrong = {pair: count for pair, count in found.confusions.items() if pair[0] != pair[1]}
    if not wrong:
        return None
    names = _choose_classes(wrong)
    everything = {name for pair in found.confusions for name in pair}
    rows = [
        (name, make_readable(name), [(other, found.confusions.get((name, other), 0)) for other in names])
        for name in names
    ]
    most = max(wrong.values())
    inside = sum(count for (a, b), count in wrong.items() if a in names and b in names)
    return {
        "names": [(name, make_readable(name)) for name in names],
        "rows": rows,
        "most": most,
        "left_out": len(everything) - len(names),
        "outside": found.wrong - inside,
    }


def _choose_classes(wrong: Mapping[tuple[str, str], int]) -> list[str]:
    """Return classes for the matrix: again and again the pair with most images for each class that it adds."""
    chosen: set[str] = set()
    while True:
        added = {pair: set(pair) - chosen for pair in wrong if set(pair) - chosen}
        fitting = [pair for pair, new in added.items() if len(chosen) + len(new) <= _MAX_CLASSES]
        if not fitting:
            return sorted(chosen)
        _, best = max((wrong[pair] / len(added[pair]), pair) for pair in fitting)
        chosen |= set(best)


def _build_maps(found: FailureGallery) -> list[tuple[str, int, int, list[float]]]:
    """Return title, cells in a row, images and the share of images that look at each cell."""
    maps = []
    for title, counts, images in (
        ("All images", found.taken, found.images),
        ("Failures", found.taken_failures, found.wrong),
    ):
        if counts and images:
            maps.append((title, math.isqrt(len(counts)), images, [count / images for count in counts]))
    return maps
