"""What the server remembers of one page: the picture it shows, and which answer may change it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import tnet_core as tn
from pages.sampling import AS_TRAINED, SamplingMode

SESSION_SECONDS = 3600  # a page that is left alone this long is forgotten
SESSION_EXPIRED = "This page was left alone for too long: reload it to go on."
NO_PICTURE = "No picture was looked at yet: as soon as Explore shows one, it is here too."

Where = int | str  # number of an example, or the file of a picture that was brought
Cell = tuple[int | None, int]  # a look's position (None: the thumbnail) and a cell of its grid


@dataclass(frozen=True, eq=False)
class Session:
    """One picture under one checkpoint, as a page shows it: no pixels, no model."""

    spec: str
    where: Where
    trace: tn.Trace
    added: tuple[Cell, ...] = ()  # looks beyond the budget, in the order they were asked for
    scene: int = 0  # number of the scene the page was sent: what it asks about
    # scenes of the same picture with fewer looks: the page is at one if an answer got lost
    earlier: tuple[int, ...] = ()
    mode: SamplingMode = AS_TRAINED  # which pixels looks are cut from, and how deep they go

    def check_scene(self, scene: Any) -> None:
        """Refuse a page that was sent another picture than this one."""
        if scene != self.scene and scene not in self.earlier:
            raise tn.TNetError("Another picture was chosen meanwhile: choose this one again to go on.")


def require_session(session: Session | None, problem: str = NO_PICTURE) -> Session:
    """Return the session; a TNetError with this sentence where there is none."""
    if session is None:
        raise tn.TNetError(problem)
    return session


@dataclass(frozen=True)
class PictureRequest:
    """A picture under a checkpoint, asked for by one page."""

    number: int  # later requests have larger ones
    spec: str


class RequestOrder:
    """Which answer may change a page when answers come in another order than they were asked for.

    Kept for every page. Handlers run side by side and see a page's states as they were when they began. The checkpoint
    asked for last decides: what was asked for under another one is not wanted any more. Under one checkpoint an answer
    never replaces the answer to a later request.
    """

    def __init__(self) -> None:
        self._asked = 0
        self._accepted = 0
        self._spec: str | None = None  # asked for last; None until then
        self._opening = 0  # number of the request that asked for it
        self._scene = 0  # what the page was sent last
        self.where: object = None  # the picture it shows
        self.mode = AS_TRAINED  # how the visitor wants pictures to be looked at

    def request_picture(self, spec: str) -> PictureRequest:
        """Note a request for another picture under the checkpoint the page was at when it asked."""
        self._asked += 1
        return PictureRequest(self._asked, spec)

    def request_checkpoint(self, spec: str) -> PictureRequest:
        """Note a request for another checkpoint: from now on it is the one that decides."""
        request = self.request_picture(spec)
        self._spec, self._opening = spec, request.number
        return request

    def is_at(self, spec: str) -> bool:
        """Tell whether this is still the checkpoint the page is at, or is going to."""
        return self._spec in (None, spec)

    def accept(self, request: PictureRequest, scene: int, where: object = None, spec: str | None = None) -> bool:
        """Tell whether the answer, a scene of this number, may be shown; from then on it is what the page shows.

        `spec` is the checkpoint it turned out to be under, where that is another one than was asked for.
        """
        if not self._is_current(request):
            return False
        self._accepted, self._scene, self.where, self._spec = request.number, scene, where, spec or request.spec
        return True

    def _is_current(self, request: PictureRequest) -> bool:
        return self.is_at(request.spec) and request.number >= max(self._accepted, self._opening)

    def reject(self, request: PictureRequest, spec: str) -> bool:
        """Note that a request failed: the page stays at `spec`. Return whether it still wants to hear about it."""
        is_current = self._is_current(request)
        if request.number == self._opening:
            self._spec = spec
        return is_current

    def accept_steering(self, before: int, after: int) -> bool:
        """Tell whether looks added to scene `before` may be shown: nothing else was shown meanwhile."""
        if before != self._scene:
            return False
        self._scene = after
        return True
