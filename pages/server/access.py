"""Files that a request names: what was uploaded, and on one's own computer any other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gradio.utils import get_upload_folder

import tnet_core as tn
from pages.server.middleware import uploaded

NO_FILES = "Files can be named only where the app runs on your own computer: upload the picture."


def given_file(value: Any, what: str) -> str:
    """Where an upload lies."""
    path = value.get("path") if isinstance(value, dict) else None
    if not uploaded(path, Path(get_upload_folder()).resolve()):
        raise tn.TNetError(f"{what} must be an uploaded file: give handle_file(PATH) of gradio_client.")
    return str(path)


def named_file(value: Any, *, local: bool) -> str:
    """Where a file lies that the person at this machine names."""
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
