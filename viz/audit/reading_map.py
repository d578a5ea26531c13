"""The heat map of an `evaluation.json`: counts that fit the grid and the number of images, or nothing."""

from __future__ import annotations

from typing import Any

from viz.audit.model import Budget, Cells, HeatMap, OfClass, Where
from viz.common.evaluation import clean_line, read_list, read_mapping, read_share, read_signed_number
from viz.common.names import readable

_LARGEST_GRID = 32
_MOST_LOOKS = 100  # of the slider
MOST_CLASSES = 1000
_SCORE = 1e3  # of centre bias; towards the border it has no fixed end


def read_heat_map(raw: dict[str, Any], trained: Budget) -> HeatMap | None:
    found = read_mapping(raw, "heat_map")
    grid = found.get("grid")
    if type(grid) is not int or not 2 <= grid <= _LARGEST_GRID:
        return None
    cells, images = grid * grid, _count(found.get("images"))
    if images is None:
        return None
    taken = _rows(read_list(found, "taken"), cells, images)
    where = Where(images, taken, _lift(found.get("probability"), cells))
    if not taken and where.lift is None:
        return None
    entries = [_class(item, cells, trained) for item in read_list(found, "per_class")]
    known = [entry for entry in entries if entry is not None]
    bias = read_mapping(found, "centre_bias")
    return HeatMap(
        grid=grid,
        where=where,
        classes=_distinct(known[:MOST_CLASSES]),
        more_classes=len(entries) - len(known[:MOST_CLASSES]),
        centre_bias=_scores(read_list(bias, "after_looks")),
        at_centre=read_share(bias.get("first_look_at_centre")),
        at_favourite=read_share(bias.get("first_look_at_mean_favourite")),
        entropy=read_share(bias.get("entropy_of_first_look")),
    )


def _class(item: Any, cells: int, trained: Budget) -> OfClass | None:
    """Of single classes, a file counts the first look and as many as in training."""
    entry = item if isinstance(item, dict) else {}
    images, label = _count(entry.get("images")), entry.get("class")
    if images is None or type(label) is not int or not 0 <= label < 10**9:
        return None
    name = entry.get("name")
    counted = {1: "taken_1"} | ({trained[0]: "taken_trained"} if trained and trained[0] > 1 else {})
    taken = {k: row for k, key in counted.items() if (row := _counts(entry.get(key), cells, images)) is not None}
    bias = entry.get("centre_bias")
    return OfClass(
        name=readable(clean_line(name)) if isinstance(name, str) and clean_line(name) else f"class {label}",
        where=Where(images, taken, _lift(entry.get("probability"), cells)),
        top1=read_share(entry.get("top1")),
        thumbnail=read_share(entry.get("top1_thumbnail")),
        centre_bias=_score(bias),
    )


def _distinct(classes: list[OfClass]) -> tuple[OfClass, ...]:
    """Names by which classes can be chosen: a second one of the same name gets a number."""
    used: set[str] = set()
    renamed = []
    for entry in classes:
        name, turn = entry.name, 2
        while name in used:
            name, turn = f"{entry.name} ({turn})", turn + 1
        used.add(name)
        renamed.append(OfClass(name, entry.where, entry.top1, entry.thumbnail, entry.centre_bias))
    return tuple(renamed)


def _count(value: Any) -> int | None:
    """A number of images."""
    return value if type(value) is int and 1 <= value <= 10**9 else None


def _counts(value: Any, cells: int, images: int) -> Cells | None:
    if not isinstance(value, list) or len(value) != cells:
        return None
    return tuple(map(float, value)) if all(type(n) is int and 0 <= n <= images for n in value) else None


def _rows(rows: list[Any], cells: int, images: int) -> dict[int, Cells]:
    """Up to the first row that is not as it should be: without it the next ones mean nothing."""
    found: dict[int, Cells] = {}
    for k, row in enumerate(rows[:_MOST_LOOKS], 1):
        counts = _counts(row, cells, images)
        if counts is None:
            break
        found[k] = counts
    return found


def _lift(value: Any, cells: int) -> Cells | None:
    """Probabilities over uniform."""
    shares = [read_share(p) for p in value] if isinstance(value, list) and len(value) == cells else []
    known = [p for p in shares if p is not None]
    if len(known) != cells or not 0.9 <= sum(known) <= 1.1:
        return None
    return tuple(p * cells for p in known)


def _scores(values: list[Any]) -> dict[int, float]:
    found = {k: _score(value) for k, value in enumerate(values[:_MOST_LOOKS], 1)}
    return {k: value for k, value in found.items() if value is not None}


def _score(value: Any) -> float | None:
    """At most 1."""
    found = read_signed_number(value, _SCORE)
    return found if found is not None and found <= 1 else None
