"""A picture's own file, for whoever has none: drawn examples, and what came from a camera or the clipboard."""

from __future__ import annotations

import base64
import io
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from tnet_core import TNetError

_LARGEST = 12 * 2**20  # bytes; larger ones were uploaded, so their owner has them


def original(picture: Path | np.ndarray) -> dict[str, Any]:
    """The file as it is, or pixels without loss: both have the sha256 that a trace knows the picture by."""
    if isinstance(picture, Path) and (size := picture.stat().st_size) > _LARGEST:
        raise TNetError(f"This picture has {size / 2**20:.0f} MB and is not sent back: keep your own file of it.")
    data = picture.read_bytes() if isinstance(picture, Path) else _png(picture)
    kind = Image.open(io.BytesIO(data)).format or ""  # it was opened before
    return {
        "kind": "file",
        "base64": base64.b64encode(data).decode("ascii"),
        "type": Image.MIME.get(kind, "application/octet-stream"),
        "extension": {"JPEG": "jpg", "TIFF": "tif"}.get(kind, kind.lower() or "bin"),
    }


def _png(pixels: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "PNG")
    return buffer.getvalue()
