"""The service behind Compare: two traversals of what is open in Explore or of what a page names.

A page names checkpoints, policies and pictures; files never: an upload is the one this page brought.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from cachetools import LRUCache

import tnet_core as tn
from pages.explore.service import Explorer
from pages.server.sessions import Session, Where, require_session
from tnet_core import compare
from tnet_core.numbers import check_entries, check_whole
from viz.common.payload import PictureInfo
from viz.common.text import find_class
from viz.compare.payload import Column, build_offer_payload, build_pair_payload
from viz.explore.sampling import explain_other_sampling

MAX_TRAVERSALS = 32  # remembered for everybody, without pixels
MAX_SEED = 999_999_999
MODES = ("policies", "checkpoints", "pictures")
POLICY_TITLES = {"learned": "the network's own looks", "centre": "from the middle outwards", "raster": "row by row"}

Tell = Callable[[str], None]  # what is being done now
Progress = Callable[[int, str], None]  # how many of the two sides are done, and what is being done


@dataclass(frozen=True)
class OpenPicture:
    """A picture, opened, and what is known about it."""

    source: tn.ImageSource
    info: PictureInfo
    spec: str  # checkpoint whose classes the picture's label means


class Comparer:
    """Answers what two sides show, and remembers their traversals for everybody."""

    def __init__(self, explorer: Explorer) -> None:
        self.explorer = explorer
        self._known: LRUCache[tuple[str, ...], tn.Trace] = LRUCache(MAX_TRAVERSALS)
        self._lock = threading.Lock()

    def build_offer(self, session: Session | None, brought: str | None) -> str:
        """Return what can be compared with the picture that is open in Explore."""
        session = require_session(session)
        _, info = self.explorer.load_picture(session.spec, session.where)
        choices = self.explorer.models.choices
        return build_offer_payload(
            scene=session.scene,
            checkpoint=session.spec,
            title=info.title,
            levels=session.trace.config.levels,  # looks here are always those of training's own levels
            checkpoints=[(choice.spec, choice.title) for choice in choices],
            other=find_most_alike(session.spec, [choice.spec for choice in choices]),
            pictures=[picture.title for picture in self.explorer.list_pictures(session.spec)],
            where=session.where if isinstance(session.where, int) else None,
            brought=None if brought is None else Path(brought).name,
        )

    def open_upload(self, file: Any) -> str:
        """Return the name of an uploaded picture that can be opened."""
        return self.explorer.load_picture(self.explorer.landing, str(file))[1].title

    def build_pair(self, session: Session | None, brought: str | None, call: Any, progress: Progress) -> str:
        """Return both sides of a question that anybody may have written."""
        session = require_session(session)
        if not isinstance(call, dict) or call.get("mode") not in MODES:
            raise tn.TNetError("Policies, checkpoints or pictures can be compared, nothing else.")
        if call.get("scene") != session.scene:
            raise tn.TNetError("Another picture was opened in Explore meanwhile: open this tab again.")
        sides = [side for side in (call.get("a"), call.get("b")) if isinstance(side, dict)]
        if len(sides) != 2:
            raise tn.TNetError("A comparison has two sides, A and B.")
        mode = call["mode"]
        build = {
            "policies": self._build_policy_side,
            "checkpoints": self._build_checkpoint_side,
            "pictures": self._build_picture_side,
        }[mode]
        a, b = (build(session, brought, side, partial(progress, done)) for done, side in enumerate(sides))
        return build_pair_payload(a, b, mode, self._describe_common(session, mode, a))

    # One side ------------------------------------------------------------------------------------

    def _build_checkpoint_side(self, session: Session, _: str | None, side: dict[str, Any], tell: Tell) -> Column:
        spec = side.get("checkpoint")
        chosen = self.explorer.models.find_choice(spec if isinstance(spec, str) else "")
        view = self._open(session, session.where)
        trace = self._trace_learned(session, chosen.spec, view, tell)
        return self._build_column(chosen.title, trace, view, chosen.spec)

    def _build_picture_side(self, session: Session, brought: str | None, side: dict[str, Any], tell: Tell) -> Column:
        picture = side.get("picture")
        where: Where = session.where
        if picture == "brought" and brought is not None:
            where = brought
        elif picture != "current":
            where = check_whole(picture, "The number of an example", 0)
        view = self._open(session, where)
        trace = self._trace_learned(session, session.spec, view, tell)
        return self._build_column(view.info.title, trace, view, session.spec)

    def _build_policy_side(self, session: Session, _: str | None, side: dict[str, Any], tell: Tell) -> Column:
        view = self._open(session, session.where)
        own, policy = self._trace_learned(session, session.spec, view, tell), side.get("policy")
        if policy == "hand" and (otherwise := explain_other_sampling(session.trace)):
            raise tn.TNetError(f"Looks chosen in Explore cannot be compared now. {otherwise}")
        if policy == "hand":
            plan: Any = check_entries(side.get("plan"), "The looks chosen in Explore")
            trace = compare.retake_looks(self.explorer.open_trace(session), plan)
            return self._build_column("your looks in Explore", trace, view, session.spec)
        if policy == "own":
            if own.levels != 2:
                raise tn.TNetError("Cells of your own can be compared for models of two levels only.")
            cells = list(check_entries(side.get("cells"), "Your own cells"))
            return self._build_column("your own cells", compare.order_by_policy(own, cells), view, session.spec)
        if policy == "random":
            seed = check_whole(side.get("seed"), "The seed", 0, MAX_SEED)
            name, title = f"random:{seed}", f"at random, seed {seed}"
        elif isinstance(policy, str) and policy in POLICY_TITLES:
            name, title = policy, POLICY_TITLES[policy]
        else:
            raise tn.TNetError(f"There is no policy {policy!r:.60} to compare.")
        return self._build_column(title, self._trace_policy(name, own, session.spec, view, tell), view, session.spec)

    # Traversals ----------------------------------------------------------------------------------

    def _trace_policy(self, policy: str, own: tn.Trace, spec: str, view: OpenPicture, tell: Tell) -> tn.Trace:
        """Return the looks under a policy: two levels have all of them already, and a policy is only their order."""
        if policy == "learned":
            return own
        return compare.order_by_policy(own, policy) if own.levels == 2 else self._traverse(spec, view, policy, tell)

    def _trace_learned(self, session: Session, spec: str, view: OpenPicture, tell: Tell) -> tn.Trace:
        if spec == session.spec and not explain_other_sampling(session.trace):
            trace = self.explorer.open_trace(session)
            if view.source.info().is_same(trace.image):
                own = trace.select(budget=trace.budget)  # without those added by hand
                return trace if len(own) == len(trace.locations) else compare.retake_looks(trace, own, "learned")
        return self._traverse(spec, view, "learned", tell)

    def _traverse(self, spec: str, view: OpenPicture, policy: str, tell: Tell) -> tn.Trace:
        key = (spec, view.source.identity, policy)
        with self._lock:
            known = self._known.get(key)
        if known is not None:
            return known
        tell(f"Looking at {view.info.title} with {self.explorer.models.find_choice(spec).title}")
        trace = replace(self.explorer.traverse(spec, view.source, policy=policy), seen=None)
        with self._lock:
            self._known[key] = trace
        return trace

    # Pictures and names --------------------------------------------------------------------------

    def _open(self, session: Session, where: Where) -> OpenPicture:
        source, info = self.explorer.load_picture(session.spec, where)
        return OpenPicture(source, info, session.spec)

    def _build_column(self, title: str, trace: tn.Trace, view: OpenPicture, spec: str) -> Column:
        """Build a side. The label is a class of Explore's checkpoint; another one may know it by another number."""
        if not trace.distributions:
            model = self.explorer.models.find_choice(spec).title
            raise tn.TNetError(f"{model} takes no looks: there is nothing to compare.")
        info = view.info
        if info.label is not None and spec != view.spec:
            name = self.explorer.read_card(view.spec).class_names[info.label]
            info = replace(info, label=find_class(trace.class_names, name))
        return Column(title, trace, view.source, info)

    def _describe_common(self, session: Session, mode: str, a: Column) -> str:
        """Describe what both sides have in common."""
        title, picture = self.explorer.models.find_choice(session.spec).title, a.info.title
        common = {
            "policies": f"Both sides: {title}, looking at {picture}.",
            "checkpoints": f"Both sides: {picture}, looked at as each network chooses.",
            "pictures": f"Both sides: {title}, looking as it chooses.",
        }[mode]
        return f"{common} {explain_other_sampling(session.trace)}".strip()


def find_most_alike(spec: str, specs: list[str]) -> str | None:
    """Return the other checkpoint whose name begins alike for longest; None where there is no other."""

    def count_alike(other: str) -> int:
        return next((at for at, (x, y) in enumerate(zip(spec, other, strict=False)) if x != y), len(spec))

    return max((other for other in specs if other != spec), key=count_alike, default=None)
