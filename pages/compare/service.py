"""What the Compare tab asks for: two traversals of what is open in Explore or of what a page names. Knows no component.

A page names checkpoints, policies and pictures; files never: an upload is the one this page brought.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import tnet_core as tn
from pages.explore.service import Explorer, Session, Where
from pages.waiting import NO_PICTURE
from tnet_core import compare
from tnet_core.numbers import entries, whole
from viz.common.names import labelled
from viz.compare import Column, offer_payload, pair_payload
from viz.stage import Plate
from viz.stage.cut import elsewhere

KEPT = 32  # traversals remembered for everybody, without pixels
MOST_SEED = 999_999_999
MODES = ("policies", "checkpoints", "pictures")
NAMED = {"learned": "the network's own looks", "centre": "from the middle outwards", "raster": "row by row"}

Tell = Callable[[str], None]  # what is being done now
Progress = Callable[[str, int], None]  # the same, and how many of the two sides are done


@dataclass(frozen=True)
class View:
    """A picture, opened."""

    source: tn.ImageSource
    plate: Plate
    spec: str  # checkpoint whose classes the plate's label means


class Pairs:
    def __init__(self, explorer: Explorer) -> None:
        self.explorer = explorer
        self._known: OrderedDict[tuple[str, ...], tn.Trace] = OrderedDict()
        self._lock = threading.Lock()

    def offer(self, session: Session | None, brought: str | None) -> str:
        """What can be compared with the picture that is open in Explore."""
        if session is None:
            raise tn.TNetError(NO_PICTURE)
        _, plate = self.explorer.picture(session.spec, session.where)
        choices = self.explorer.shelf.choices
        return offer_payload(
            scene=session.scene,
            checkpoint=session.spec,
            title=plate.title,
            levels=session.trace.config.levels,  # looks here are always those of training's own levels
            checkpoints=[(choice.spec, choice.title) for choice in choices],
            other=most_alike(session.spec, [choice.spec for choice in choices]),
            pictures=[picture.title for picture in self.explorer.pictures(session.spec)],
            where=session.where if isinstance(session.where, int) else None,
            brought=None if brought is None else Path(brought).name,
        )

    def bring(self, file: Any) -> str:
        """Name of an uploaded picture that can be opened."""
        return self.explorer.picture(self.explorer.landing, str(file))[1].title

    def pair(self, session: Session | None, brought: str | None, asked: Any, progress: Progress) -> str:
        """Both sides of a question that anybody may have written."""
        if session is None:
            raise tn.TNetError(NO_PICTURE)
        if not isinstance(asked, dict) or asked.get("mode") not in MODES:
            raise tn.TNetError("Policies, checkpoints or pictures can be compared, nothing else.")
        if asked.get("scene") != session.scene:
            raise tn.TNetError("Another picture was opened in Explore meanwhile: open this tab again.")
        sides = [side for side in (asked.get("a"), asked.get("b")) if isinstance(side, dict)]
        if len(sides) != 2:
            raise tn.TNetError("A comparison has two sides, A and B.")
        number = whole(asked.get("ask"), "The number of a question", 0, 2**31)
        make = {"policies": self._policy, "checkpoints": self._checkpoint, "pictures": self._picture}[asked["mode"]]
        a, b = (make(session, brought, side, partial(_told, progress, at)) for at, side in enumerate(sides))
        return pair_payload(a, b, number, asked["mode"], self._constant(session, asked["mode"], a))

    # One side ------------------------------------------------------------------------------------

    def _checkpoint(self, session: Session, _: str | None, side: dict[str, Any], tell: Tell) -> Column:
        wanted = side.get("checkpoint")
        chosen = self.explorer.shelf.choice(wanted if isinstance(wanted, str) else "")
        view = self._view(session, session.where)
        return self._column(chosen.title, self._learned(session, chosen.spec, view, tell), view, chosen.spec)

    def _picture(self, session: Session, brought: str | None, side: dict[str, Any], tell: Tell) -> Column:
        wanted = side.get("picture")
        where: Where = session.where
        if wanted == "brought" and brought is not None:
            where = brought
        elif wanted != "current":
            where = whole(wanted, "The number of an example", 0)
        view = self._view(session, where)
        return self._column(view.plate.title, self._learned(session, session.spec, view, tell), view, session.spec)

    def _policy(self, session: Session, _: str | None, side: dict[str, Any], tell: Tell) -> Column:
        view = self._view(session, session.where)
        own, wanted = self._learned(session, session.spec, view, tell), side.get("policy")
        if wanted == "hand" and (otherwise := elsewhere(session.trace)):
            raise tn.TNetError(f"Looks chosen in Explore cannot be compared now. {otherwise}")
        if wanted == "hand":
            plan = entries(side.get("plan"), "The looks chosen in Explore")
            return self._column("your looks in Explore", compare.retaken(session.trace, plan), view, session.spec)  # type: ignore[arg-type]
        if wanted == "own":
            if own.levels != 2:
                raise tn.TNetError("Cells of your own can be compared for models of two levels only.")
            cells = list(entries(side.get("cells"), "Your own cells"))
            return self._column("your own cells", compare.ordered(own, cells), view, session.spec)
        if wanted == "random":
            seed = whole(side.get("seed"), "The seed", 0, MOST_SEED)
            name, title = f"random:{seed}", f"at random, seed {seed}"
        elif isinstance(wanted, str) and wanted in NAMED:
            name, title = wanted, NAMED[wanted]
        else:
            raise tn.TNetError(f"There is no policy {wanted!r:.60} to compare.")
        return self._column(title, self._under(name, own, session.spec, view, tell), view, session.spec)

    # Traversals ----------------------------------------------------------------------------------

    def _under(self, policy: str, own: tn.Trace, spec: str, view: View, tell: Tell) -> tn.Trace:
        """Two levels have all their looks already, and a policy is only their order."""
        if policy == "learned":
            return own
        return compare.ordered(own, policy) if own.levels == 2 else self._traversed(spec, view, policy, tell)

    def _learned(self, session: Session, spec: str, view: View, tell: Tell) -> tn.Trace:
        trace, source = session.trace, view.source
        if spec == session.spec and not elsewhere(trace) and source.info() == trace.image:
            return compare.retaken(trace, trace.select(budget=trace.budget), "learned") if session.added else trace
        return self._traversed(spec, view, "learned", tell)

    def _traversed(self, spec: str, view: View, policy: str, tell: Tell) -> tn.Trace:
        key = (spec, view.source.identity, policy)
        with self._lock:
            if key in self._known:
                self._known.move_to_end(key)
                return self._known[key]
        tell(f"Looking at {view.plate.title} with {self.explorer.shelf.choice(spec).title}")
        trace = replace(self.explorer.looks(spec, view.source, policy=policy), seen=None)
        with self._lock:
            self._known[key] = trace
            while len(self._known) > KEPT:
                self._known.popitem(last=False)
        return trace

    # Pictures and names --------------------------------------------------------------------------

    def _view(self, session: Session, where: Where) -> View:
        source, plate = self.explorer.picture(session.spec, where)
        return View(source, plate, session.spec)

    def _column(self, title: str, trace: tn.Trace, view: View, spec: str) -> Column:
        """The label is a class of the checkpoint in Explore; another checkpoint may know it by another number."""
        if not trace.distributions:
            raise tn.TNetError(f"{self.explorer.shelf.choice(spec).title} takes no looks: there is nothing to compare.")
        plate = view.plate
        if plate.label is not None and spec != view.spec:
            name = self.explorer.about(view.spec).class_names[plate.label]
            plate = replace(plate, label=labelled(trace.class_names, name))
        return Column(title, trace, view.source, plate)

    def _constant(self, session: Session, mode: str, a: Column) -> str:
        """What both sides have in common."""
        title, picture = self.explorer.shelf.choice(session.spec).title, a.plate.title
        told = {
            "policies": f"Both sides: {title}, looking at {picture}.",
            "checkpoints": f"Both sides: {picture}, looked at as each network chooses.",
            "pictures": f"Both sides: {title}, looking as it chooses.",
        }[mode]
        return f"{told} {elsewhere(session.trace)}".strip()


def _told(progress: Progress, done: int, doing: str) -> None:
    progress(doing, done)


def most_alike(spec: str, specs: list[str]) -> str | None:
    """Of the other checkpoints, the one whose name begins alike for longest; None where there is no other."""

    def alike(other: str) -> int:
        return next((at for at, (x, y) in enumerate(zip(spec, other, strict=False)) if x != y), len(spec))

    return max((other for other in specs if other != spec), key=alike, default=None)
