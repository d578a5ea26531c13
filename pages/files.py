"""Files that a request names: only what was uploaded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gradio.utils import get_upload_folder

import tnet_core as tn
from pages.gate import uploaded


def given_file(value: Any, what: str) -> str:
    """Where an upload lies."""
    path = value.get("path") if isinstance(value, dict) else None
    if not uploaded(path, Path(get_upload_folder()).resolve()):
        raise tn.TNetError(f"{what} must be an uploaded file: give handle_file(PATH) of gradio_client.")
    return str(path)
