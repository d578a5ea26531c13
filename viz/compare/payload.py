"""What the tab is sent, as JSON text, and what its numbers mean for the two traversals at hand."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from tnet_core import ImageSource, Trace, compare
from viz.common.payload import (
    PictureInfo,
    build_grid_payload,
    build_weights_payload,
    encode_floats,
    encode_webp,
    format_json,
    read_preview,
)
from viz.common.text import compute_lift_bounds, list_class_names, list_look_names

_MAX_SIDE = 1000  # pixels of a picture's longer side, as shown in half of the page


@dataclass(frozen=True)
class Column:
    """One side: a traversal of a picture, and what it is called beside the other."""

    title: str
    trace: Trace
    source: ImageSource
    info: PictureInfo


def build_offer_payload(**offered: Any) -> str:
    """Write what can be compared at all with the picture that is open in Explore."""
    return format_json({"kind": "offer", **offered})


def build_pair_payload(a: Column, b: Column, mode: str, constant: str) -> str:
    """Write both columns; `constant` says what both have in common."""
    one, two = a.trace, b.trace
    most = tuple(map(max, itertools.zip_longest(one.budget, two.budget, fillvalue=0)))
    shown = tuple(map(max, itertools.zip_longest(one.config.budget, two.config.budget, fillvalue=0)))
    shared = "a" if compare.same_image(one, two) else "b"  # the side whose picture B shows: one is sent once
    pictures = {
        side: encode_webp(read_preview(column.source, _MAX_SIDE)) for side, column in {shared: b, "a": a}.items()
    }
    common = compare.common_classes(one, two)
    return format_json(
        {
            "kind": "pair",
            "mode": mode,
            "constant": constant,
            "pictures": pictures,
            "a": _build_column(a, "a"),
            "b": _build_column(b, shared),
            "most": most,
            "shown": [min(k, limit) for k, limit in zip(shown, most, strict=True)],
            "matched": compare.same_grid(one, two),
            "common": common,
            "overlaps": _build_overlaps(one, two, most),
            "agreement": compare.agreement(one, two),
            "cells": one.config.cells if compare.same_grid(one, two) else None,
            "order": _build_correlation(compare.order_correlation(one, two)),
            "scores": _build_correlation(compare.score_correlation(one, two)),
            "sentences": {
                "first": describe_first_looks(one, two),
                "cells": describe_cells(one, two),
                "order": describe_order(one, two),
                "scores": describe_scores(one, two),
                "kept": is_same_view(one, two),
                "classes": "" if common else explain_no_classes(one, two),
                "ledger": describe_ledger(one, two),
            },
        }
    )


def _build_column(column: Column, picture: str) -> dict[str, Any]:
    trace, source, info = column.trace, column.source, column.info
    called = zip(trace.locations, list_look_names(trace), strict=True)
    sets = {trace.select(budget=budget): None for budget in trace.budgets()}
    return {
        "title": column.title,
        "picture": picture,
        "caption": info.title,
        "credit": info.credit,
        "label": info.label,
        "width": source.width,
        "height": source.height,
        "classes": list_class_names(trace),
        "levels": trace.levels,
        "grid": trace.config.grid,
        "most": trace.budget,
        "lift": compute_lift_bounds(trace.config.cells),
        "looks": [
            {"name": name, "level": look.level, "index": look.index, "parent": look.parent, "box": look.box,
             "path": look.path}
            for look, name in called
        ],
        "grids": [build_grid_payload(trace, trace.distributions[0])],
        "projections": encode_floats(trace.projections),
        "bias": encode_floats(trace.bias),
        "temperature": trace.temperature,
        "uniform": trace.aggregator.uniform,
        "weights": build_weights_payload(trace, list(sets)),
    }  # fmt: skip


def _build_overlaps(a: Trace, b: Trace, most: Sequence[int]) -> dict[str, list[list[float | None]]]:
    """Return budget -> for each level the share of cells and of area in common."""
    found = {}
    for budget in itertools.product(*(range(limit + 1) for limit in most)):
        share = compare.overlap(a, b, compare.select_within(a, budget), compare.select_within(b, budget))
        found[",".join(map(str, budget))] = [[share.cells[level], share.area[level]] for level in share.cells]
    return found


def _build_correlation(found: compare.RankCorrelation | None) -> dict[str, float] | None:
    return None if found is None else asdict(found)


def describe_first_looks(a: Trace, b: Trace) -> str:
    """Say where each of them looks first."""
    one, two = _describe_first_cell(a), _describe_first_cell(b)
    if one is None or two is None:
        return (
            "" if one is two else f"{'A' if two is None else 'B'} looks first at {one or two}; the other takes no look."
        )
    if one == two and compare.same_grid(a, b):
        return f"Both look first at {one}."
    return f"A looks first at {one}, B at {two}."


def _describe_first_cell(trace: Trace) -> str | None:
    if not trace.locations:
        return None
    row, column = divmod(trace.locations[0].index, trace.config.grid)
    return f"row {row + 1}, column {column + 1} of {trace.config.grid} × {trace.config.grid}"


def describe_cells(a: Trace, b: Trace) -> str:
    """Say what overlap means here."""
    if not compare.same_grid(a, b):
        sizes = " and ".join(f"{trace.config.grid} × {trace.config.grid}" for trace in (a, b))
        start = f"The grids differ ({sizes}), so cells cannot be matched; areas can."
    else:
        start = "Cells, or areas inside boxes, that both looked at, as a share of what either looked at."
    if not compare.same_image(a, b):
        return f"{start} The pictures differ: this compares positions in the picture, not what is seen there."
    return f"{start} Where, not what was recognised there."


def describe_order(a: Trace, b: Trace) -> str:
    if not compare.same_grid(a, b):
        return "needs grids of the same size"
    return (
        "of all looks of both sides, however many count above: the order of their cells; those never looked at tie for "
        "the last place"
    )


def describe_scores(a: Trace, b: Trace) -> str:
    """Say what the location modules thought of the cells, whatever was looked at."""
    if not compare.same_grid(a, b):
        return "needs grids of the same size"
    if is_same_view(a, b):
        return "the same network scored the same picture: only the choice differs"
    return "what the networks thought of every cell, whatever was looked at"


def is_same_view(a: Trace, b: Trace) -> bool:
    """Whether both columns are one network's view of one picture."""
    return a.source == b.source and a.config == b.config and compare.same_image(a, b)


def explain_no_classes(a: Trace, b: Trace) -> str:
    return (
        f"The two checkpoints have no class in common ({len(a.bias)} and {len(b.bias)} classes, none of one name), so "
        "their logits cannot be set against each other; everything above still holds."
    )


def describe_ledger(a: Trace, b: Trace) -> str:
    """Say what the difference of shares says, and what it does not."""
    exact = "Exact shares of both logits and their difference, B minus A; the rows and the biases add up to it."
    if not compare.same_grid(a, b):
        exact += " The grids differ, so looks are not matched and each has a row of its own."
    elif not compare.same_image(a, b):
        exact += " Looks are matched by their position in the two pictures, not by what they show."
    else:
        exact += " Looks at the same cell are matched; one that only one side took counts as zero on the other."
    if not (a.source == b.source and a.config == b.config):
        exact += " Logits of two checkpoints have no common scale: compare signs and proportions rather than sizes."
    return exact
