"""The picture at native pixels, one part at a time: wiring, and what may be asked for."""

from __future__ import annotations

from typing import Any

import gradio as gr
import numpy as np

import tnet_core as tn
from pages.explore.service import LEFT_ALONE, Explorer, Session
from pages.server.rpc import answered
from tnet_core.numbers import entries, whole
from viz import stage
from viz.common.encode import lossless_uri

LARGEST = 1024  # pixels of a side of one answer
_AT_ONCE = 4  # answers that are made at the same time; traversals do not wait for them


def zoom(explorer: Explorer, view: gr.HTML, session: gr.State) -> None:
    """Answers the stage when it asks for a part of its picture."""
    sent = gr.HTML("", html_template="<i></i>", js_on_load=stage.on_part(), apply_default_css=False, elem_id="part")

    def on_zoom(session: Session | None, event: gr.EventData) -> str:
        return answered(event, lambda asked: part_of(explorer, session, asked))

    view.zoom(on_zoom, [session], [sent], show_progress="hidden", trigger_mode="multiple", concurrency_id="zoom",
              concurrency_limit=_AT_ONCE, api_visibility="private")  # fmt: skip


def part_of(explorer: Explorer, session: Session | None, asked: Any) -> dict[str, Any]:
    """Pixels `box` = x0, y0, x1, y1 of the session's own picture, without loss."""
    if session is None:
        raise tn.TNetError(LEFT_ALONE)
    wanted = asked if isinstance(asked, dict) else {}
    session.check(wanted.get("scene"))
    image = session.trace.image
    x0, y0, x1, y1 = checked(wanted.get("box"), image.width, image.height)  # before anything is opened
    source, _ = explorer.picture(session.spec, session.where)
    if source.info() != image:
        raise tn.TNetError("The file of this picture has changed since it was opened: open it again.")
    pixels = source.gather(np.arange(y0, y1), np.arange(x0, x1))
    return {"kind": "part", "box": [x0, y0, x1, y1], "image": lossless_uri(pixels)}


def checked(box: Any, width: int, height: int) -> tuple[int, int, int, int]:
    """Corners inside the picture that are not too far apart."""
    corners = entries(box, "A part of the picture")
    if len(corners) != 4:
        raise tn.TNetError("A part of the picture is four whole numbers: x0, y0, x1, y1.")
    x0 = whole(corners[0], "The left edge", 0, width - 1)
    y0 = whole(corners[1], "The upper edge", 0, height - 1)
    x1 = whole(corners[2], "The right edge", x0 + 1, width)
    y1 = whole(corners[3], "The lower edge", y0 + 1, height)
    if x1 - x0 > LARGEST or y1 - y0 > LARGEST:
        raise tn.TNetError(f"A part has {LARGEST} x {LARGEST} pixels at most, not {x1 - x0} x {y1 - y0}.")
    return x0, y0, x1, y1
