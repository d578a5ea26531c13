"""What only the server can send of a picture: its native pixels, part by part, its own file, its hash, its trace."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import tnet_core as tn
from pages.explore.service import Explorer
from pages.limits import MAX_PART_SIDE
from pages.server.sessions import SESSION_EXPIRED, Session, require_session
from pages.server.uploads import PICTURE_GONE
from tnet_core.numbers import check_entries, check_whole
from viz.common.payload import encode_lossless_webp
from viz.explore.animation import build_animation_payload
from viz.report.page import build_original_payload, build_report_parts


def read_part(explorer: Explorer, session: Session | None, call: Any) -> dict[str, Any]:
    """Return pixels `box` = x0, y0, x1, y1 of the session's own picture, without loss."""
    session, call = require_session(session, SESSION_EXPIRED), call if isinstance(call, dict) else {}
    session.check_scene(call.get("scene"))
    image = session.trace.image
    x0, y0, x1, y1 = check_box(call.get("box"), image.width, image.height)  # before anything is opened
    source, _ = explorer.load_picture(session.spec, session.where)
    if not source.info().is_same(image):
        raise tn.TNetError("The file of this picture has changed since it was opened: open it again.")
    pixels = source.gather(np.arange(y0, y1), np.arange(x0, x1))
    return {"kind": "part", "box": [x0, y0, x1, y1], "image": encode_lossless_webp(pixels)}


def check_box(box: Any, width: int, height: int) -> tuple[int, int, int, int]:
    """Return the corners, where they lie inside the picture and are not too far apart."""
    corners = check_entries(box, "A part of the picture")
    if len(corners) != 4:
        raise tn.TNetError("A part of the picture is four whole numbers: x0, y0, x1, y1.")
    x0 = check_whole(corners[0], "The left edge", 0, width - 1)
    y0 = check_whole(corners[1], "The upper edge", 0, height - 1)
    x1 = check_whole(corners[2], "The right edge", x0 + 1, width)
    y1 = check_whole(corners[3], "The lower edge", y0 + 1, height)
    if x1 - x0 > MAX_PART_SIDE or y1 - y0 > MAX_PART_SIDE:
        raise tn.TNetError(f"A part has {MAX_PART_SIDE} x {MAX_PART_SIDE} pixels at most, not {x1 - x0} x {y1 - y0}.")
    return x0, y0, x1, y1


def read_file(explorer: Explorer, session: Session | None, call: Any) -> dict[str, Any]:
    """Return the file that a call names, of the scene it is about."""
    call = call if isinstance(call, dict) else {}
    what = call.get("what")
    if what == "report":  # the same for all: the page adds what it shows
        return build_report_parts()
    session = require_session(session, SESSION_EXPIRED)
    session.check_scene(call.get("scene"))
    if what == "trace":
        return {"kind": "file", "text": explorer.open_trace(session).to_json()}
    if what == "sha256":  # of a large file: a report names it, the page itself does not need it
        return {"kind": "file", "text": session.trace.image.sha256}
    if what == "original":
        return build_original_payload(_find_original(explorer, session))
    if what == "animation":
        looks = session.trace.select(subset=call.get("plan"))
        source, info = explorer.load_picture(session.spec, session.where)
        credit = ", ".join(filter(None, (info.title, info.credit)))
        return build_animation_payload(explorer.open_trace(session), source, looks, credit)
    raise tn.TNetError("There is no such file to take.")


def _find_original(explorer: Explorer, session: Session) -> Path | np.ndarray:
    if isinstance(session.where, int):
        return explorer.list_pictures(session.spec)[session.where].open()
    if not Path(session.where).is_file():
        raise tn.TNetError(PICTURE_GONE)
    return Path(session.where)
