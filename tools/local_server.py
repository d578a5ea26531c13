"""The app on this machine and a browser to look at it: what tools and tests need to find both."""

from __future__ import annotations

import os
import shutil
import socket
import urllib.error
import urllib.request

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
SWITCHES = (
    "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip
FINISHED = ".tn-stage[data-state=shown]"  # a traversal is on the page


def find_free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def is_answering(address: str) -> bool:
    try:
        # No proxy: the environment's would be asked for an address of this machine.
        urllib.request.build_opener(urllib.request.ProxyHandler({})).open(address, timeout=2).close()
    except (urllib.error.URLError, OSError):
        return False
    return True


def find_chromium() -> str | None:
    """Path of the browser: the variable CHROMIUM, or what is installed."""
    return os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, BROWSERS)), None)
