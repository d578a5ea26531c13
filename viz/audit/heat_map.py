"""Maps of where the policy looks over a data set, and its classes. The browser draws the maps and sorts the classes."""

from __future__ import annotations

import base64
import io
import json
from typing import Any

import numpy as np
from PIL import Image

from viz.audit.answers import NEAR_MIDDLE
from viz.audit.data import Audit, Cells, HeatMap, LookMap
from viz.common import style
from viz.common.text import compute_lift_bounds, format_number, format_percent

_BIAS_SCALE = (
    "1: always the middle cell. 0: as far from the middle as uniform looks. Below 0: towards the border. From "
    f"{format_number(NEAR_MIDDLE)} on, the answer above says that looks begin near the middle."
)
FIRST_CLASSES = 12  # rows before all are asked for


def build_heat(audit: Audit) -> dict[str, Any] | None:
    """Return what the template and the browser need besides the audit itself; None without a heat map."""
    heat = audit.heat
    if heat is None:
        return None
    maps = [(entry, max(entry.where.taken, default=0)) for entry in heat.classes]
    rows = [(entry, encode_mini_map(entry.where.taken[most], heat.grid) if most else "", most) for entry, most in maps]
    return {
        "bounds": compute_lift_bounds(heat.grid**2),
        "payload": json.dumps(_build_payload(heat, audit), separators=(",", ":"), allow_nan=False),
        "facts": _list_facts(heat),
        "first_classes": FIRST_CLASSES,
        "rows": rows,
        "maps": {entry.name: drawn for entry, drawn, _ in rows},
    }


def _build_payload(heat: HeatMap, audit: Audit) -> dict[str, Any]:
    trained = audit.trained[0] if audit.trained else 1
    return {
        "all": _build_look_map_payload(heat.where),
        "classes": {entry.name: _build_look_map_payload(entry.where) for entry in heat.classes},
        "bias": heat.centre_bias,
        "bounds": compute_lift_bounds(heat.grid**2),
        "start": max(1, min(trained, len(heat.where.taken))),
    }


def _build_look_map_payload(where: LookMap) -> dict[str, Any]:
    taken = {k: [int(count) for count in row] for k, row in where.taken.items()}
    lift = None if where.lift is None else [round(value, 4) for value in where.lift]
    return {"images": where.images, "taken": taken, "lift": lift}


def _list_facts(heat: HeatMap) -> list[tuple[str, str, str]]:
    """Return names, values and meanings of what the evaluation states; an empty value follows the slider."""
    uniform = format_percent(1 / heat.grid**2)
    known = "The cell that is most probable on average: a policy that sees nothing would always go there."
    entropy = None if heat.entropy is None else format_number(heat.entropy)
    facts = [
        ("Centre bias of these looks", "" if heat.centre_bias else None, _BIAS_SCALE),
        ("First look at the middle cell", heat.at_centre, f"Uniform looks would go there in {uniform}."),
        ("First look at the favourite", heat.at_favourite, known),
        ("Entropy of the first look", entropy, "0: always the same cell. 1: all cells equally often."),
    ]
    return [
        (name, value if isinstance(value, str) else format_percent(value), meaning)
        for name, value, meaning in facts
        if value is not None
    ]


def encode_mini_map(counts: Cells, grid: int) -> str:
    """Return a PNG data URI of one pixel per cell: the more it was taken, the more opaque."""
    shares = np.array(counts).reshape(grid, grid) / max(1.0, *counts)
    pixels = np.empty((grid, grid, 4), dtype=np.uint8)
    pixels[..., :3] = [int(style.STRONG[at : at + 2], 16) for at in (1, 3, 5)]
    pixels[..., 3] = np.round(255 * shares)
    written = io.BytesIO()
    Image.fromarray(pixels).save(written, "PNG")
    return "data:image/png;base64," + base64.b64encode(written.getvalue()).decode("ascii")
