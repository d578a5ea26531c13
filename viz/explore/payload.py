"""What the tab is sent: a whole traversal with its origin, or the weights of looks chosen by hand."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from dataclasses import asdict
from functools import cache
from importlib.metadata import version
from typing import Any

import numpy as np

from tnet_core import ImageSource, Location, Trace, __version__
from tnet_core.checkpoints import CheckpointCard
from tnet_core.checkpoints.card import describe
from tnet_core.cost import measure_unit_costs
from tnet_core.imageio.info import ImageInfo
from tnet_core.records import pixel_box
from tnet_core.schemas.files import TENSOR_FILE
from tnet_core.schemas.trace import VERSION
from viz.common.payload import (
    LookSet,
    PictureInfo,
    build_grid_payload,
    build_weights_payload,
    encode_floats,
    encode_webp,
    format_json,
    list_distinct_budgets,
    read_preview,
)
from viz.common.text import compute_lift_bounds, list_class_names, list_look_names
from viz.explore.checkpoint import explain_unlike, format_licence
from viz.explore.sampling import build_sampling_payload

_MAX_SIDE = 1400  # pixels of the picture's longer side, as shown
_CROP_QUALITY = 80
_PACKAGES = ("torch", "timm", "numpy", "gradio")


def build_scene_payload(
    trace: Trace,
    source: ImageSource,
    info: PictureInfo,
    shown: Sequence[int],
    plan: LookSet = (),
    about: CheckpointCard | None = None,
    max_looks: int = 0,
) -> str:
    """Write a whole traversal. `shown` is the budget to open with; `plan` are looks chosen by hand, in their order.

    The page has room for `max_looks`.
    """
    unit = measure_unit_costs(trace.config)
    low, high = compute_lift_bounds(trace.config.cells) if trace.distributions else (1.0, 1.0)
    return format_json(
        {
            "kind": "scene",
            "title": info.title,
            "credit": info.credit,
            "label": info.label,
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
            "temperature": trace.temperature,
            "unlike": "" if about is None else explain_unlike(trace, about),
            "rule": None if trace.recommended is None or trace.levels != 2 else asdict(trace.recommended),
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


def build_steer_payload(
    trace: Trace, plan: LookSet, crops: Sequence[np.ndarray] = (), steps: Sequence[int] | None = None
) -> dict[str, Any]:
    """Return looks chosen by hand with the weights of some of their steps (all, if none are named).

    `crops` are those of the last looks of the trace, which the page does not know: these are sent too.
    """
    first = len(trace.locations) - len(crops)
    new = zip(trace.locations[first:], list_look_names(trace)[first:], crops, strict=True)
    sets = list_steps(plan)
    return {
        "kind": "steer",
        "plan": list(plan),
        "weights": build_ledger_weights(trace, sets if steps is None else [sets[step] for step in steps]),
        "first": first,
        "looks": [_build_look_payload(*item, trace.image) for item in new],
        "grids": [
            build_grid_payload(trace, grid)
            for grid in trace.distributions
            if grid.parent is not None and grid.parent >= first
        ],
        "projections": encode_floats(trace.projections[first + 1 :]),
    }


def _build_look_payload(look: Location, name: str, crop: np.ndarray, source: ImageSource | ImageInfo) -> dict[str, Any]:
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


def build_evidence(trace: Trace, about: CheckpointCard) -> dict[str, Any]:
    """Return which weights and which picture, and with what it was computed.

    The sha256 of a large picture may be missing: it is taken when a file with it is asked for.
    """
    weights = about.files.get(TENSOR_FILE)
    return {
        "title": about.title,
        "source": trace.source,
        "origin": about.origin,
        "model": describe(trace.config),
        "sha256": None if weights is None else weights.sha256,
        "licence": format_licence(about),
        "image": {"sha256": trace.image.known_sha256, "hashed": trace.image.hashed},
        "sampling": _describe_sampling(trace),
        "versions": _format_versions(),
        "weights": _format_weights_option(trace, about),
    }


def _describe_sampling(trace: Trace) -> str:
    """Return the mode, and what it means where it is not that of training."""
    if trace.sampling == trace.config.sampling == "official":
        return trace.sampling
    frame = "the picture's own pixels" if trace.sampling == "native" else "the network's own frame"
    own = "" if trace.sampling == trace.config.sampling else f"; trained and measured with {trace.config.sampling}"
    deeper = (
        f"; {trace.levels} levels, trained with {trace.config.levels}" if trace.levels != trace.config.levels else ""
    )
    return f"{trace.sampling}: looks cut from {frame}{own}{deeper}"


def _format_weights_option(trace: Trace, about: CheckpointCard) -> str:
    """Return what the command that replays a trace must be told, where the trace itself does not name its weights."""
    if about.verified or about.commit:
        return ""
    never_loaded = not about.provenance and about.source == "untrained"
    return f"--preset {trace.config.name}" if never_loaded and trace.config.name else "--checkpoint FOLDER"


@cache
def _format_versions() -> str:
    packages = ", ".join(f"{name} {version(name)}" for name in _PACKAGES)
    return f"TNet Explorer {__version__}, Python {platform.python_version()}, {packages}; trace format {VERSION}"
