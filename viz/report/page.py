"""The report's fixed parts, for the script that puts it together, and the picture's own file."""

from __future__ import annotations

import base64
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from tnet_core import TNetError
from viz.common.style import ACCENT

_FOLDER = Path(__file__).parent

# The one sentence every report has.
EXACTNESS = (
    "Every number is exact: the decision is a weighted sum over the thumbnail and the looks, and this file holds its "
    "terms, so the slider, the steps and the ledger of any class need neither the app nor a network. Probabilities are "
    "the network's own and may be too sure of themselves. Looks whose weights are not in this file can be computed by "
    "the app alone."
)
_MAX_BYTES = 12 * 2**20  # bytes; larger ones were uploaded, so their owner has them


def build_report_script(template: str) -> str:
    """Return code and constants; `template` are the elements of the tab Explore."""
    constants = {"template": template, "style": read_style(), "exact": EXACTNESS}
    # No constant may end the script element that holds it.
    text = json.dumps(constants).replace("<", "\\u003c")
    return f"const REPORT = {text};\n{(_FOLDER / 'report.js').read_text(encoding='utf-8')}"


def read_style() -> str:
    return f":root {{ --tn-accent: {ACCENT}; }}\n{(_FOLDER / 'report.css').read_text(encoding='utf-8')}"


def build_original_payload(picture: Path | np.ndarray) -> dict[str, Any]:
    """Return the file as it is, or pixels without loss: both have the sha256 that a trace knows the picture by."""
    if isinstance(picture, Path) and (size := picture.stat().st_size) > _MAX_BYTES:
        raise TNetError(f"This picture has {size / 2**20:.0f} MB and is not sent back: keep your own file of it.")
    data = picture.read_bytes() if isinstance(picture, Path) else _encode_png(picture)
    kind = Image.open(io.BytesIO(data)).format or ""  # it was opened before
    return {
        "kind": "file",
        "base64": base64.b64encode(data).decode("ascii"),
        "type": Image.MIME.get(kind, "application/octet-stream"),
        "extension": {"JPEG": "jpg", "TIFF": "tif"}.get(kind, kind.lower() or "bin"),
    }


def _encode_png(pixels: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "PNG")
    return buffer.getvalue()
