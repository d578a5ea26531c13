"""Events arrive compressed, each as soon as it was sent; everything else is left alone."""

from __future__ import annotations

import base64
import random
import zlib
from collections.abc import Iterable

from starlette.types import Message

from pages.server.compression import GZIP, StreamCompression
from tests.support.coroutines import run_coroutine

EVENTS = [b"data: first\n\n", b"data: " + base64.b64encode(random.Random(1).randbytes(60_000)) + b"\n\n"]


def answer(kind: bytes, accepts: bytes = b"gzip, br", headers: Iterable[tuple[bytes, bytes]] = ()) -> list[Message]:
    """Return the messages of an answer in three parts, the last one empty."""
    sent: list[Message] = []

    async def application(scope, receive, send):  # type: ignore[no-untyped-def]
        given = [(b"content-type", kind), *headers]
        await send({"type": "http.response.start", "status": 200, "headers": given})
        for event in EVENTS:
            await send({"type": "http.response.body", "body": event, "more_body": True})
        await send({"type": "http.response.body", "body": b""})

    async def send(message: Message) -> None:
        sent.append(message)

    scope = {"type": "http", "headers": [(b"accept-encoding", accepts)]}
    run_coroutine(StreamCompression(application)(scope, None, send))  # type: ignore[arg-type]
    return sent


def test_each_event_can_be_read_before_the_next_one() -> None:
    start, *parts = answer(b"text/event-stream; charset=utf-8", headers=[(b"content-length", b"7")])
    headers = dict(start["headers"])
    assert headers[b"content-encoding"] == b"gzip"
    assert headers[b"vary"] == b"Accept-Encoding"
    assert b"content-length" not in headers
    reader = zlib.decompressobj(GZIP)
    assert [reader.decompress(part["body"]) for part in parts] == [*EVENTS, b""]
    assert reader.eof


def test_pictures_in_base64_shrink_by_a_fifth_at_least() -> None:
    _, *parts = answer(b"text/event-stream")
    assert sum(len(part["body"]) for part in parts) < 0.8 * sum(map(len, EVENTS))


def test_other_answers_and_other_readers_get_what_was_sent() -> None:
    for sent in (
        answer(b"application/json"),
        answer(b"text/event-stream", accepts=b"identity"),
        answer(b"text/event-stream", headers=[(b"content-encoding", b"br")]),
    ):
        assert [part["body"] for part in sent[1:]] == [*EVENTS, b""]
