"""What the stage is sent, as JSON text.

Numbers that are many travel as base64 of little-endian float32; looks are meant by their position in
`trace.locations`, and rows are the thumbnail followed by the looks.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tnet_core import Distribution, ImageSource, Location, Trace
from tnet_core.checkpoints import CheckpointCard
from tnet_core.cost import unit_costs
from tnet_core.sampling.boxes import pixel_box
from viz.common.encode import data_uri, preview
from viz.common.lift import lift_bounds
from viz.common.names import class_names
from viz.common.selection import labels
from viz.report import evidence
from viz.stage.cut import cut_of
from viz.stage.sets import Looks, shown_sets, steps

_LONGEST = 1400  # pixels of the picture's longer side, as shown
_CROP_QUALITY = 80


@dataclass(frozen=True)
class Plate:
    """What a traversed picture is called, and what is known about it."""

    title: str
    credit: str = ""  # author and licence
    label: int | None = None  # class it is known to show


def scene_payload(
    trace: Trace,
    source: ImageSource,
    plate: Plate,
    shown: Sequence[int],
    plan: Looks = (),
    scene: int = 0,
    about: CheckpointCard | None = None,
    max_looks: int = 0,
) -> str:
    """A whole traversal. `shown` is the budget to open with; `plan` are looks chosen by hand, in their order.

    The page names `scene` when it asks about it; it has room for `max_looks`.
    """
    unit = unit_costs(trace.config)
    low, high = lift_bounds(trace.config.cells) if trace.distributions else (1.0, 1.0)
    return written(
        {
            "kind": "scene",
            "scene": scene,
            "title": plate.title,
            "credit": plate.credit,
            "label": plate.label,
            "width": source.width,
            "height": source.height,
            "picture": data_uri(preview(source, _LONGEST)),
            "thumbnail": data_uri(trace.thumbnail, _CROP_QUALITY),
            "classes": class_names(trace),
            "levels": trace.levels,
            "sampling": trace.sampling,
            "cut": cut_of(trace, shown, max_looks),
            "grid": trace.config.grid,
            "base": trace.config.base_resolution,
            "most": trace.budget,
            "shown": [min(k, most) for k, most in zip(shown, trace.budget, strict=False)],
            "lift": [low, high],
            "looks": [_look(*item, source) for item in zip(trace.locations, labels(trace), trace.crops, strict=True)],
            "grids": [grid_of(trace, grid) for grid in trace.distributions],
            "projections": floats(trace.projections),
            "bias": floats(trace.bias),
            "flops": {
                "thumbnail": unit.look + unit.weigh_each + unit.weigh + unit.classify,
                "look": unit.look + unit.weigh_each,
                "grid": unit.locate,
            },
            "uniform": trace.aggregator.uniform,
            "weights": ledger_weights(trace, shown_sets(trace) + (steps(plan) if plan else [])),
            "plan": list(plan) or None,
            "evidence": evidence(trace, about or CheckpointCard(trace.source, "Not loaded from a checkpoint.")),
        }
    )


def steer_payload(trace: Trace, plan: Looks) -> str:
    """Weights for looks chosen by hand that are all known already."""
    return written({"kind": "steer", "plan": list(plan), "weights": ledger_weights(trace, steps(plan))})


def _look(look: Location, name: str, crop: np.ndarray, source: ImageSource) -> dict[str, Any]:
    return {
        "name": name,
        "level": look.level,
        "index": look.index,
        "parent": look.parent,
        "box": look.box,
        "native": pixel_box(look.box, source.width, source.height),  # in pixels of the picture
        "rank": look.rank,
        "lift": look.lift,
        "crop": data_uri(crop, _CROP_QUALITY),
    }


def grid_of(trace: Trace, grid: Distribution) -> dict[str, Any]:
    """One grid: what the network thought of its cells, and where they lie."""
    return {
        "parent": grid.parent,
        "level": grid.level,
        "lift": grid.lift.ravel().tolist(),
        "rank": grid.ranks.ravel().tolist(),
        "boxes": trace.cell_boxes(grid.parent),
    }


def weights_of(trace: Trace, sets: Sequence[Looks]) -> dict[str, Any]:
    """Of each set, the thumbnail's weight first, then those of its looks by position."""
    ordered = [tuple(sorted(looks)) for looks in sets]
    if trace.aggregator.uniform:
        return {"sets": [], "values": ""}
    masks = np.zeros((len(ordered), len(trace.locations) + 1), dtype=bool)
    masks[:, 0] = True
    for row, looks in enumerate(ordered):
        masks[row, [look + 1 for look in looks]] = True
    return {"sets": ordered, "values": floats(trace.aggregator.many_weights(masks)[masks])}


def ledger_weights(trace: Trace, sets: Sequence[Looks]) -> dict[str, Any]:
    """Return `weights_of` with one more field, `without`: of each set, without each row in turn, those of the others.

    Weights depend on the whole set, so that the page could not find them by itself.
    """
    found = weights_of(trace, sets)
    masks = [_left_out(looks, len(trace.locations) + 1) for looks in found["sets"] if looks]
    if not masks:
        return found | {"without": ""}
    chosen = np.concatenate(masks)
    return found | {"without": floats(trace.aggregator.many_weights(chosen)[chosen])}


def _left_out(looks: Looks, count: int) -> np.ndarray:
    """The rows of a set without the thumbnail, then without each look by position: (1 + looks, count) bool."""
    rows = [0, *(look + 1 for look in looks)]
    masks = np.zeros((len(rows), count), dtype=bool)
    masks[:, rows] = True
    masks[range(len(rows)), rows] = False
    return masks


def floats(values: np.ndarray) -> str:
    """Many numbers, as they travel."""
    return base64.b64encode(np.ascontiguousarray(values, dtype="<f4").tobytes()).decode("ascii")


def written(value: dict[str, Any]) -> str:
    """JSON without spaces; a number that is not finite is an error here, not on the page."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False, ensure_ascii=True)
