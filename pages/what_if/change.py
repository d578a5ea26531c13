"""Changes of a picture: what a browser or an address may ask for, checked."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import tnet_core as tn
from tnet_core.numbers import check_whole
from tnet_core.records import Box

SCALES = (50, 200)  # per cent
KINDS = {"flip": "Mirror", "shift": "Shift", "scale": "Scale", "paste": "Paste a part"}
_NUMBER = re.compile(r"-?[0-9]{1,4}")


@dataclass(frozen=True)
class Change:
    """A change as a browser asks for it; anything may be in it until it was checked."""

    kind: Any = "flip"
    x: Any = 0  # cells to the right
    y: Any = 0  # cells down
    scale: Any = 100  # per cent
    source: Any = 0  # cell
    target: Any = 0  # cell, or where a part is dropped: its left and upper edge, in thousandths of the picture


_PARAMETERS = {
    "flip": {},
    "shift": {"right": "x", "down": "y"},
    "scale": {"size": "scale"},
    "paste": {"copy": "source", "onto": "target"},
}  # names of a change's numbers in the page's address


def write_change(change: Change) -> str:
    """Return a change as parameters of the page's address; `parse_change` reads them."""
    numbers = {name: getattr(change, field) for name, field in _PARAMETERS[change.kind].items()}
    if isinstance(change.target, tuple):
        numbers["onto"] = ",".join(map(str, change.target))
    return urlencode({"change": change.kind, **numbers})


def parse_change(parameters: Mapping[str, str], grid: int) -> Change | None:
    """Return the change that an address names, None where it names none; a TNetError where that cannot be made."""
    kind = parameters.get("change")
    if kind is None:
        return None
    given = {field: parameters.get(name, "") for name, field in _PARAMETERS.get(kind, {}).items()}
    return check_change(Change(kind, **{field: _read_numbers(text) for field, text in given.items()}), grid)


def _read_numbers(text: str) -> Any:
    """Return a number, or a list of numbers that commas separate; any other text as it is."""
    parts = [int(part) if _NUMBER.fullmatch(part) else part for part in text.split(",")]
    return parts[0] if len(parts) == 1 else parts


def check_change(change: Change, grid: int) -> Change:
    """Return the change with numbers that can be used; a TNetError where there are none."""
    if not isinstance(change.kind, str) or change.kind not in KINDS:
        raise tn.TNetError(f"A picture can be changed in {len(KINDS)} ways, of which {change.kind!r:.40} is none.")
    if change.kind == "flip":
        return Change("flip")
    if change.kind == "shift":
        x, y = (_whole(v, "A shift in cells", 1 - grid, grid - 1) for v in (change.x, change.y))
        return Change("shift", x, y)
    if change.kind == "scale":
        return Change("scale", scale=_whole(change.scale, "A size in per cent", *SCALES))
    source, target = _whole(change.source, "A cell", 0, grid * grid - 1), change.target
    if isinstance(target, (tuple, list)):
        return Change("paste", source=source, target=check_place(target))
    target = _whole(target, "A cell", 0, grid * grid - 1)
    if source == target:
        raise tn.TNetError("A part pasted onto itself changes nothing: choose two different cells.")
    return Change("paste", source=source, target=target)


def check_place(place: Any) -> tuple[int, int]:
    """Return where a part is dropped: its left and upper edge."""
    if len(place) != 2:
        raise tn.TNetError("A place is two numbers: the left and the upper edge of what is put there.")
    left, top = (_whole(at, "A place in thousandths of the picture", 0, 1000) for at in place)
    return left, top


def place_copy(change: Change, boxes: Sequence[Box]) -> Box:
    """Return the box that shows the copy; one that was dropped is moved into the picture."""
    if not isinstance(change.target, tuple):
        return boxes[change.target]
    x0, y0, x1, y1 = boxes[change.source]
    left, top = (min(at / 1000, 1 - side) for at, side in zip(change.target, (x1 - x0, y1 - y0), strict=True))
    return left, top, left + x1 - x0, top + y1 - y0


def _whole(value: Any, what: str, low: int, high: int) -> int:
    """Check a whole number; a slider sends 3.0 for 3."""
    if isinstance(value, float) and math.isfinite(value) and value == int(value):
        value = int(value)
    return check_whole(value, what, low, high)
