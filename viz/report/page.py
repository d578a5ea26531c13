"""The report's fixed parts, for the page that puts it together, and the picture's own file."""

from __future__ import annotations

import base64
import io
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from tnet_core import TNetError
from tnet_core.imageio.decode import identify_format
from viz.common.style import ACCENT
from viz.common.templates import read_elements
from viz.web.join import join_modules

_VIZ = Path(__file__).parents[1]

# The one sentence every report has.
EXACTNESS = (
    "Every number is exact: the decision is a weighted sum over the thumbnail and the looks, and this file holds its "
    "terms, so the slider, the steps and the ledger of any class need neither the app nor a network. Probabilities are "
    "calibrated where the decision says so, else the network's own, which may be too sure of themselves. Looks whose "
    "weights are not in this file can be computed by the app alone."
)
_MAX_BYTES = 12 * 2**20  # bytes; larger ones were uploaded, so their owner has them


def build_report_parts() -> dict[str, Any]:
    """Return what every report holds: the elements and styles of Explore, its code as one script, and a sentence."""
    code = join_modules("report/main.js", "TNetReport")
    return {
        "kind": "file",
        "template": read_elements("explore/template.html"),
        "style": build_style(),
        "exact": EXACTNESS,
        "code": code,
    }


def build_style() -> str:
    """Return the style sheets of Explore and of the report."""
    names = ("explore/explore.css", "explore/export.css", "explore/zoom.css", "report/report.css")
    *explore, own = ((_VIZ / name).read_text(encoding="utf-8") for name in names)
    return "\n".join((*explore, f":root {{ --tn-accent: {ACCENT}; }}", own))


def build_original_payload(picture: Path | np.ndarray) -> dict[str, Any]:
    """Return the file as it is, or pixels without loss: both have the sha256 that a trace knows the picture by."""
    if isinstance(picture, Path) and (size := picture.stat().st_size) > _MAX_BYTES:
        raise TNetError(f"This picture has {size / 2**20:.0f} MB and is not sent back: keep your own file of it.")
    data = picture.read_bytes() if isinstance(picture, Path) else _encode_png(picture)
    found = identify_format(data)
    kind = found.format if found is not None and found.format else ""
    return {
        "kind": "file",
        "base64": base64.b64encode(data).decode("ascii"),
        "type": "image/heic" if kind == "HEIF" else Image.MIME.get(kind, "application/octet-stream"),
        "extension": {"JPEG": "jpg", "TIFF": "tif", "HEIF": "heic"}.get(kind, kind.lower() or "bin"),
    }


def _encode_png(pixels: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "PNG")
    return buffer.getvalue()
