"""Middleware: what the server may be asked at all. The rest is refused in one sentence, before Gradio sees it.

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
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pages.server.access import is_uploaded
from pages.server.compression import StreamCompression
from pages.server.headers import ResponseHeaders
from pages.server.preview import LinkPreview
from pages.server.scripts import answer_script, read_route

MAX_CALL_BYTES = 1_000_000  # what the page sends is far smaller
UPLOAD_OVERHEAD_BYTES = 100_000  # of an upload besides the file
MAX_SESSION_CHARACTERS = 64  # of the name a browser gives itself

READ_PATHS = re.compile(
    r"/|/config/?|/theme\.css|/favicon\.ico|/robots\.txt|/manifest\.json|/(assets|static|svelte)/.+|"
    r"/gradio_api/(info|startup-events|theme\.css|app_id|user|login_check|queue/data|queue/status|upload_progress)/?|"
    r"/gradio_api/heartbeat/[^/]+|/gradio_api/file=(?!https?:).+"
)
UPLOAD_PATH = re.compile(r"/gradio_api/upload/?")
CALL_PATHS = re.compile(r"/gradio_api/(queue/join|run/predict)/?")  # the second for functions that do not wait
CONTROL_PATHS = re.compile(r"/gradio_api/(cancel|reset)/?")


class RefusedError(Exception):
    """Status and sentence of the answer."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status
        self.detail: Any = sentence


class RefusedProgramError(RefusedError):
    """A refusal that `gradio_client` passes on as a sentence; of any other one it tells the status alone."""

    def __init__(self, sentence: str) -> None:
        super().__init__(422, sentence)
        self.detail = [{"__type__": "validate", "is_valid": False, "parameter_name": "file", "message": sentence}]


class RequestFilter:
    """Lets only the page's own requests through to Gradio's application."""

    def __init__(self, app: ASGIApp, largest_upload: int) -> None:
        self.app = app
        self.largest_upload = largest_upload

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if (script := answer_script(scope)) is not None:
            await script(scope, receive, send)
            return
        if scope["type"] == "http" and scope["method"] == "HEAD" and read_route(scope) == "/":
            # Gradio asks its own server this when it starts, and gives up after 3 s: a busy host needs longer to build
            # the page for it.
            await Response(media_type="text/html")(scope, receive, send)
            return
        try:
            receive = await self._check_request(scope, receive)
        except RefusedError as refusal:
            answer = JSONResponse({"detail": refusal.detail}, refusal.status, {"Connection": "close"})
            await answer(scope, receive, send)
            return
        await self.app(scope, receive, send)

    async def _check_request(self, scope: Scope, receive: Receive) -> Receive:
        """Return where the body is to be read from; raise where the request is not one of the page's."""
        method, path = scope.get("method"), read_route(scope)
        if scope["type"] == "http" and method in ("GET", "HEAD") and READ_PATHS.fullmatch(path):
            return receive
        if method == "POST" and UPLOAD_PATH.fullmatch(path):
            check_length(scope, self.largest_upload + UPLOAD_OVERHEAD_BYTES)
            return receive
        if method == "POST" and CONTROL_PATHS.fullmatch(path):
            check_length(scope, MAX_CALL_BYTES)
            return receive
        if method == "POST" and CALL_PATHS.fullmatch(path):
            check_length(scope, MAX_CALL_BYTES)
            body = await read_body(receive)
            check_call(body, scope["app"], waits="join" in path)
            return replay_body(body, receive)
        raise RefusedError(404, "There is nothing here.")


def check_length(scope: Scope, most: int) -> None:
    """Refuse a body that does not tell its length, or is too long: one cut off on the way would leave files behind.

    One that comes in chunks has no end before the last of them, whatever length it tells besides.
    """
    headers = dict(scope["headers"])
    length = headers.get(b"content-length", b"")
    if b"transfer-encoding" in headers or not length.isdigit():
        raise RefusedError(411, "The request does not tell its length.")
    if int(length) > most:
        raise RefusedError(413, f"The request is too large; {most} bytes are the limit.")


async def read_body(receive: Receive) -> bytes:
    """Return the whole body of a request."""
    parts: list[bytes] = []
    while True:
        message = await receive()
        if message["type"] != "http.request":
            raise RefusedError(400, "The request was not finished.")
        parts.append(message.get("body", b""))
        if not message.get("more_body", False):
            return b"".join(parts)


def replay_body(body: bytes, receive: Receive) -> Receive:
    """Return a receiver of the body, then of whatever else comes from the connection."""
    waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive_again() -> Message:
        return waiting.pop() if waiting else await receive()

    return receive_again


def check_call(body: bytes, app: App, waits: bool) -> None:
    """Refuse all but functions that exist, called as the page calls them, with no file but an uploaded one."""
    try:
        call = json.loads(body)
    except (ValueError, RecursionError):
        raise RefusedError(400, "The request is not JSON.") from None
    call = call if isinstance(call, dict) else {}
    number, data, session = call.get("fn_index"), call.get("data"), call.get("session_hash")
    function = app.get_blocks().fns.get(number) if type(number) is int else None
    if function is None or bool(function.queue) is not waits:
        raise RefusedError(400, "The page has no such function.")
    if not isinstance(data, list) or len(data) < len(function.inputs):
        raise RefusedError(400, "The function takes other arguments.")
    if not isinstance(session, str) or not 0 < len(session) <= MAX_SESSION_CHARACTERS:
        raise RefusedError(400, "The request names no session.")
    folder = Path(app.uploaded_file_dir).resolve()
    if not all(is_uploaded(path, folder) for path in find_paths(call)):
        sentence = "Only an uploaded file can be opened."
        raise RefusedProgramError(sentence) if function.api_visibility == "public" else RefusedError(400, sentence)
    for block, value in zip(function.inputs, data, strict=False):
        check_value(getattr(block, "data_model", None), value)


def check_value(model: Any, value: Any) -> None:
    """Refuse a value that is not of the structure its component takes."""
    if model is None or value is None:
        return
    try:
        model.model_validate(value)
    except (ValidationError, TypeError, ValueError):
        raise RefusedError(400, "An argument of the request is not what the page sends.") from None


def find_paths(value: Any) -> Iterator[Any]:
    """Yield whatever is called a path, at any depth."""
    waiting = [value]
    while waiting:
        current = waiting.pop()
        if isinstance(current, dict):
            if "path" in current:
                yield current["path"]
            waiting.extend(current.values())
        elif isinstance(current, list):
            waiting.extend(item for item in current if isinstance(item, dict | list))


def middleware_options(largest_upload: int, *further: Middleware) -> dict[str, Iterable[Any]]:
    """Return the `app_kwargs` of `launch`: headers of all answers, compression, and the filter in front of Gradio.

    What is `further` comes before the filter, with routes of its own. Starlette's compression leaves streams of events
    alone; ours compresses each event and sends it as it comes.
    """
    return {
        "middleware": [
            Middleware(ResponseHeaders),
            Middleware(GZipMiddleware, minimum_size=2000, compresslevel=6),
            Middleware(StreamCompression),
            Middleware(LinkPreview),
            *further,
            Middleware(RequestFilter, largest_upload=largest_upload),
        ]
    }
