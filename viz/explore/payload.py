"""What the tab is sent: a whole traversal, or the weights of looks chosen by hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tnet_core import ImageSource, Location, Trace
from tnet_core.checkpoints import CheckpointCard
from tnet_core.cost import unit_costs
from tnet_core.sampling.boxes import pixel_box
from viz.common.images import encode_webp, read_preview
from viz.common.payload import (
    LookSet,
    PictureInfo,
    build_grid_payload,
    build_weights_payload,
    encode_floats,
    format_json,
    list_distinct_budgets,
)
from viz.common.text import compute_lift_bounds, list_class_names, list_look_names
from viz.explore.evidence import build_evidence
from viz.explore.sampling import build_sampling_payload

_MAX_SIDE = 1400  # pixels of the picture's longer side, as shown
_CROP_QUALITY = 80


def build_scene_payload(
    trace: Trace,
    source: ImageSource,
    plate: PictureInfo,
    shown: Sequence[int],
    plan: LookSet = (),
    scene: int = 0,
    about: CheckpointCard | None = None,
    max_looks: int = 0,
) -> str:
    """Write a whole traversal. `shown` is the budget to open with; `plan` are looks chosen by hand, in their order.

    The page names `scene` when it asks about it; it has room for `max_looks`.
    """
    unit = unit_costs(trace.config)
    low, high = compute_lift_bounds(trace.config.cells) if trace.distributions else (1.0, 1.0)
    return format_json(
        {
            "kind": "scene",
            "scene": scene,
            "title": plate.title,
            "credit": plate.credit,
            "label": plate.label,
            "width": source.width,
            "height": source.height,
            "picture": encode_webp(read_preview(source, _MAX_SIDE)),
            "thumbnail": encode_webp(trace.thumbnail, _CROP_QUALITY),
            "classes": list_class_names(trace),
            "levels": trace.levels,
            "sampling": trace.sampling,
            "cut": build_sampling_payload(trace, shown, max_looks),
            "grid": trace.config.grid,
            "base": trace.config.base_resolution,
            "most": trace.budget,
            "shown": [min(k, most) for k, most in zip(shown, trace.budget, strict=False)],
            "lift": [low, high],
            "looks": [
                _build_look_payload(*item, source)
                for item in zip(trace.locations, list_look_names(trace), trace.crops, strict=True)
            ],
            "grids": [build_grid_payload(trace, grid) for grid in trace.distributions],
            "projections": encode_floats(trace.projections),
            "bias": encode_floats(trace.bias),
            "flops": {
                "thumbnail": unit.look + unit.weigh_each + unit.weigh + unit.classify,
                "look": unit.look + unit.weigh_each,
                "grid": unit.locate,
            },
            "uniform": trace.aggregator.uniform,
            "weights": build_ledger_weights(trace, list_look_sets(trace) + (list_steps(plan) if plan else [])),
            "plan": list(plan) or None,
            "evidence": build_evidence(trace, about or CheckpointCard(trace.source, "Not loaded from a checkpoint.")),
        }
    )


def build_steer_payload(trace: Trace, plan: LookSet) -> str:
    """Write the weights for looks chosen by hand that are all known already."""
    return format_json({"kind": "steer", "plan": list(plan), "weights": build_ledger_weights(trace, list_steps(plan))})


def _build_look_payload(look: Location, name: str, crop: np.ndarray, source: ImageSource) -> dict[str, Any]:
    return {
        "name": name,
        "level": look.level,
        "index": look.index,
        "parent": look.parent,
        "box": look.box,
        "native": pixel_box(look.box, source.width, source.height),  # in pixels of the picture
        "rank": look.rank,
        "lift": look.lift,
        "crop": encode_webp(crop, _CROP_QUALITY),
    }


def build_ledger_weights(trace: Trace, sets: Sequence[LookSet]) -> dict[str, Any]:
    """Add a field `without` to `build_weights_payload`: of each set, without each row in turn, those of the others.

    Weights depend on the whole set, so that the page could not find them by itself.
    """
    found = build_weights_payload(trace, sets)
    masks = [_mask_left_out(looks, len(trace.locations) + 1) for looks in found["sets"] if looks]
    if not masks:
        return found | {"without": ""}
    chosen = np.concatenate(masks)
    return found | {"without": encode_floats(trace.aggregator.many_weights(chosen)[chosen])}


def _mask_left_out(looks: LookSet, count: int) -> np.ndarray:
    """Return the rows of a set without the thumbnail, then without each look by position: (1 + looks, count) bool."""
    rows = [0, *(look + 1 for look in looks)]
    masks = np.zeros((len(rows), count), dtype=bool)
    masks[:, rows] = True
    masks[range(len(rows)), rows] = False
    return masks


def list_look_sets(trace: Trace) -> list[LookSet]:
    """List the sets that the page can show without asking: of every budget, and every step on the way to it."""
    if trace.levels == 2:
        return [tuple(range(k + 1)) for k in range(-1, len(trace.locations))]
    found: dict[LookSet, None] = {}
    for budget in list_distinct_budgets(trace):
        looks = trace.select(budget=budget)
        found.update((looks[:k], None) for k in range(len(looks) + 1))
    return list(found)


def list_steps(looks: Sequence[int]) -> list[LookSet]:
    """List the sets that are met when looks are taken in this order."""
    return [tuple(looks[:k]) for k in range(len(looks) + 1)]
