"""Link previews: what other sites show of a link to the page, in place of the tags that Gradio writes."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from markupsafe import Markup
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pages.server.scripts import read_route

TITLE = "TNet Explorer"
DESCRIPTION = "Watch a classifier decide where to look, and see what each look changed."
ALT = "A photograph with the looks of the network as boxes, and how they add up to its answer."
IMAGE_ROUTE = "/web/preview.jpg"
_IMAGE = Path(__file__).parents[2] / "viz" / "explore" / "preview.jpg"  # a card of the app, 1200 x 630
_TAG = re.compile(rb"""<meta\s+(?:property="og:|name="twitter:)[^>]*>\s*""")
_HOST = re.compile(r"[A-Za-z0-9.:\[\]-]{1,255}")


def build_tags(address: str) -> str:
    """Return Open Graph and Twitter tags of the page at an address that ends without a slash."""
    tags = {
        "og:type": "website", "og:site_name": TITLE, "og:title": TITLE, "og:description": DESCRIPTION,
        "og:url": f"{address}/", "og:image": address + IMAGE_ROUTE, "og:image:width": "1200",
        "og:image:height": "630", "og:image:alt": ALT,
    }  # fmt: skip
    tag = Markup('<meta property="{}" content="{}">')  # escapes what it is filled with
    card = Markup('<meta name="twitter:card" content="summary_large_image">')
    return str(Markup("").join(tag.format(name, text) for name, text in tags.items()) + card)


def find_address(scope: Scope) -> str:
    """Return where the visitor finds the page: what sends requests on, such as a Space, tells host and protocol."""
    headers = Headers(scope=scope)
    host = headers.get("x-forwarded-host", headers.get("host", "")).split(",")[0].strip()
    protocol = headers.get("x-forwarded-proto", scope.get("scheme", "http")).split(",")[0].strip()
    if not _HOST.fullmatch(host) or protocol not in ("http", "https"):
        return ""
    return f"{protocol}://{host}{scope.get('root_path', '').rstrip('/')}"


@cache
def _read_image() -> bytes:
    return _IMAGE.read_bytes()


class LinkPreview:
    """Answers with the preview's picture, and puts its tags into the page."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        route = read_route(scope) if scope["type"] == "http" and scope["method"] in ("GET", "HEAD") else None
        if route == IMAGE_ROUTE:
            headers = {"Cache-Control": "public, max-age=86400"}
            await Response(_read_image(), headers=headers, media_type="image/jpeg")(scope, receive, send)
            return
        if route != "/" or scope["method"] != "GET":
            await self.app(scope, receive, send)
            return
        start: Message = {}
        parts = list[bytes]()

        async def send_tagged(message: Message) -> None:
            nonlocal start
            if message["type"] == "http.response.start":
                start = message
                return
            if message["type"] != "http.response.body":
                await send(message)
                return
            parts.append(message.get("body", b""))
            if message.get("more_body"):
                return
            body, headers = b"".join(parts), MutableHeaders(scope=start)
            if headers.get("content-type", "").startswith("text/html"):
                head, mark, rest = body.partition(b"</head>")
                tags = build_tags(find_address(scope)).encode()
                body = _TAG.sub(b"", head).replace(b"<head>", b"<head>" + tags, 1) + mark + rest
                headers["content-length"] = str(len(body))
            await send(start)
            await send({"type": "http.response.body", "body": body})

        await self.app(scope, receive, send_tagged)
