"""TNet Explorer: the entry point. `pages` builds the page, `viz` what it shows, `tnet_core` computes."""

from __future__ import annotations

import argparse
import os
import sys
import threading
from functools import cache
from typing import TYPE_CHECKING

from starlette.middleware import Middleware

import startup
import tnet_core as tn
from pages.explore.service import Explorer
from pages.limits import MAX_LOCAL_UPLOAD_BYTES, MAX_SESSIONS, MAX_UPLOAD_BYTES, MAX_WAITING_REQUESTS, UPLOAD_SECONDS
from pages.mcp_tools import PATH, McpRoute, build_server
from pages.server.access import is_local
from pages.server.middleware import middleware_options
from pages.server.model_cache import ModelCache
from pages.server.uploads import open_upload_folder
from pages.site import build_head, build_site, build_theme
from tnet_core.inference import converter
from tnet_core.inference.conversion import PRECISIONS

if TYPE_CHECKING:
    import gradio as gr

PRESET = "lite0-cub"  # built, untrained, where no checkpoint is usable


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="TNet Explorer: watch a classifier decide where to look.")
    # A hosted Space tells address and port in the environment.
    host, port = os.environ.get("GRADIO_SERVER_NAME", "127.0.0.1"), os.environ.get("GRADIO_SERVER_PORT", "7860")
    parser.add_argument("--host", default=host, help="address to listen on (default: %(default)s)")
    parser.add_argument("--port", type=int, default=port, help="port to listen on (default: %(default)s)")
    parser.add_argument("--share", action="store_true", help="make a temporary public link")
    parser.add_argument("--device", choices=["cpu", "cuda"], help="default: cuda where present")
    parser.add_argument(
        "--precision", choices=tuple(PRECISIONS), default="float32",
        help="of looks on a CPU; bfloat16 is faster where the CPU has it, and less exact (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument("--checkpoint", metavar="ID|FOLDER|hf:OWNER/NAME", help="open this one first")
    parser.add_argument("--registry", metavar="FILE", help="your own checkpoints, added to the shipped ones")
    parser.add_argument(
        "--mcp", action="store_true",
        help="also publish traverse and contributions as tools for agents on this machine (needs the package mcp)",
    )  # fmt: skip
    given = parser.parse_args()
    if not 1 <= given.port <= 65535:
        parser.error(f"--port must lie in 1…65535, not {given.port}.")
    if given.device == "cuda" and tn.default_device().type != "cuda":
        parser.error("--device cuda: this machine has no CUDA device that PyTorch can use; take cpu.")
    return given


def main() -> int:
    given = parse_arguments()
    local = is_local(given.host, given.share)
    if given.mcp and not local:
        print("--mcp opens pictures of this computer for whoever asks: leave out --host and --share.", file=sys.stderr)
        return 2
    converter.adopt(startup.started)
    if (given.device or tn.default_device().type) != "cpu":
        converter.dismiss()
    try:
        registry = tn.checkpoints.Registry.load(given.registry)
        models = ModelCache(registry, fallback=PRESET, device=given.device, precision=given.precision)
        if given.checkpoint is not None:
            models.add(given.checkpoint, on_notice=models.problems.append)
        explorer = Explorer(models, local=local)
        tools = [Middleware(McpRoute, server=build_server(explorer))] if given.mcp else []
    except tn.TNetError as error:
        print(*str(error).splitlines(), file=sys.stderr)
        return 2
    largest = MAX_LOCAL_UPLOAD_BYTES if local else MAX_UPLOAD_BYTES
    # The first visitor should not wait: the landing picture is traversed while the server starts.
    warming = threading.Thread(target=explorer.open_picture, args=(explorer.landing, 0), daemon=True)
    warming.start()
    with open_upload_folder(UPLOAD_SECONDS, every_seconds=600):
        demo = build_site(explorer).queue(max_size=MAX_WAITING_REQUESTS, api_open=False)
        try:
            demo.launch(
                server_name=given.host, server_port=given.port, share=given.share, theme=build_theme(),
                head=build_head(), max_file_size=largest, state_session_capacity=MAX_SESSIONS, footer_links=[],
                run_history=False, enable_monitoring=False, ssr_mode=False, pwa=False, mcp_server=False, quiet=True,
                app_kwargs=middleware_options(largest, *tools), prevent_thread_lock=True,
            )  # fmt: skip
        except OSError:
            print(f"Port {given.port} of {given.host} cannot be used; choose another with --port.", file=sys.stderr)
            warming.join()  # ending the process under a thread that computes aborts it
            return 2
        print(f"TNet Explorer: {demo.local_url}", flush=True)
        if tools:
            print(f"Tools for agents (MCP): {demo.local_url.rstrip('/')}{PATH}", flush=True)
        demo.block_thread()
    return 0


@cache
def _demo() -> gr.Blocks:
    return build_site(Explorer(ModelCache.from_file(None, fallback=PRESET)))


def __getattr__(name: str) -> gr.Blocks:
    """`from app import demo` gives the page, which is built only then."""
    if name == "demo":
        return _demo()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


if __name__ == "__main__":
    raise SystemExit(main())
