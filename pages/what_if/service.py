"""What the tab 'What if' asks for: a picture changed and looked at again. Knows no component."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import tnet_core as tn
from pages.explore.service import Explorer, Session
from pages.waiting import NO_PICTURE
from tnet_core.counterfactual import Lattice, Move, moved, pasted, place
from tnet_core.numbers import whole
from viz.budgets import MOST_LOOKS, looks_of
from viz.common.encode import data_uri, preview
from viz.stage.cut import elsewhere
from viz.what_if.experiment import Experiment, read_measured_scores
from viz.what_if.page import NO_LOOKS
from viz.what_if.panels import format_cell

LONGEST = 1400  # pixels of the longer side of the picture that is changed, whatever the file has
_SHOWN = 1000  # … as shown in half of the page
_MOST = 10  # looks at the whole picture
SCALES = (50, 200)  # per cent
KINDS = {"flip": "Mirror", "shift": "Shift", "scale": "Scale", "paste": "Paste a part"}
_STEPS = {(-1, 0): "shift_left", (1, 0): "shift_right", (0, -1): "shift_up", (0, 1): "shift_down"}
OnStep = Callable[[str], None]


@dataclass(frozen=True, eq=False)
class Untouched:
    """The unchanged side of a page: no pixels."""

    session: Session
    trace: tn.Trace  # of the picture at the size at which it is changed

    @property
    def grid(self) -> int:
        return self.trace.config.grid

    def cells(self) -> list[tuple[str, int]]:
        """To choose from: the looks first, in their order."""
        looks = [look.index for look in self.trace.locations if look.parent is None]
        others = [cell for cell in range(self.trace.config.cells) if cell not in looks]
        named = [(f"look {rank + 1}: {self.name(cell)}", cell) for rank, cell in enumerate(looks)]
        return named + [(self.name(cell), cell) for cell in others]

    def name(self, cell: int) -> str:
        return format_cell(*divmod(cell, self.grid))

    @property
    def paste(self) -> tuple[int, int]:
        """What is copied at first: the first look, onto the corner farthest from it."""
        n, first = self.grid, self.trace.locations[0].index
        corners = (0, n - 1, n * (n - 1), n * n - 1)
        return first, max(corners, key=lambda cell: abs(cell // n - first // n) + abs(cell % n - first % n))


@dataclass(frozen=True)
class Wish:
    """A change as a browser asks for it; anything may be in it until it was checked."""

    kind: Any = "flip"
    x: Any = 0  # cells to the right
    y: Any = 0  # cells down
    scale: Any = 100  # per cent
    source: Any = 0  # cell
    target: Any = 0


def lab_budget(config: tn.TNetConfig) -> tuple[int, ...]:
    """Up to ten looks at the whole picture, those of training inside each."""
    below = tuple(max(1, looks) for looks in config.budget[1:])
    most = min(_MOST, config.cells)
    while most > 1 and looks_of((most, *below)) > MOST_LOOKS:
        most -= 1
    return most, *below


class Lab:
    def __init__(self, explorer: Explorer) -> None:
        self._explorer = explorer

    def untouched(self, session: Session | None) -> Untouched:
        """Looks at the picture that is open in Explore."""
        if session is None:
            raise tn.TNetError(NO_PICTURE)
        if session.trace.config.is_baseline:
            raise tn.TNetError(NO_LOOKS)
        return Untouched(session, self._looks(session.spec, self._pixels(session)))

    def change(self, untouched: Untouched, wish: Wish, on_step: OnStep | None = None) -> Experiment:
        """The picture changed as wished, looked at again."""
        session, config = untouched.session, untouched.trace.config
        told = checked(wish, config.grid)  # before anything is decoded
        pixels = self._pixels(session)
        height, width = pixels.shape[:2]
        about, plate = self._explorer.about(session.spec), self._explorer.picture(session.spec, session.where)[1]
        name, known, how = _described(told, untouched)
        if told.kind == "paste":
            boxes = untouched.trace.cell_boxes()
            changed = pasted(pixels, boxes[told.source], boxes[told.target])
            how |= {"copied": (told.source, told.target)}
        else:
            placement = place(_move(told, Lattice.of(config, width, height)), width, height)
            changed = moved(pixels, placement)
            how |= {"placement": placement}
        if on_step is not None:
            on_step("Looking at the changed picture")
        same = not how["has_changed"]
        return Experiment(
            title=plate.title,
            change=name,
            before=untouched.trace,
            after=untouched.trace if same else self._looks(session.spec, changed),
            pictures=(_shown(pixels), _shown(changed)),
            label=plate.label,
            evaluated_on="" if about.evaluation is None else about.evaluation.where,
            measured=read_measured_scores(about, known),
            sampling_note=elsewhere(session.trace),
            **how,
        )

    def _pixels(self, session: Session) -> np.ndarray:
        source, _ = self._explorer.picture(session.spec, session.where)
        return preview(source, LONGEST)

    def _looks(self, spec: str, pixels: np.ndarray) -> tn.Trace:
        config = self._explorer.shelf.open(spec).config
        trace = self._explorer.looks(spec, tn.ImageSource.open(pixels), budget=lab_budget(config))
        return replace(trace, seen=None)


def checked(wish: Wish, grid: int) -> Wish:
    """The same with numbers that can be used."""
    if not isinstance(wish.kind, str) or wish.kind not in KINDS:
        raise tn.TNetError(f"A picture can be changed in {len(KINDS)} ways, of which {wish.kind!r:.40} is none.")
    if wish.kind == "flip":
        return Wish("flip")
    if wish.kind == "shift":
        x, y = (_whole(v, "A shift in cells", 1 - grid, grid - 1) for v in (wish.x, wish.y))
        return Wish("shift", x, y)
    if wish.kind == "scale":
        return Wish("scale", scale=_whole(wish.scale, "A size in per cent", *SCALES))
    source, target = (_whole(v, "A cell", 0, grid * grid - 1) for v in (wish.source, wish.target))
    if source == target:
        raise tn.TNetError("A part pasted onto itself changes nothing: choose two different cells.")
    return Wish("paste", source=source, target=target)


def _whole(value: Any, what: str, low: int, high: int) -> int:
    """A slider sends 3.0 for 3."""
    if isinstance(value, float) and math.isfinite(value) and value == int(value):
        value = int(value)
    return whole(value, what, low, high)


def _move(wish: Wish, lattice: Lattice) -> Move:
    if wish.kind == "flip":
        return Move(flip=True)
    if wish.kind == "scale":
        return Move(scale=wish.scale / 100)
    across, down = lattice.step
    return Move(dx=wish.x * across, dy=wish.y * down)


def _described(wish: Wish, untouched: Untouched) -> tuple[str, str | None, dict[str, Any]]:
    """In words, its name in an evaluation (None: was not measured there), and whether anything changes."""
    if wish.kind == "flip":
        return "mirrored left to right", "flip", {"has_changed": True}
    if wish.kind == "scale":
        told = f"scaled to {wish.scale} %" if wish.scale != 100 else "not scaled"
        return told, "zoom_in" if wish.scale == 160 else None, {"has_changed": wish.scale != 100}
    if wish.kind == "paste":
        told = f"with {untouched.name(wish.source)} copied onto {untouched.name(wish.target)}"
        return told, None, {"has_changed": True}
    across = f"{_cells(wish.x)} to the {'right' if wish.x > 0 else 'left'}"
    down = f"{_cells(wish.y)} {'down' if wish.y > 0 else 'up'}"
    parts = [part for part, by in ((across, wish.x), (down, wish.y)) if by]
    told = "shifted " + " and ".join(parts) if parts else "not shifted"
    return told, _STEPS.get((wish.x, wish.y)), {"has_changed": bool(parts)}


def _cells(count: int) -> str:
    return "1 cell" if abs(count) == 1 else f"{abs(count)} cells"


def _shown(pixels: np.ndarray) -> str:
    return data_uri(preview(tn.ImageSource.open(pixels), _SHOWN))
