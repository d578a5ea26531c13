"""The service behind What if: a picture changed and looked at again. Knows no component."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import tnet_core as tn
from pages.explore.service import Explorer
from pages.limits import MAX_LOOKS_PER_TRAVERSAL, count_looks
from pages.server.sessions import Session, require_session
from pages.what_if.change import Change, check_change, place_copy, write_change
from tnet_core.counterfactual import CellCentres, Move, find_nearest_cell, move_content, paste_part, place
from viz.common.payload import encode_webp, read_preview
from viz.explore.sampling import explain_other_sampling
from viz.what_if.experiment import Experiment, read_measured_scores
from viz.what_if.page import NO_LOOKS, format_cell

MAX_SIDE = 1400  # pixels of the longer side of the picture that is changed, whatever the file has
SHOWN_SIDE = 1000  # … as shown in half of the page
MAX_TOP_LOOKS = 10  # looks at the whole picture
_STEPS = {(-1, 0): "shift_left", (1, 0): "shift_right", (0, -1): "shift_up", (0, 1): "shift_down"}
OnStep = Callable[[str], None]


@dataclass(frozen=True, eq=False)
class OriginalPicture:
    """The unchanged side of a page: its trace, no pixels."""

    session: Session
    trace: tn.Trace  # of the picture at the size at which it is changed

    @property
    def grid(self) -> int:
        return self.trace.config.grid

    def list_cells(self) -> list[tuple[str, int]]:
        """Return the cells to choose from: the looks first, in their order."""
        looks = [look.index for look in self.trace.locations if look.parent is None]
        others = [cell for cell in range(self.trace.config.cells) if cell not in looks]
        named = [(f"look {rank + 1}: {self.name_cell(cell)}", cell) for rank, cell in enumerate(looks)]
        return named + [(self.name_cell(cell), cell) for cell in others]

    def name_cell(self, cell: int) -> str:
        return format_cell(*divmod(cell, self.grid))

    @property
    def first_paste(self) -> tuple[int, int]:
        """The cells of the first copy: the first look, and the corner farthest from it."""
        n, first = self.grid, self.trace.locations[0].index
        corners = (0, n - 1, n * (n - 1), n * n - 1)
        return first, max(corners, key=lambda cell: abs(cell // n - first // n) + abs(cell % n - first % n))


def choose_budget(config: tn.TNetConfig) -> tuple[int, ...]:
    """Return a budget of up to ten looks at the whole picture, those of training inside each."""
    below = tuple(max(1, looks) for looks in config.budget[1:])
    most = min(MAX_TOP_LOOKS, config.cells)
    while most > 1 and count_looks((most, *below)) > MAX_LOOKS_PER_TRAVERSAL:
        most -= 1
    return most, *below


class Experimenter:
    """Changes pictures and compares the looks before and after."""

    def __init__(self, explorer: Explorer) -> None:
        self._explorer = explorer

    def open_original(self, session: Session | None) -> OriginalPicture:
        """Look at the picture that is open in Explore, at the size at which it is changed."""
        session = require_session(session)
        if session.trace.config.is_baseline:
            raise tn.TNetError(NO_LOOKS)
        return OriginalPicture(session, self._traverse(session.spec, self._read_pixels(session)))

    def run(self, original: OriginalPicture, change: Change, on_step: OnStep | None = None) -> Experiment:
        """Change the picture, look at it again and return both sides."""
        session, config = original.session, original.trace.config
        change = check_change(change, config.grid)  # before anything is decoded
        pixels = self._read_pixels(session)
        height, width = pixels.shape[:2]
        about = self._explorer.read_card(session.spec)
        _, info = self._explorer.load_picture(session.spec, session.where)
        name, known, how = _describe(change, original)
        if change.kind == "paste":
            boxes = original.trace.cell_boxes()
            copy = place_copy(change, boxes)
            changed = paste_part(pixels, boxes[change.source], copy)
            how |= {"copied": (change.source, find_nearest_cell(boxes, copy)), "copy": copy}
        else:
            placement = place(_build_move(change, CellCentres.of(config, width, height)), width, height)
            changed = move_content(pixels, placement)
            how |= {"placement": placement}
        if on_step is not None:
            on_step("Looking at the changed picture")
        same = not how["has_changed"]
        return Experiment(
            title=info.title,
            change=name,
            before=original.trace,
            after=original.trace if same else self._traverse(session.spec, changed),
            pictures=(_encode(pixels), _encode(changed)),
            label=info.label,
            evaluated_on="" if about.evaluation is None else about.evaluation.where,
            measured=read_measured_scores(about, known),
            settings=write_change(change),
            sampling_note=explain_other_sampling(session.trace),
            **how,
        )

    def _read_pixels(self, session: Session) -> np.ndarray:
        source, _ = self._explorer.load_picture(session.spec, session.where)
        return read_preview(source, MAX_SIDE)

    def _traverse(self, spec: str, pixels: np.ndarray) -> tn.Trace:
        config = self._explorer.models.open(spec).config
        trace = self._explorer.traverse(spec, tn.ImageSource.open(pixels), budget=choose_budget(config))
        return replace(trace, seen=None)


def _build_move(change: Change, centres: CellCentres) -> Move:
    if change.kind == "flip":
        return Move(flip=True)
    if change.kind == "scale":
        return Move(scale=change.scale / 100)
    across, down = centres.step
    return Move(dx=change.x * across, dy=change.y * down)


def _describe(change: Change, original: OriginalPicture) -> tuple[str, str | None, dict[str, Any]]:
    """Return the change in words, its name in an evaluation (None: none), and whether it changes anything."""
    if change.kind == "flip":
        return "mirrored left to right", "flip", {"has_changed": True}
    if change.kind == "scale":
        words = f"scaled to {change.scale} %" if change.scale != 100 else "not scaled"
        return words, "zoom_in" if change.scale == 160 else None, {"has_changed": change.scale != 100}
    if change.kind == "paste":
        words = f"with {original.name_cell(change.source)} copied onto {_name_target(change, original)}"
        return words, None, {"has_changed": True}
    across = f"{_count_cells(change.x)} to the {'right' if change.x > 0 else 'left'}"
    down = f"{_count_cells(change.y)} {'down' if change.y > 0 else 'up'}"
    parts = [part for part, by in ((across, change.x), (down, change.y)) if by]
    words = "shifted " + " and ".join(parts) if parts else "not shifted"
    return words, _STEPS.get((change.x, change.y)), {"has_changed": bool(parts)}


def _name_target(change: Change, original: OriginalPicture) -> str:
    if isinstance(change.target, tuple):
        boxes = original.trace.cell_boxes()
        return f"a place near {original.name_cell(find_nearest_cell(boxes, place_copy(change, boxes)))}"
    return original.name_cell(change.target)


def _count_cells(count: int) -> str:
    return "1 cell" if abs(count) == 1 else f"{abs(count)} cells"


def _encode(pixels: np.ndarray) -> str:
    return encode_webp(read_preview(tn.ImageSource.open(pixels), SHOWN_SIDE))
