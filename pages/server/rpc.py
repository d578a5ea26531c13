"""The protocol between page and server: calls with an id and one answer each, and what the server sends by itself.

A call is an event of the channel, one component that is not seen; its answer is the channel's next value. Being events,
calls wait in Gradio's queue, with its limits. `viz/web/core/rpc.js` is the other side, docs/architecture.md lists all
messages. An answer may get lost and is asked for again, so what a call does twice must be the same as once.
"""

from __future__ import annotations

import itertools
import json
import secrets
import threading
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import gradio as gr

import tnet_core as tn
from pages.sampling import AS_TRAINED
from pages.server.sessions import Session, SessionExpiredError
from viz.web.modules import build_mount_script

CALLS = ("steer", "sample", "reopen", "zoom", "take", "pair", "look_pair", "drop")
CALL_OPTIONS: dict[str, Any] = {"trigger_mode": "multiple", "api_visibility": "private"}
_pushes = itertools.count(1)


def build_channel() -> gr.HTML:
    """Build the component that carries calls and answers, in the current context."""
    mount = build_mount_script("connect", *CALLS)
    return gr.HTML("", html_template="<i></i>", js_on_load=mount, apply_default_css=False, elem_id="channel")


def read_event(event: gr.EventData) -> dict[str, Any]:
    """Return what the browser sent along; anything may have been."""
    data = getattr(event, "_data", None)
    return data if isinstance(data, dict) else {}


def read_query(request: gr.Request | None) -> list[tuple[str, str]]:
    """Return the parameters of the page's address, those that are given twice included."""
    found = getattr(request, "query_params", {})
    return list(found.multi_items() if hasattr(found, "multi_items") else found.items())


def read_session_id(request: gr.Request | None) -> str:
    """Return the name a browser gave itself, known to nobody else."""
    return str(getattr(request, "session_hash", None) or "")


def add_fields(message: str, **fields: Any) -> str:
    """Return a JSON object with more fields."""
    return f"{message[:-1]},{json.dumps(fields, separators=(',', ':'))[1:]}"


def push(message: str, **fields: Any) -> str:
    """Return a message that no call asked for, with a new id: the same text twice would not reach the page again."""
    return add_fields(message, **fields, id=f"push {next(_pushes)}")


class PageCalls:
    """The calls of one page: which of them run, and which answer may change what it shows.

    Handlers run side by side and see a page's states as they were when they began. The checkpoint asked for last
    decides: what was asked for under another one is not wanted any more. Under one checkpoint an answer never replaces
    the answer to a later request.
    """

    def __init__(self) -> None:
        self.steering = threading.Lock()  # looks are added one after the other, each to what the last one left
        self.where: object = None  # the picture the page shows
        self.mode = AS_TRAINED  # how the visitor wants pictures to be looked at
        self._name = secrets.token_hex(4)  # numbers of requests begin anew when a server has forgotten a page
        self._running: set[int | None] = set()
        self._lock = threading.Lock()  # of what follows and of what runs
        self._requests = 0
        self._clicks = 0
        self._accepted = 0
        self._spec: str | None = None  # asked for last; None until then
        self._opening = 0  # number of the request that asked for it
        self._session: weakref.ref[Session] | None = None  # Gradio keeps it, and forgets it in time

    def __deepcopy__(self, _: Any) -> PageCalls:
        return PageCalls()  # how Gradio gives every page its own

    def answer(self, event: gr.EventData, run: Callable[[dict[str, Any]], list[Any]], states: int = 0) -> list[Any]:
        """Run a call and return what it gives the page's states, then the answer: JSON with the call's id.

        `run` returns the states and a dictionary or JSON text. A TNetError becomes a 'problem', and a call that is made
        again while it runs is told so.
        """
        call, kept = read_event(event), [gr.skip()] * states
        number = call.get("id") if type(call.get("id")) is int else None
        with self._lock:
            is_running = number is not None and number in self._running
            self._running.add(number)
        if is_running:
            content: Any = {"kind": "working"}
        else:
            try:
                *kept, content = run(call)
            except tn.TNetError as error:
                kind = "expired" if isinstance(error, SessionExpiredError) else "problem"
                content = {"kind": kind, "sentence": str(error)}
            finally:
                with self._lock:
                    self._running.discard(number)
        text = content if isinstance(content, str) else json.dumps(content, separators=(",", ":"))
        attempt = call.get("attempt")
        return [*kept, add_fields(text, id=number, attempt=attempt if type(attempt) is int else None)]

    def find_session(self, session: Session | None) -> Session | None:
        """Return the newest session of this page, which a handler that began earlier does not see."""
        newest = None if self._session is None else self._session()
        return session if session is None or newest is None else newest

    def replace_session(self, session: Session | None, made: Session) -> bool:
        """Note that `made` took the place of a session; return False where the page shows another one meanwhile."""
        with self._lock:
            newest = None if self._session is None else self._session()
            if newest is not None and newest is not session:
                return False
            self._session = weakref.ref(made)
            return True

    @property
    def spec(self) -> str | None:
        """The checkpoint the page is at, or is going to; None until one was asked for."""
        return self._spec

    # Which picture is shown ------------------------------------------------------------------------

    def request_picture(self, spec: str, click: object = None) -> PictureRequest:
        """Note a request for another picture under the checkpoint the page was at when it asked.

        The page counts its clicks on pictures: one that arrives after a later one is outdated from the start.
        """
        with self._lock:
            if type(click) is int and click < self._clicks:
                return PictureRequest(0, spec, self._name)
            self._clicks = click if type(click) is int else self._clicks
            return self._number(spec)

    def _number(self, spec: str) -> PictureRequest:
        self._requests += 1
        return PictureRequest(self._requests, spec, self._name)

    def request_checkpoint(self, spec: str) -> PictureRequest:
        """Note a request for another checkpoint: from now on it is the one that decides."""
        with self._lock:
            request = self._number(spec)
            self._spec, self._opening = spec, request.number
            return request

    def is_at(self, spec: str) -> bool:
        """Tell whether this is still the checkpoint the page is at, or is going to."""
        return self._spec in (None, spec)

    def accept(self, request: PictureRequest, session: Session, where: object = None, spec: str | None = None) -> bool:
        """Tell whether the answer may be shown; from then on its session is the page's.

        `spec` is the checkpoint it turned out to be under, where that is another one than was asked for.
        """
        with self._lock:
            if not self._is_current(request):
                return False
            self._accepted, self.where, self._spec = request.number, where, spec or request.spec
            self._session = weakref.ref(session)
            return True

    def _is_current(self, request: PictureRequest) -> bool:
        return self.is_at(request.spec) and request.number >= max(self._accepted, self._opening)

    def reject(self, request: PictureRequest, spec: str | None) -> bool:
        """Note that a request failed: the page stays at `spec`. Return whether it still wants to hear about it."""
        with self._lock:
            is_current = self._is_current(request)
            if request.number == self._opening:
                self._spec = spec
            return is_current


@dataclass(frozen=True)
class PictureRequest:
    """A picture under a checkpoint, asked for by one page."""

    number: int  # later requests have larger ones
    spec: str
    page: str  # name of the page's `PageCalls`

    def describe(self) -> dict[str, Any]:
        """Return what the page needs to leave an answer out that arrives after that to a later request."""
        return {"page": self.page, "number": self.number}
