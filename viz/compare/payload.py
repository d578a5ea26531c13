"""What the Compare tab is sent, as JSON text; many numbers travel as those of the stage do."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from tnet_core import ImageSource, Trace, compare
from viz.common.encode import data_uri, preview
from viz.common.lift import lift_bounds
from viz.common.names import class_names
from viz.common.selection import labels
from viz.compare.sentences import first_looks, kept, no_classes, on_cells, on_ledger, on_order, on_scores
from viz.stage import Plate
from viz.stage.payload import floats, grid_of, weights_of, written

_LONGEST = 1000  # pixels of a picture's longer side, as shown in half of the page


@dataclass(frozen=True)
class Column:
    """One side: a traversal of a picture, and what it is called beside the other."""

    title: str
    trace: Trace
    source: ImageSource
    plate: Plate


def offer_payload(**offered: Any) -> str:
    """What can be compared at all with the picture that is open in Explore."""
    return written({"kind": "offer", **offered})


def pair_payload(a: Column, b: Column, asked: int, mode: str, constant: str) -> str:
    """Both columns. `asked` is the number of the page's question, `constant` says what both have in common."""
    one, two = a.trace, b.trace
    most = tuple(map(max, itertools.zip_longest(one.budget, two.budget, fillvalue=0)))
    shown = tuple(map(max, itertools.zip_longest(one.config.budget, two.config.budget, fillvalue=0)))
    shared = "a" if compare.same_image(one, two) else "b"  # the side whose picture B shows: one is sent once
    pictures = {side: data_uri(preview(column.source, _LONGEST)) for side, column in {shared: b, "a": a}.items()}
    common = compare.common_classes(one, two)
    return written(
        {
            "kind": "pair",
            "ask": asked,
            "mode": mode,
            "constant": constant,
            "pictures": pictures,
            "a": _column(a, "a"),
            "b": _column(b, shared),
            "most": most,
            "shown": [min(k, limit) for k, limit in zip(shown, most, strict=True)],
            "matched": compare.same_grid(one, two),
            "common": common,
            "overlaps": _overlaps(one, two, most),
            "agreement": compare.agreement(one, two),
            "cells": one.config.cells if compare.same_grid(one, two) else None,
            "order": _correlation(compare.order_correlation(one, two)),
            "scores": _correlation(compare.score_correlation(one, two)),
            "sentences": {
                "first": first_looks(one, two),
                "cells": on_cells(one, two),
                "order": on_order(one, two),
                "scores": on_scores(one, two),
                "kept": kept(one, two),
                "classes": "" if common else no_classes(one, two),
                "ledger": on_ledger(one, two),
            },
        }
    )


def _column(column: Column, picture: str) -> dict[str, Any]:
    trace, source, plate = column.trace, column.source, column.plate
    called = zip(trace.locations, labels(trace), strict=True)
    sets = {trace.select(budget=budget): None for budget in trace.budgets()}
    return {
        "title": column.title,
        "picture": picture,
        "caption": plate.title,
        "credit": plate.credit,
        "label": plate.label,
        "width": source.width,
        "height": source.height,
        "classes": class_names(trace),
        "levels": trace.levels,
        "grid": trace.config.grid,
        "most": trace.budget,
        "lift": lift_bounds(trace.config.cells),
        "looks": [
            {"name": name, "level": look.level, "index": look.index, "parent": look.parent, "box": look.box,
             "path": look.path}
            for look, name in called
        ],
        "grids": [grid_of(trace, trace.distributions[0])],
        "projections": floats(trace.projections),
        "bias": floats(trace.bias),
        "uniform": trace.aggregator.uniform,
        "weights": weights_of(trace, list(sets)),
    }  # fmt: skip


def _overlaps(a: Trace, b: Trace, most: Sequence[int]) -> dict[str, list[list[float | None]]]:
    """Budget -> for each level the share of cells and of area in common."""
    found = {}
    for budget in itertools.product(*(range(limit + 1) for limit in most)):
        share = compare.overlap(a, b, compare.within(a, budget), compare.within(b, budget))
        found[",".join(map(str, budget))] = [[share.cells[level], share.area[level]] for level in share.cells]
    return found


def _correlation(found: compare.RankCorrelation | None) -> dict[str, float] | None:
    return None if found is None else asdict(found)
