"""The only route that is not Gradio's: the page's modules, a fixed list read at start, never a file by its path."""

from __future__ import annotations

import gzip
from functools import cache

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import Scope

from viz.web.modules import build_address, build_sent_modules, build_version

# The version is part of the address, so what was loaded once is right for ever.
_HEADERS = {
    "Cache-Control": "public, max-age=31536000, immutable",
    "X-Content-Type-Options": "nosniff",
    "Vary": "Accept-Encoding",
}


@cache
def compress_scripts() -> dict[str, tuple[bytes, bytes]]:
    """Return every module by its address, as it is and compressed."""
    texts = {f"/{build_address(name)}": text.encode() for name, text in build_sent_modules().items()}
    return {address: (text, gzip.compress(text, mtime=0)) for address, text in texts.items()}


def read_route(scope: Scope) -> str:
    """Return the path of a request below the address that the app is mounted at."""
    return str(scope["path"]).removeprefix(scope.get("root_path", "").rstrip("/")) or "/"


def answer_script(scope: Scope) -> Response | None:
    """Return the module that a request names; None where it names none."""
    if scope["type"] != "http" or scope["method"] not in ("GET", "HEAD"):
        return None
    found = compress_scripts().get(read_route(scope))
    if found is None:
        return None
    sent, headers = Headers(scope=scope), _HEADERS | {"ETag": f'"{build_version()}"'}
    if headers["ETag"] in sent.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    text, packed = found
    if "gzip" in sent.get("accept-encoding", ""):
        text, headers = packed, headers | {"Content-Encoding": "gzip"}
    return Response(text if scope["method"] == "GET" else b"", headers=headers, media_type="text/javascript")
