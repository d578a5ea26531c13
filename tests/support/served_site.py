"""The whole page with its gate in a thread of this process, over the checkpoints of one cache."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pages.explore.service import Explorer
from pages.limits import MAX_UPLOAD_BYTES
from pages.server.uploads import open_upload_folder
from pages.site import build_head, build_site, build_theme
from tests.support.served_page import launched


@contextmanager
def served(explorer: Explorer, port: int | None = None, **site_options: Any) -> Iterator[str]:
    """Its address."""
    with open_upload_folder(3600, 600):
        demo = build_site(explorer, **site_options).queue(api_open=False)
        with launched(demo, port, max_file_size=MAX_UPLOAD_BYTES, theme=build_theme(), head=build_head()) as address:
            yield address
