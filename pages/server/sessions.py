"""Which answer may change a page when answers come in another order than they were asked for."""

from __future__ import annotations

from dataclasses import dataclass

from pages.sampling import OWN


@dataclass(frozen=True)
class Wish:
    """A picture under a checkpoint, asked for by one page."""

    number: int  # later wishes have larger ones
    spec: str


class Turns:
    """Kept for every page. Handlers run side by side and see a page's states as they were when they began.

    The checkpoint asked for last decides: what was asked for under another one is not wanted any more. Under one
    checkpoint an answer never replaces the answer to a later wish.
    """

    def __init__(self) -> None:
        self._asked = 0
        self._granted = 0
        self._spec: str | None = None  # asked for last; None until then
        self._opening = 0  # number of the wish that asked for it
        self._scene = 0  # what the page was sent last
        self.where: object = None  # the picture it shows
        self.mode = OWN  # how the visitor wants pictures to be looked at

    def picture(self, spec: str) -> Wish:
        """Another picture under the checkpoint the page was at when it asked."""
        self._asked += 1
        return Wish(self._asked, spec)

    def checkpoint(self, spec: str) -> Wish:
        wish = self.picture(spec)
        self._spec, self._opening = spec, wish.number
        return wish

    def wants(self, spec: str) -> bool:
        """Whether this is still the checkpoint the page is at, or is going to."""
        return self._spec in (None, spec)

    def grant(self, wish: Wish, scene: int, where: object = None, spec: str | None = None) -> bool:
        """Whether the answer, a scene of this number, may be shown; from then on it is what the page shows.

        `spec` is the checkpoint it turned out to be under, where that is another one than was asked for.
        """
        if not self._counts(wish):
            return False
        self._granted, self._scene, self.where, self._spec = wish.number, scene, where, spec or wish.spec
        return True

    def _counts(self, wish: Wish) -> bool:
        return self.wants(wish.spec) and wish.number >= max(self._granted, self._opening)

    def refuse(self, wish: Wish, spec: str) -> bool:
        """The wish could not be fulfilled: the page stays at `spec`. Whether it still wants to hear about it."""
        wanted = self._counts(wish)
        if wish.number == self._opening:
            self._spec = spec
        return wanted

    def steer(self, before: int, after: int) -> bool:
        """Whether looks added to scene `before` may be shown: nothing else was shown meanwhile."""
        if before != self._scene:
            return False
        self._scene = after
        return True
