"""Whether only the person at this machine can ask: then folders of it may be named, else never."""

from __future__ import annotations

import os
from typing import Any
from urllib.parse import urlsplit

LOOPBACK = ("127.0.0.1", "localhost", "::1")


def is_local(host: str, share: bool) -> bool:
    """Of an app that listens to this address."""
    return host in LOOPBACK and not share and "SPACE_ID" not in os.environ


def asked_here(request: Any) -> bool:
    """Of a request: a page of somewhere else may have its name lead to this machine, but it sends that name along."""
    try:
        return urlsplit(f"//{request.headers['host']}").hostname in LOOPBACK
    except (AttributeError, KeyError, ValueError):
        return False
