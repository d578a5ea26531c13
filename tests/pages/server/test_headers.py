"""Every answer says what a browser may do with it; large ones are compressed, and events come when they happen."""

from __future__ import annotations

import gzip
import zlib
from typing import Any

import pytest
from starlette.types import Message, Receive, Scope, Send

from pages.server.compression import GZIP
from pages.server.headers import HEADERS
from pages.server.middleware import middleware_options
from tests.support.coroutines import run_coroutine

PAGE = b"<p>TNet Explorer</p>" * 1000


async def answer(scope: Scope, receive: Receive, send: Send) -> None:
    """Stand in for Gradio: a large page, and two events, the second of which never comes."""
    is_page = scope["path"] == "/"
    kind = b"text/html" if is_page else b"text/event-stream"
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", kind)]})
    await send({"type": "http.response.body", "body": PAGE if is_page else b"data: {}\n\n", "more_body": not is_page})


def ask(path: str, method: str = "GET") -> tuple[dict[str, str], bytes]:
    app: Any = answer
    for layer in reversed(list(middleware_options(1000)["middleware"])):
        app = layer.cls(app, *layer.args, **layer.kwargs)
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        sent.append(message)

    scope = {"type": "http", "method": method, "path": path, "headers": [(b"accept-encoding", b"gzip")]}
    run_coroutine(app(scope, receive, send))
    headers = {name.decode().lower(): value.decode() for name, value in sent[0]["headers"]}
    return headers, b"".join(message.get("body", b"") for message in sent)


def test_a_page_is_compressed_and_has_every_header() -> None:
    headers, body = ask("/")
    assert headers["content-encoding"] == "gzip" and gzip.decompress(body) == PAGE and len(body) < 1000
    assert {name.lower(): value for name, value in HEADERS.items()}.items() <= headers.items()


def test_whether_the_page_is_there_is_answered_without_building_it() -> None:
    headers, body = ask("/", "HEAD")
    assert body == b"" and "content-encoding" not in headers and headers["content-type"].startswith("text/html")
    assert {name.lower(): value for name, value in HEADERS.items()}.items() <= headers.items()


def test_an_event_is_sent_at_once_and_compressed() -> None:
    headers, body = ask("/gradio_api/queue/data")
    assert headers["content-encoding"] == "gzip" and headers["vary"] == "Accept-Encoding"
    assert zlib.decompressobj(GZIP).decompress(body) == b"data: {}\n\n"  # though the stream goes on
    assert headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("path", ["/elsewhere", "/gradio_api/call/x"])
def test_a_refusal_has_them_too(path: str) -> None:
    headers, body = ask(path, "POST")
    assert b"There is nothing here." in body and headers["referrer-policy"] == "same-origin"


def test_a_space_may_show_the_page_and_nobody_else() -> None:
    policy = dict(part.split(" ", 1) for part in HEADERS["Content-Security-Policy"].split("; "))
    assert policy["frame-ancestors"] == "'self' https://huggingface.co https://*.hf.space"
    assert not any("*" in value or "http" in value for name, value in policy.items() if name != "frame-ancestors")
