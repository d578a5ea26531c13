"""Parts of what a tab is sent, as JSON text and data URIs.

Numbers that are many travel as base64 of little-endian float32; looks are meant by their position in
`trace.locations`, and rows are the thumbnail followed by the looks.
"""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from PIL import Image

from tnet_core import Distribution, ImageSource, Trace

LookSet = tuple[int, ...]  # positions in `trace.locations`


@dataclass(frozen=True)
class PictureInfo:
    """What a traversed picture is called, and what is known about it."""

    title: str
    credit: str = ""  # author and licence
    label: int | None = None  # class it is known to show


def build_grid_payload(trace: Trace, grid: Distribution) -> dict[str, Any]:
    """Return one grid: what the network thought of its cells, and where they lie."""
    return {
        "parent": grid.parent,
        "level": grid.level,
        "lift": grid.lift.ravel().tolist(),
        "rank": grid.ranks.ravel().tolist(),
        "boxes": trace.cell_boxes(grid.parent),
    }


def build_weights_payload(trace: Trace, sets: Sequence[LookSet]) -> dict[str, Any]:
    """Return the weights of each set, the thumbnail's first, then those of its looks by position."""
    ordered = [tuple(sorted(looks)) for looks in sets]
    if trace.aggregator.uniform:
        return {"sets": [], "values": ""}
    masks = np.zeros((len(ordered), len(trace.locations) + 1), dtype=bool)
    masks[:, 0] = True
    for row, looks in enumerate(ordered):
        masks[row, [look + 1 for look in looks]] = True
    return {"sets": ordered, "values": encode_floats(trace.aggregator.many_weights(masks)[masks])}


def encode_floats(values: np.ndarray) -> str:
    """Encode many numbers as they travel."""
    return base64.b64encode(np.ascontiguousarray(values, dtype="<f4").tobytes()).decode("ascii")


def format_json(value: dict[str, Any]) -> str:
    """Write JSON without spaces; a number that is not finite is an error here, not on the page."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False, ensure_ascii=True)


def list_distinct_budgets(trace: Trace) -> Iterator[tuple[int, ...]]:
    """Yield every budget up to the trace's own, without those that ask for looks inside looks that are not taken."""
    for budget in trace.budgets():
        if 0 not in budget or not any(budget[budget.index(0) :]):
            yield budget


def encode_webp(pixels: np.ndarray, quality: int = 86) -> str:
    """Encode (H, W, 3) uint8 RGB as a WebP data URI."""
    buffer = io.BytesIO()
    # Method 2 of 0…6: a third of the default's time for a few per cent more bytes.
    Image.fromarray(pixels).save(buffer, "WEBP", quality=quality, method=2)
    return "data:image/webp;base64," + base64.b64encode(buffer.getvalue()).decode("ascii")


def encode_lossless_webp(pixels: np.ndarray) -> str:
    """Encode (H, W, 3) uint8 RGB as a WebP data URI that decodes to exactly these pixels."""
    buffer = io.BytesIO()
    # The least effort: as quick as PNG and two thirds of its bytes; more effort saves hardly anything.
    Image.fromarray(pixels).save(buffer, "WEBP", lossless=True, quality=0, method=0)
    return "data:image/webp;base64," + base64.b64encode(buffer.getvalue()).decode("ascii")


def read_preview(source: ImageSource, longest: int) -> np.ndarray:
    """Read the whole image, no side longer than `longest`, never enlarged."""
    shrink = min(1.0, longest / max(source.width, source.height))
    size = (max(1, round(source.width * shrink)), max(1, round(source.height * shrink)))
    return source.resized((0, 0, source.width, source.height), size)
