"""Compression of streams of events, which Starlette's own middleware leaves as they are."""

from __future__ import annotations

import zlib

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

GZIP = 16 + zlib.MAX_WBITS  # zlib writes the header and the checksum of a gzip file


class StreamCompression:
    """Compresses streams of events and sends each event at once."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and "gzip" in Headers(scope=scope).get("Accept-Encoding", ""):
            send = compress_events(send)
        await self.app(scope, receive, send)


def compress_events(send: Send) -> Send:
    """Return a `send` that compresses an answer if it is a stream of events and not compressed yet."""
    compressor = None

    async def send_compressed(message: Message) -> None:
        nonlocal compressor
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            is_stream = headers.get("Content-Type", "").startswith("text/event-stream")
            if is_stream and "Content-Encoding" not in headers:
                compressor = zlib.compressobj(wbits=GZIP)
                headers["Content-Encoding"] = "gzip"
                headers.add_vary_header("Accept-Encoding")
                del headers["Content-Length"]
        elif message["type"] == "http.response.body" and compressor is not None:
            ends = not message.get("more_body", False)
            # A sync flush ends the block, so that the browser reads this event before the next one is written.
            body = compressor.compress(message.get("body", b""))
            message = {**message, "body": body + compressor.flush(zlib.Z_FINISH if ends else zlib.Z_SYNC_FLUSH)}
        await send(message)

    return send_compressed
