"""Two of the endpoints as tools for agents, by the Model Context Protocol: `python app.py --mcp`, on this machine only.

Gradio can publish functions by that protocol too, but all of the page's, and with older versions of two packages; here
the protocol's reference implementation publishes these two and nothing else. They take the budgets, checkpoints and
numbers of pixels that the page takes, and a picture by its path: no address is ever opened.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Literal

import anyio
import anyio.to_thread
from pydantic import Field
from starlette.types import ASGIApp, Receive, Scope, Send

import tnet_core as tn
from pages.api import explain_classes, traverse_file
from pages.explore.service import Explorer
from pages.limits import MAX_PARALLEL_CALLS
from pages.server.access import resolve_local_file
from pages.server.scripts import read_route
from viz.explore.answers import build_summary

if TYPE_CHECKING:
    from mcp.server.mcpserver import MCPServer

PATH = "/mcp"
MAX_REQUEST_BYTES = 100_000  # names and numbers; pictures are named, not sent

Image = Annotated[str, Field(description="Path of a picture on this computer; addresses are refused.", max_length=4096)]
Checkpoint = Annotated[str | None, Field(description="Id of a checkpoint; the app's first one if none is given.")]
Budget = Annotated[
    list[Annotated[int, Field(ge=0)]] | None,
    Field(description="Looks per grid, one number per level below the thumbnail; as trained if none is given."),
]
Sampling = Annotated[
    Literal["official", "native"] | None,
    Field(description="'official' cuts looks from the network's own frame, 'native' from the picture's own pixels."),
]
Levels = Annotated[
    Literal["auto"] | None, Field(description="'auto', with native sampling, goes as deep as the picture's pixels go.")
]
Class = Annotated[str | int | None, Field(description="A class by name or number.")]


def build_server(explorer: Explorer) -> MCPServer[Any]:
    """Return the server with its two tools."""
    try:
        from mcp.server.mcpserver import MCPServer
        from mcp.server.mcpserver.exceptions import ToolError
    except ImportError:
        raise tn.TNetError("--mcp needs one more package: pip install 'mcp>=2.3,<3'.") from None
    server: MCPServer[Any] = MCPServer(
        "tnet-explorer",
        version=tn.__version__,
        instructions="Where a hard-attention classifier looks, and what each look was worth. All numbers are exact.",
        log_level="WARNING",
    )
    turns = anyio.CapacityLimiter(MAX_PARALLEL_CALLS)

    async def answer(work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """Do the work in a thread, as many at once as the page's endpoints."""
        try:
            return await anyio.to_thread.run_sync(work, limiter=turns)
        except tn.TNetError as error:
            raise ToolError(str(error)) from None

    def look(image: str, *options: Any) -> tn.Trace:
        return traverse_file(explorer, partial(resolve_picture, image), *options)

    @server.tool()
    async def traverse(
        image: Image, checkpoint: Checkpoint = None, budget: Budget = None,
        sampling: Sampling = None, levels: Levels = None,
    ) -> dict[str, Any]:  # fmt: skip
        """Look at a picture: where the network looks, what it decides and what that costs, with the whole trace."""
        return await answer(lambda: build_summary(look(image, checkpoint, budget, sampling, levels)))

    @server.tool()
    async def contributions(
        image: Image, checkpoint: Checkpoint = None, cls: Class = None, versus: Class = None, budget: Budget = None,
        sampling: Sampling = None, levels: Levels = None,
    ) -> dict[str, Any]:  # fmt: skip
        """Exact signed share of every look in the logit of a class (the predicted one), or in its lead over another.

        `without` says what would be left of that class without the look: a share is not an effect.
        """
        return await answer(lambda: explain_classes(look(image, checkpoint, budget, sampling, levels), cls, versus))

    return server


def resolve_picture(image: str) -> str:
    """Return where a picture of this computer lies; refuse an address."""
    if re.match(r"\s*[A-Za-z][\w+.-]*:", image):
        raise tn.TNetError("The image is named by its path on this computer; addresses are not opened.")
    return resolve_local_file(image, local=True)


class McpRoute:
    """Middleware that gives one path to the tools' server, and everything else to the page."""

    def __init__(self, app: ASGIApp, server: MCPServer[Any]) -> None:
        self.app = app
        # Only requests that name this machine as their host, and come from no other's page, are answered.
        self.tools = server.streamable_http_app(
            streamable_http_path=PATH, stateless_http=True, json_response=True,
            max_request_body_size=MAX_REQUEST_BYTES, host="127.0.0.1",
        )  # fmt: skip
        self.sessions = server.session_manager

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            async with self.sessions.run():
                await self.app(scope, receive, send)
        elif scope["type"] == "http" and read_route(scope) == PATH:
            await self.tools(scope, receive, send)
        else:
            await self.app(scope, receive, send)
