"""A trace as a notebook shows it: HTML with the looks, the decision and its ledger, and a pandas table.

Colours are those of the page or such that light and dark pages both let them be read: a notebook's theme need not be
the browser's. There are no scripts.
"""

from __future__ import annotations

import base64
import io
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template
from PIL import Image

from tnet_core.errors import TNetError

if TYPE_CHECKING:
    from tnet_core.trace.trace import Trace

LONGEST_SIDE = 360  # of the picture, in CSS pixels
MAX_ROWS = 60  # looks in the picture and in the ledger; those after them are one row
MAX_NAME = 60  # characters of a class's or a checkpoint's name
TOP_CLASSES = 4


def render_trace(trace: Trace) -> str:
    """Return a trace as a piece of HTML, the same for the same trace, and below 300 kB for any."""
    width, height = _scale_to_longest(trace.image.width, trace.image.height)
    probabilities, logits = trace.probabilities(), trace.logits()
    best = np.argsort(-logits, kind="stable")[:TOP_CLASSES]
    rows, total = _describe_ledger(trace, int(best[0]))
    looks = len(trace.locations)
    return _load_template().render(
        width=width,
        height=height,
        thumbnail=None if trace.seen is None else _encode(trace.thumbnail, (width, height)),
        looks=[_place_look(trace, position, width, height) for position in range(min(looks, MAX_ROWS))],
        classes=[{"name": trace.class_name(int(c))[:MAX_NAME], "percent": 100 * probabilities[c]} for c in best],
        rows=rows,
        total=total,
        source=trace.source[:MAX_NAME],
        policy=trace.policy[:MAX_NAME],
        sampling=trace.sampling,
        picture=f"{trace.image.width} x {trace.image.height}",
        count=f"{looks} look{'' if looks == 1 else 's'}",
        gigaflops=f"{trace.cost().flops / 1e9:.3g}",
    )


@cache
def _load_template() -> Template:
    loader = FileSystemLoader(Path(__file__).parent)
    environment = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    return environment.get_template("notebook.html")


def _scale_to_longest(width: int, height: int) -> tuple[int, int]:
    scale = LONGEST_SIDE / max(width, height)
    return max(round(width * scale), 1), max(round(height * scale), 1)


def _encode(pixels: np.ndarray, size: tuple[int, int]) -> str:
    """Return pixels (h, w, 3), stretched to the picture's aspect, as the address of a JPEG."""
    file = io.BytesIO()
    Image.fromarray(pixels).resize(size, Image.Resampling.BILINEAR).save(file, "JPEG", quality=85)
    return f"data:image/jpeg;base64,{base64.b64encode(file.getvalue()).decode()}"


def _place_look(trace: Trace, position: int, width: int, height: int) -> dict[str, Any]:
    look = trace.locations[position]
    x0, x1 = (round(side * width, 1) for side in look.box[::2])
    y0, y1 = (round(side * height, 1) for side in look.box[1::2])
    # Inside its box, one step further for each level, so that a look inside another does not cover its number.
    inset = 11 + 20 * (look.level - 2)
    return {
        "number": position + 1,
        "cell": look.index,
        "level": look.level,
        "x": x0,
        "y": y0,
        "width": round(x1 - x0, 1),
        "height": round(y1 - y0, 1),
        "label_x": round(min(x0 + inset, width - 11), 1),
        "label_y": round(min(y0 + 11, height - 11), 1),
    }


def _describe_ledger(trace: Trace, cls: int) -> tuple[list[dict[str, Any]], float]:
    """Return the rows whose shares add up to the logit of a class, and that logit."""
    shares, weights = trace.contributions(cls), trace.weights()
    rows: list[dict[str, Any]] = [
        {
            "name": "thumbnail" if look is None else f"look {look + 1}",
            "cell": "" if look is None else ".".join(map(str, trace.locations[look].path)),
            "weight": float(weight),
            "share": float(value),
        }
        for look, weight, value in zip(shares.looks, weights, shares.values, strict=True)
    ]
    if len(rows) > MAX_ROWS + 1:
        rest = rows[MAX_ROWS + 1 :]
        together = {key: sum(row[key] for row in rest) for key in ("weight", "share")}
        rows[MAX_ROWS + 1 :] = [{"name": f"{len(rest)} more looks", "cell": "", **together}]
    rows.append({"name": "bias", "cell": "", "weight": None, "share": shares.bias})
    largest = max(abs(row["share"]) for row in rows) or 1.0
    for row in rows:
        row["bar"] = round(42 * abs(row["share"]) / largest, 1)
        row["bar_x"] = 42 if row["share"] >= 0 else round(42 - row["bar"], 1)
    return rows, shares.total


def to_frame(trace: Trace, cls: int | None = None) -> Any:
    """Return a DataFrame: row 0 is the thumbnail, row k the k-th look; `share` is its part of the class's logit."""
    try:
        import pandas as pd
    except ImportError:
        raise TNetError(
            "to_frame needs pandas, which is not installed; 'pip install pandas', or use to_json."
        ) from None
    chosen = trace.prediction if cls is None else cls
    shares = trace.contributions(chosen)
    columns: dict[str, list[Any]] = {"level": [1], "cell": [None], "parent": [None]}
    columns |= {name: [end] for name, end in zip(("x0", "y0", "x1", "y1"), (0.0, 0.0, 1.0, 1.0), strict=True)}
    columns |= {name: [None] for name in ("rank", "logit", "prob", "lift")}
    for look in trace.locations:
        parent = 0 if look.parent is None else look.parent + 1  # by its row here
        row: dict[str, Any] = {"level": look.level, "cell": look.index, "parent": parent}
        row |= dict(zip(("x0", "y0", "x1", "y1"), look.box, strict=True))
        row |= {"rank": look.rank, "logit": look.logit, "prob": look.prob, "lift": look.lift}
        for name, value in row.items():
            columns[name].append(value)
    columns["weight"] = trace.weights().tolist()
    columns["share"] = shares.values.tolist()
    columns["pixels_read"] = list(trace.pixels_read)
    columns["seconds"] = list(trace.timing.seconds)
    frame = pd.DataFrame(columns)
    for name in ("cell", "parent", "rank"):
        frame[name] = frame[name].astype("Int64")  # whole numbers where the thumbnail has none
    for name in ("logit", "prob", "lift"):
        frame[name] = frame[name].astype("float64")
    frame.index.name = "look"
    return frame
