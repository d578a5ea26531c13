"""Access control: which files a request may name, and whether only the person at this machine can ask."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from gradio.utils import get_upload_folder

import tnet_core as tn

LOOPBACK = ("127.0.0.1", "localhost", "::1")
NO_FILES = "Files can be named only where the app runs on your own computer: upload the picture."


def is_local(host: str, share: bool) -> bool:
    """Whether an app that listens to this address is for the person at this machine alone."""
    return host in LOOPBACK and not share and "SPACE_ID" not in os.environ


def is_local_request(request: Any) -> bool:
    """Whether a request names this machine as its host.

    A page of somewhere else may have its name lead to this machine, but it sends that name along.
    """
    try:
        return urlsplit(f"//{request.headers['host']}").hostname in LOOPBACK
    except (AttributeError, KeyError, ValueError):
        return False


def is_uploaded(path: Any, folder: Path) -> bool:
    """Whether a path, which may be anything, lies in the folder of uploads."""
    try:
        return isinstance(path, str) and Path(path).resolve().is_relative_to(folder)
    except (OSError, ValueError):
        return False


def upload_root() -> str:
    """Return the folder of uploads."""
    return get_upload_folder()


def resolve_upload(value: Any, what: str) -> str:
    """Return where an upload lies; nothing else than an upload is accepted."""
    path = value.get("path") if isinstance(value, dict) else None
    if not is_uploaded(path, Path(upload_root()).resolve()):
        raise tn.TNetError(f"{what} must be an uploaded file: give handle_file(PATH) of gradio_client.")
    return str(path)


def resolve_local_file(value: Any, *, local: bool) -> str:
    """Return where a file lies that the person at this machine names."""
    if not local:
        raise tn.TNetError(NO_FILES)
    text = value.strip().strip("'\"") if isinstance(value, str) else ""  # a path that was copied may come in quotes
    if not text:
        raise tn.TNetError("Name the file of a picture on this computer.")
    try:
        path = Path(text).expanduser().resolve()
        if path.is_file():
            return str(path)
    except (OSError, RuntimeError, ValueError):  # no such user, links in a circle, a name that cannot be one
        pass
    raise tn.TNetError(f"There is no file '{text:.200}' on this computer.")
