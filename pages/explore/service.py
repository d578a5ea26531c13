"""The service behind Explore and the other tabs: checkpoints, pictures, traversals. Knows no component."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from cachetools import LRUCache

import tnet_core as tn
from pages.explore.links import plan_cells
from pages.limits import LARGE_PIXELS, MAX_LOOKS_PER_PAGE, MAX_LOOKS_PER_TRAVERSAL, MAX_PUBLIC_PIXELS, opening_budget
from pages.sampling import AS_TRAINED, DEEP, SamplingMode, simplify_mode
from pages.server.compute import (
    add_looks,
    prepare_looks,
    release_freed_memory,
    run_in_one_thread,
    run_on_accelerator,
    take_looks,
)
from pages.server.model_cache import UNTRAINED, ModelCache
from pages.server.sessions import SESSION_EXPIRED, Cell, OwnPicture, Session, Where, require_session
from pages.server.uploads import OpenImages
from tnet_core.checkpoints import CheckpointCard, card_of
from tnet_core.checkpoints.hub import fetch_pictures
from tnet_core.numbers import check_entries, check_whole
from viz.common.payload import PictureInfo
from viz.common.text import find_class
from viz.explore.checkpoint import CheckpointPanel, build_checkpoint_panel
from viz.explore.gallery import ExamplePicture, build_hub_picture, find_picture_kind, list_drawings, list_pictures
from viz.explore.payload import build_scene_payload, build_steer_payload

Tell = Callable[[str], None]  # told what is being done
Scene = tuple[Session, str]  # and what the stage is sent, as JSON
Looks = tuple[int, ...]  # positions in `trace.locations`
MAX_EXAMPLES = 64  # remembered traversals of examples, about 0.5 MB each; all that are bundled, in their own mode
LANDING = "tnet-lite0-pets"  # its first example shows in one look what this is about
DIVE = "tnet-lite0-imagenet"  # finds the animal in the example that is as large as a hundred photographs


class Explorer:
    """Opens pictures and traverses them. A checkpoint is meant by its spec.

    `local`: nobody but the person at this machine can ask, so its files may be named and pictures have as many pixels
    as can be read.
    """

    def __init__(self, models: ModelCache, *, local: bool = False) -> None:
        self.models, self.local = models, local
        self._images = OpenImages()
        self._examples: LRUCache[tuple[str, int, SamplingMode], Scene] = LRUCache(MAX_EXAMPLES)
        self._examples_lock = threading.Lock()  # reading notes the use, too
        self._scenes = itertools.count(1)
        self._fetched: dict[str, tuple[ExamplePicture, ...]] = {}
        self._lock = threading.RLock()  # one traversal at a time: each uses all cores
        # A lent GPU is asked from another process: models are found there by their spec, they do not travel.
        self._prepare_large_looks = run_in_one_thread(prepare_looks)
        self._compute = run_on_accelerator(lambda spec, run, *how: run(self.models.open(spec), *how))

    @cached_property
    def landing(self) -> str:
        """The checkpoint that is open when a visitor arrives."""
        return self.models.open_first(LANDING)

    @cached_property
    def default(self) -> str:
        """The checkpoint that programs and links mean where they name none."""
        return self.models.open_first()

    def read_card(self, spec: str) -> CheckpointCard:
        """Return what is known about a checkpoint."""
        return card_of(self.models.open(spec))

    def list_pictures(self, spec: str) -> tuple[ExamplePicture, ...]:
        """Return the examples that suit the checkpoint, then those that were fetched for it."""
        own = list_drawings() if spec == UNTRAINED else list_pictures(find_picture_kind(self.read_card(spec)))
        return own + self._fetched.get(spec, ())

    def find_dive(self, spec: str) -> ExamplePicture | None:
        """Return the example to dive into, for the page that a visitor arrives at; another checkpoint looks at it."""
        if spec != self.landing or spec == DIVE or DIVE not in (choice.spec for choice in self.models.choices):
            return None
        return next((picture for picture in list_pictures("photo") if picture.deep), None)

    def find_deep_picture(self) -> int:
        """Return the number of the example to dive into, among those of the checkpoint that looks at it."""
        return next((at for at, picture in enumerate(self.list_pictures(DIVE)) if picture.deep), -1)

    def has_more_pictures(self, spec: str) -> bool:
        """Tell whether there are examples that nobody fetched yet."""
        return self.models.find_choice(spec).examples is not None and spec not in self._fetched

    def list_more_titles(self, spec: str) -> list[str]:
        """Return the titles of the pictures that could be fetched."""
        examples = self.models.find_choice(spec).examples
        names = () if examples is None or not self.has_more_pictures(spec) else examples.files
        return [build_hub_picture(name, Path(name), "").title for name in names]

    def fetch_more_pictures(self, spec: str) -> None:
        """Fetch pictures of the Hub data set that the registry names; they stay for everybody."""
        examples = self.models.find_choice(spec).examples
        if examples is not None:
            credit = f"from the data set {examples.dataset}, {examples.licence}"
            found = fetch_pictures(examples)
            for path in found.values():
                tn.ImageSource.open(path)  # a picture that cannot be read is refused before it is offered
            self._fetched[spec] = tuple(build_hub_picture(name, path, credit) for name, path in found.items())

    def build_panel(self, spec: str) -> CheckpointPanel:
        """Return what the page says about a checkpoint, and what it offers with it."""
        choices = [(choice.title, choice.spec) for choice in self.models.choices]
        trained, more = spec != UNTRAINED, self.has_more_pictures(spec)
        about, sentences = self.read_card(spec), self.models.problems
        return build_checkpoint_panel(about, spec, choices, trained=trained, has_more=more, sentences=sentences)

    def open_picture(self, spec: str, where: Where, tell: Tell | None = None, mode: SamplingMode = AS_TRAINED) -> Scene:
        """Traverse a picture with the largest budget; return its session and what the stage is sent.

        Every smaller budget follows from that. Of `mode`, only what makes a difference for the picture is followed.
        """
        opening = Session(spec, where, _NOTHING, mode=self.simplify_mode(spec, where, mode))
        if isinstance(where, str):
            return self._number(self._traverse(opening, tell))
        key = spec, where, opening.mode
        known = self._find_example(key)  # needs no turn at the cores
        if known is None:
            with self._lock:  # the same for everybody, so traversed once
                known = self._find_example(key) or self._traverse(opening)
                with self._examples_lock:
                    self._examples[key] = known
        return self._number(known)

    def _find_example(self, key: tuple[str, int, SamplingMode]) -> Scene | None:
        with self._examples_lock:
            return self._examples.get(key)

    def _number(self, made: Scene) -> Scene:
        """Give a scene a number of its own: a page names it, and the same picture again is another scene."""
        number = next(self._scenes)
        return replace(made[0], scene=number), f'{made[1][:-1]},"scene":{number}}}'

    def simplify_mode(self, spec: str, where: Where, mode: SamplingMode) -> SamplingMode:
        """Return what of a mode makes a difference for a picture; where none is asked for, a deep one has its own."""
        if mode == AS_TRAINED and isinstance(where, int):
            mode = next((DEEP for picture in self.list_pictures(spec)[where:][:1] if picture.deep), mode)
        if mode == AS_TRAINED:
            return mode
        source, _ = self.load_picture(spec, where)
        return simplify_mode(mode, self.models.open(spec).config, source.width, source.height)

    def open_with_cells(
        self, spec: str, where: Where, cells: Sequence[tuple[int, ...]], mode: SamplingMode = AS_TRAINED
    ) -> tuple[Session, str, dict[str, Any]]:
        """Do as `open_picture`, with looks chosen by hand; return what the page adds to the scene for them, too.

        Each look is meant by the cells that lead to it.
        """
        session, sent = self.open_picture(spec, where, mode=mode)
        known = len(session.trace.locations)
        plan, added = plan_cells(session.trace, cells, MAX_LOOKS_PER_PAGE)
        if added:
            session = self._add_looks(session, added)
        return session, sent, self._describe_looks(session, plan, known)

    def steer(self, session: Session | None, call: Any) -> tuple[Session, dict[str, Any]]:
        """Show looks chosen by hand: `plan` are positions, `add` is one more cell to look at.

        The page knows the first `known` looks and is sent the others, whether they were taken now or an answer got
        lost. It names the `steps` of the plan whose weights it lacks; without them all are sent.
        """
        session = require_session(session, SESSION_EXPIRED)
        if not isinstance(call, dict):
            raise tn.TNetError("Looks are chosen by a list of positions.")
        session.check_scene(call.get("scene", session.scene))
        trace = session.trace
        count, cells = len(trace.locations), trace.config.cells
        known = check_whole(call.get("known", count), "The number of known looks", 0, count)
        plan, add, steps = trace.select(subset=call.get("plan")), call.get("add"), call.get("steps")
        new: list[Cell] = []
        if add is not None:
            if not isinstance(add, dict):
                raise tn.TNetError("A look to add is a cell of a grid.")
            parent, index = add.get("parent"), check_whole(add.get("index"), "A cell", 0, cells - 1)
            parent = None if parent is None else check_whole(parent, "The look to look into", 0, count - 1)
            taken = {(look.parent, look.index): at for at, look in enumerate(trace.locations)}
            at = taken.get((parent, index), count)
            new = [(parent, index)] if at == count else []
            plan = plan if at in plan else (*plan, at)
        if steps is not None:  # each once: their weights are what takes memory
            steps = sorted({check_whole(step, "A step", 0, len(plan)) for step in check_entries(steps, "Steps")})
        if new:
            session = self._add_looks(session, new)
        return session, self._describe_looks(session, plan, known, steps)

    def _add_looks(self, session: Session, cells: Sequence[Cell]) -> Session:
        """Take further looks; nothing that was seen before is looked at again."""
        if len(session.trace.locations) + len(cells) > MAX_LOOKS_PER_PAGE:
            most = MAX_LOOKS_PER_PAGE
            raise tn.TNetError(f"This page holds {most} looks at most; choose the picture again to start anew.")
        source, _ = self.load_picture(session.spec, session.where)
        self._prepare_looks(source, session.trace.config, session.mode)
        with self._lock:
            trace = self._compute(session.spec, add_looks, source, session.trace, cells)
        return replace(session, trace=trace.detach())

    def _prepare_looks(self, source: tn.ImageSource, config: tn.TNetConfig, mode: SamplingMode) -> None:
        """Read what looks need of a file; who has a small picture does not wait for somebody else's large file."""
        prepare = self._prepare_large_looks if source.width * source.height > LARGE_PIXELS else prepare_looks
        prepare(source, config, mode)

    def _describe_looks(
        self, session: Session, plan: Looks, known: int, steps: Sequence[int] | None = None
    ) -> dict[str, Any]:
        """Return what a page that knows so many looks needs to show these; crops are cut again."""
        trace, crops = self.open_trace(session), tuple[np.ndarray, ...]()
        if known < len(trace.locations):
            source, _ = self.load_picture(session.spec, session.where)
            crops = trace.cut_pictures(source, known + 1)
        return build_steer_payload(trace, plan, crops, steps)

    def open_trace(self, session: Session) -> tn.Trace:
        """Return a session's trace with what its model needs to weigh any set of its looks."""
        trace = session.trace
        weighting = self.models.open(session.spec).weighting
        return replace(trace, aggregator=trace.aggregator.with_weighting(weighting))

    def load_picture(self, spec: str, where: Where) -> tuple[tn.ImageSource, PictureInfo]:
        """Open an example or an upload; return it and what is known about it."""
        if isinstance(where, str):
            source = self._images.open(Path(where), None if self.local else MAX_PUBLIC_PIXELS)
            if isinstance(where, OwnPicture):
                label = find_class(self.read_card(spec).class_names, where.class_name)
                return source, PictureInfo(where.called, label=label)
            return source, PictureInfo(Path(where).name)
        offered = self.list_pictures(spec)
        if not 0 <= where < len(offered):
            raise tn.TNetError("There is no such example for this checkpoint.")
        chosen = offered[where]
        label = None if chosen.label is None else find_class(self.read_card(spec).class_names, chosen.label)
        return tn.ImageSource.open(chosen.open()), PictureInfo(chosen.title, chosen.credit, label)

    def traverse(
        self,
        spec: str,
        source: tn.ImageSource,
        *,
        policy: Any = "learned",
        budget: tuple[int, ...] | None = None,
        mode: SamplingMode = AS_TRAINED,
    ) -> tn.Trace:
        """Traverse a picture, by default with the largest budget."""
        model = self.models.open(spec)  # a download has its own progress, and a lent GPU is not kept waiting for it
        self._prepare_looks(source, model.config, mode)  # nor does anybody wait for a turn while a large file is read
        with self._lock:
            return self._compute(spec, take_looks, source, policy, budget, mode)

    def _traverse(self, session: Session, tell: Tell | None = None) -> Scene:
        """Traverse the picture of a session; return the session with its trace, and what the stage is sent."""
        source, info = self.load_picture(session.spec, session.where)
        many = source.width * source.height > LARGE_PIXELS
        if tell is not None and many:
            tell(f"Reading {source.width} × {source.height} pixels")
        trace = self.traverse(session.spec, source, mode=session.mode)
        about = self.read_card(session.spec)
        sent = build_scene_payload(
            trace, source, info, opening_budget(trace), about=about, max_looks=MAX_LOOKS_PER_TRAVERSAL
        )
        if many:
            release_freed_memory()
        return replace(session, trace=trace.detach()), sent


_NOTHING: Any = None  # a session's trace before it was traversed
