"""What the Explore page asks for: checkpoints, pictures, traversals. Knows no component."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import tnet_core as tn
from pages.explore.links import Cell, planned
from pages.sampling import OWN, Mode, settled
from pages.server.allocator import give_back
from pages.server.compute import in_one_thread, on_accelerator
from pages.server.looking import prepare, take_looks
from pages.server.model_cache import UNTRAINED, Shelf
from pages.server.open_images import OpenFiles
from tnet_core.checkpoints import CheckpointCard, card_of
from tnet_core.checkpoints.example_set import fetch_pictures
from tnet_core.numbers import whole
from viz.budgets import opening
from viz.common.names import labelled
from viz.explore.checkpoint import CheckpointPanel, build_checkpoint_panel
from viz.explore.gallery import ExamplePicture, build_hub_picture, find_picture_kind, list_drawings, list_pictures
from viz.stage import Plate, scene_payload, steer_payload

MOST_PIXELS = 150_000_000  # of a stranger's picture: the sampling of the page's models touches each of its tiles
MANY_PIXELS = 30_000_000  # reading them takes long enough to say so, and much memory for a moment
MOST_LOOKS = 80  # on one page, those added by hand included
LEFT_ALONE = "This page was left alone for too long: reload it to go on."

Where = int | str  # number of an example, or the file of a picture that was brought
Tell = Callable[[str], None]  # told what is being done


@dataclass(frozen=True, eq=False)
class Session:
    """What the server remembers of one page: no pixels, no model."""

    spec: str
    where: Where
    trace: tn.Trace
    added: tuple[Cell, ...] = ()  # looks beyond the budget, in the order they were asked for
    scene: int = 0  # number of the scene the page was sent: what it asks about
    earlier: tuple[
        int, ...
    ] = ()  # scenes of the same picture with fewer looks: the page is at one if an answer got lost
    mode: Mode = OWN  # which pixels looks are cut from, and how deep they go

    def check(self, scene: Any) -> None:
        """Whether a page that was sent this scene asks about this picture."""
        if scene != self.scene and scene not in self.earlier:
            raise tn.TNetError("Another picture was chosen meanwhile: choose this one again to go on.")


class Explorer:
    """The checkpoints on a shelf and the traversals they make. A checkpoint is meant by its spec.

    `local`: nobody but the person at this machine can ask, so its files may be named and pictures have as many pixels
    as can be read.
    """

    def __init__(self, shelf: Shelf, *, local: bool = False) -> None:
        self.shelf, self.local = shelf, local
        self._files = OpenFiles()
        self._examples: dict[tuple[str, int, Mode], tuple[Session, str]] = {}
        self._scenes = itertools.count(1)
        self._fetched: dict[str, tuple[ExamplePicture, ...]] = {}
        self._lock = threading.RLock()  # one traversal at a time: each uses all cores
        # A lent GPU is asked from another process: models are found there by their spec, they do not travel.
        self._prepared = in_one_thread(prepare)
        self._taken = on_accelerator(lambda spec, *how: take_looks(self.shelf.open(spec), *how))

    @cached_property
    def landing(self) -> str:
        """The checkpoint that is open when a visitor arrives."""
        return self.shelf.first()

    def about(self, spec: str) -> CheckpointCard:
        return card_of(self.shelf.open(spec))

    def pictures(self, spec: str) -> tuple[ExamplePicture, ...]:
        """Those that suit the checkpoint, then those that were fetched for it."""
        own = list_drawings() if spec == UNTRAINED else list_pictures(find_picture_kind(self.about(spec)))
        return own + self._fetched.get(spec, ())

    def has_more(self, spec: str) -> bool:
        return self.shelf.choice(spec).examples is not None and spec not in self._fetched

    def more_titles(self, spec: str) -> list[str]:
        """Of the pictures that could be fetched."""
        examples = self.shelf.choice(spec).examples
        names = () if examples is None or not self.has_more(spec) else examples.files
        return [build_hub_picture(name, Path(name), "").title for name in names]

    def fetch_more(self, spec: str) -> None:
        """Pictures of the Hub data set that the registry names; they stay for everybody."""
        examples = self.shelf.choice(spec).examples
        if examples is not None:
            credit = f"from the data set {examples.dataset}, {examples.licence}"
            found = fetch_pictures(examples)
            for path in found.values():
                tn.ImageSource.open(path)  # a picture that cannot be read is refused before it is offered
            self._fetched[spec] = tuple(build_hub_picture(name, path, credit) for name, path in found.items())

    def furniture(self, spec: str) -> CheckpointPanel:
        choices = [(choice.title, choice.spec) for choice in self.shelf.choices]
        trained, more = spec != UNTRAINED, self.has_more(spec)
        about, sentences = self.about(spec), self.shelf.complaints
        return build_checkpoint_panel(about, spec, choices, trained=trained, has_more=more, sentences=sentences)

    def open(self, spec: str, where: Where, tell: Tell | None = None, mode: Mode = OWN) -> tuple[Session, str]:
        """A picture traversed with the largest budget, and what the stage is sent: every smaller one follows.

        Of `mode`, only what makes a difference for the picture is followed.
        """
        wanted = Session(spec, where, _NOTHING, mode=self.settled(spec, where, mode))
        if isinstance(where, str):
            return self._traversed(wanted, tell=tell)
        key = spec, where, wanted.mode
        known = self._examples.get(key)  # needs no turn at the cores
        if known is None:
            with self._lock:  # the same for everybody, so traversed once
                known = self._examples[key] = self._examples.get(key) or self._traversed(wanted)
        return known

    def settled(self, spec: str, where: Where, mode: Mode) -> Mode:
        """What of a mode makes a difference for a picture."""
        if mode == OWN:
            return mode
        source, _ = self.picture(spec, where)
        return settled(mode, self.shelf.open(spec).config, source.width, source.height)

    def open_by_hand(
        self, spec: str, where: Where, cells: Sequence[tuple[int, ...]], mode: Mode = OWN
    ) -> tuple[Session, str, tuple[int, ...]]:
        """As `open`, with looks chosen by hand, each meant by the cells that lead to it, and their positions."""
        session, sent = self.open(spec, where, mode=mode)
        plan, added = planned(session.trace, cells, MOST_LOOKS)
        if added:
            session, sent = self._traversed(replace(session, added=added), plan)
        return session, sent, plan

    def steer(self, session: Session | None, asked: Any) -> tuple[Session, str]:
        """Looks chosen by hand: `plan` are positions, `add` is one more cell to look at.

        A page that does not know of the last look that was added, since the answer got lost, is sent all of them again.
        """
        if session is None:
            raise tn.TNetError(LEFT_ALONE)
        if not isinstance(asked, dict):
            raise tn.TNetError("Looks are chosen by a list of positions.")
        scene, trace = asked.get("scene", session.scene), session.trace
        session.check(scene)
        plan = trace.select(subset=asked.get("plan"))
        add = asked.get("add")
        if add is None:
            return self._steered(session, plan, scene)
        if not isinstance(add, dict):
            raise tn.TNetError("A look to add is a cell of a grid.")
        parent, index = add.get("parent"), whole(add.get("index"), "A cell", 0, trace.config.cells - 1)
        parent = None if parent is None else whole(parent, "The look to look into", 0, len(trace.locations) - 1)
        taken = {(look.parent, look.index): at for at, look in enumerate(trace.locations)}
        if (parent, index) in taken:
            at = taken[parent, index]
            return self._steered(session, plan if at in plan else (*plan, at), scene)
        if len(trace.locations) >= MOST_LOOKS:
            raise tn.TNetError(f"This page holds {MOST_LOOKS} looks at most; choose the picture again to start anew.")
        wanted = replace(session, added=(*session.added, (parent, index)))
        return self._traversed(wanted, (*plan, len(trace.locations)))

    def _steered(self, session: Session, plan: tuple[int, ...], scene: int) -> tuple[Session, str]:
        """Looks that were taken already."""
        if scene == session.scene:
            return session, steer_payload(session.trace, plan)
        return self._traversed(session, plan)

    def picture(self, spec: str, where: Where) -> tuple[tn.ImageSource, Plate]:
        """An example or an upload, opened, and what is known about it."""
        if isinstance(where, str):
            source = self._files.open(Path(where), None if self.local else MOST_PIXELS)
            return source, Plate(Path(where).name)
        offered = self.pictures(spec)
        if not 0 <= where < len(offered):
            raise tn.TNetError("There is no such example for this checkpoint.")
        chosen = offered[where]
        label = None if chosen.label is None else labelled(self.about(spec).class_names, chosen.label)
        return tn.ImageSource.open(chosen.open()), Plate(chosen.title, chosen.credit, label)

    def looks(
        self,
        spec: str,
        source: tn.ImageSource,
        *,
        policy: Any = "learned",
        budget: tuple[int, ...] | None = None,
        added: tuple[Cell, ...] = (),
        mode: Mode = OWN,
    ) -> tn.Trace:
        """A traversal, by default with the largest budget, then the looks added by hand."""
        model = self.shelf.open(spec)  # a download has its own progress, and a lent GPU is not kept waiting for it
        self._prepared(source, model.config, mode)  # nor does anybody wait for a turn while a large file is read
        with self._lock:
            return self._taken(spec, source, policy, budget, added, mode)

    def _traversed(self, session: Session, plan: tuple[int, ...] = (), tell: Tell | None = None) -> tuple[Session, str]:
        source, plate = self.picture(session.spec, session.where)
        many = source.width * source.height > MANY_PIXELS
        if tell is not None and many:
            tell(f"Reading {source.width} × {source.height} pixels")
        trace = self.looks(session.spec, source, added=session.added, mode=session.mode)
        scene = next(self._scenes)
        about = self.about(session.spec)
        sent = scene_payload(trace, source, plate, opening(trace), plan, scene, about)
        if many:
            give_back()
        earlier = (*session.earlier, session.scene)[-MOST_LOOKS:] if session.scene else ()
        return replace(session, trace=replace(trace, seen=None), scene=scene, earlier=earlier), sent


_NOTHING: Any = None  # a session's trace before it was traversed
