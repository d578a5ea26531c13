"""The whole page with its gate in a thread of this process, over the checkpoints of one shelf."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from app import LARGEST_UPLOAD
from pages.explorer import Explorer
from pages.gate import gated
from pages.site import site
from pages.tidy import upload_folder
from tests.support.comparison_page import LAUNCH
from tools.local_server import free_port


@contextmanager
def served(explorer: Explorer, **site_options: Any) -> Iterator[str]:
    """Its address. The server asks itself whether it is there, so no proxy may be in between."""
    before = {name: os.environ.get(name) for name in ("NO_PROXY", "no_proxy")}
    os.environ.update(dict.fromkeys(before, "127.0.0.1,localhost"))
    with upload_folder(3600, 600):
        demo = site(explorer, **site_options).queue(api_open=False)
        port = free_port()
        demo.launch(
            server_port=port, max_file_size=LARGEST_UPLOAD, app_kwargs=gated(LARGEST_UPLOAD), prevent_thread_lock=True,
            **LAUNCH,
        )  # fmt: skip
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            demo.close(verbose=False)
            for name, value in before.items():
                os.environ.pop(name) if value is None else os.environ.update({name: value})
