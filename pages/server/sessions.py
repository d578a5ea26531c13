"""What the server remembers of one page: checkpoint, picture and trace."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import tnet_core as tn
from pages.sampling import AS_TRAINED, SamplingMode

SESSION_SECONDS = 3600  # a page that is left alone this long is forgotten
SESSION_EXPIRED = "The server has forgotten this page, which was left alone for too long: reload it to go on."
UPLOAD_FORGOTTEN = (
    "The server has forgotten your picture, since the page was left alone or the server restarted: upload it again."
)
PICTURE_REPLACED = "Another picture was chosen meanwhile: choose this one again to go on."
NO_PICTURE = "No picture was looked at yet: as soon as Explore shows one, it is here too."


class OwnPicture(str):
    """The file of a picture of the visitor's own, of which it is known what it is called and which class it shows."""

    called: str
    class_name: str

    def __new__(cls, path: str, called: str, class_name: str) -> OwnPicture:
        made = super().__new__(cls, path)
        made.called, made.class_name = called, class_name
        return made


Where = int | str  # number of an example, or the file of a picture that was brought
Cell = tuple[int | None, int]  # a look's position (None: the thumbnail) and a cell of its grid


@dataclass(frozen=True, eq=False)
class Session:
    """One picture under one checkpoint, as a page shows it: no pixels, no part of the model, less than 1 MB."""

    spec: str
    where: Where
    trace: tn.Trace
    scene: int = 0  # number of the scene the page was sent, its own: what it asks about
    mode: SamplingMode = AS_TRAINED  # which pixels looks are cut from, and how deep they go

    def check_scene(self, scene: Any) -> None:
        """Refuse a page that was sent another picture than this one."""
        if scene != self.scene:
            raise tn.TNetError(PICTURE_REPLACED)


class SessionExpiredError(tn.TNetError):
    """The page is there, what the server knew of it is not."""


def require_session(session: Session | None, problem: str = NO_PICTURE) -> Session:
    """Return the session; where there is none, an error with this sentence."""
    if session is None:
        raise SessionExpiredError(problem)
    return session
