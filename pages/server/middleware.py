"""What the server may be asked at all; everything else is refused here, in one sentence, before Gradio sees it.

Gradio serves more than this page uses: it fetches addresses for whoever asks, converts videos, stores pages, lets its
functions be called around the queue and reads bodies of any size. On a public host each is a way to use it up.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from gradio.routes import App
from pydantic import ValidationError
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LARGEST_CALL = 1_000_000  # bytes; what the page sends is far smaller
AROUND_A_FILE = 100_000  # bytes of an upload besides the file
LONGEST_SESSION = 64  # characters of the name a browser gives itself

READ = re.compile(
    r"/|/config/?|/theme\.css|/favicon\.ico|/robots\.txt|/manifest\.json|/(assets|static|svelte)/.+|"
    r"/gradio_api/(info|startup-events|theme\.css|app_id|user|login_check|queue/data|queue/status|upload_progress)/?|"
    r"/gradio_api/heartbeat/[^/]+|/gradio_api/file=(?!https?:).+"
)
UPLOAD = re.compile(r"/gradio_api/upload/?")
CALL = re.compile(r"/gradio_api/(queue/join|run/predict)/?")  # the second for functions that do not wait
SMALL = re.compile(r"/gradio_api/(cancel|reset)/?")


class RefusedError(Exception):
    """Status and sentence of the answer."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status
        self.detail: Any = sentence


class RefusedProgramError(RefusedError):
    """In the form in which `gradio_client` passes a sentence on; of any other refusal it tells the status alone."""

    def __init__(self, sentence: str) -> None:
        super().__init__(422, sentence)
        self.detail = [{"__type__": "validate", "is_valid": False, "parameter_name": "file", "message": sentence}]


class Gate:
    """Middleware around Gradio's application."""

    def __init__(self, app: ASGIApp, largest_upload: int) -> None:
        self.app = app
        self.largest_upload = largest_upload

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        try:
            receive = await self._admitted(scope, receive)
        except RefusedError as refusal:
            answer = JSONResponse({"detail": refusal.detail}, refusal.status, {"Connection": "close"})
            await answer(scope, receive, send)
            return
        await self.app(scope, receive, send)

    async def _admitted(self, scope: Scope, receive: Receive) -> Receive:
        """Where the body is to be read from; raises where the request is not one of the page's."""
        method, path = scope.get("method"), scope["path"]
        if scope["type"] == "http" and method in ("GET", "HEAD") and READ.fullmatch(path):
            return receive
        if method == "POST" and UPLOAD.fullmatch(path):
            within(scope, self.largest_upload + AROUND_A_FILE)
            return receive
        if method == "POST" and SMALL.fullmatch(path):
            within(scope, LARGEST_CALL)
            return receive
        if method == "POST" and CALL.fullmatch(path):
            within(scope, LARGEST_CALL)
            body = await whole(receive)
            check_call(body, scope["app"], waits="join" in path)
            return once(body, receive)
        raise RefusedError(404, "There is nothing here.")


def within(scope: Scope, most: int) -> None:
    """A body must tell its length: one that is cut off on the way would leave its files behind."""
    told = dict(scope["headers"]).get(b"content-length", b"")
    if not told.isdigit():
        raise RefusedError(411, "The request does not tell its length.")
    if int(told) > most:
        raise RefusedError(413, f"The request is too large; {most} bytes are the limit.")


async def whole(receive: Receive) -> bytes:
    parts: list[bytes] = []
    while True:
        message = await receive()
        if message["type"] != "http.request":
            raise RefusedError(400, "The request was not finished.")
        parts.append(message.get("body", b""))
        if not message.get("more_body", False):
            return b"".join(parts)


def once(body: bytes, receive: Receive) -> Receive:
    """The body, then whatever else comes from the connection."""
    waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def again() -> Message:
        return waiting.pop() if waiting else await receive()

    return again


def check_call(body: bytes, app: App, waits: bool) -> None:
    """A function that exists and is called as the page calls it, with no file but an uploaded one."""
    try:
        asked = json.loads(body)
    except (ValueError, RecursionError):
        raise RefusedError(400, "The request is not JSON.") from None
    asked = asked if isinstance(asked, dict) else {}
    number, data, session = asked.get("fn_index"), asked.get("data"), asked.get("session_hash")
    function = app.get_blocks().fns.get(number) if type(number) is int else None
    if function is None or bool(function.queue) is not waits:
        raise RefusedError(400, "The page has no such function.")
    if not isinstance(data, list) or len(data) < len(function.inputs):
        raise RefusedError(400, "The function takes other arguments.")
    if not isinstance(session, str) or not 0 < len(session) <= LONGEST_SESSION:
        raise RefusedError(400, "The request names no session.")
    folder = Path(app.uploaded_file_dir).resolve()
    if not all(uploaded(path, folder) for path in paths(asked)):
        sentence = "Only an uploaded file can be opened."
        raise RefusedProgramError(sentence) if function.api_visibility == "public" else RefusedError(400, sentence)
    for block, value in zip(function.inputs, data, strict=False):
        check_value(getattr(block, "data_model", None), value)


def check_value(model: Any, value: Any) -> None:
    """A component that takes a structure must get one."""
    if model is None or value is None:
        return
    try:
        model.model_validate(value)
    except (ValidationError, TypeError, ValueError):
        raise RefusedError(400, "An argument of the request is not what the page sends.") from None


def paths(value: Any) -> Iterator[Any]:
    """Whatever is called a path, at any depth."""
    waiting = [value]
    while waiting:
        current = waiting.pop()
        if isinstance(current, dict):
            if "path" in current:
                yield current["path"]
            waiting.extend(current.values())
        elif isinstance(current, list):
            waiting.extend(item for item in current if isinstance(item, dict | list))


def uploaded(path: Any, folder: Path) -> bool:
    try:
        return isinstance(path, str) and Path(path).resolve().is_relative_to(folder)
    except (OSError, ValueError):
        return False


def gated(largest_upload: int) -> dict[str, Iterable[Any]]:
    """For `launch(app_kwargs=…)`."""
    from starlette.middleware import Middleware

    return {"middleware": [Middleware(Gate, largest_upload=largest_upload)]}
