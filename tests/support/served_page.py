"""A page in a thread of this process."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import gradio as gr

from pages.limits import MAX_UPLOAD_BYTES
from pages.server.middleware import middleware_options
from tools.local_server import find_free_port

LAUNCH: dict[str, Any] = {
    "server_name": "127.0.0.1", "footer_links": [], "run_history": False, "enable_monitoring": False,
    "ssr_mode": False, "pwa": False, "quiet": True,
}  # fmt: skip


@contextmanager
def launched(demo: gr.Blocks, port: int | None = None, **options: Any) -> Iterator[str]:
    """Its address. The server asks itself whether it is there, so no proxy may be in between."""
    before = {name: os.environ.get(name) for name in ("NO_PROXY", "no_proxy")}
    os.environ.update(dict.fromkeys(before, "127.0.0.1,localhost"))
    port = port or find_free_port()
    options.setdefault("app_kwargs", middleware_options(MAX_UPLOAD_BYTES))  # serves the page's modules
    try:
        demo.launch(server_port=port, prevent_thread_lock=True, **LAUNCH, **options)
        yield f"http://127.0.0.1:{port}"
    finally:
        demo.close(verbose=False)
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})
