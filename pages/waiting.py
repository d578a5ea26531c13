"""A tab that was opened before there is a picture asks again by itself, less and less often."""

from __future__ import annotations

from typing import Any

import gradio as gr

from pages.explore.service import Session

NO_PICTURE = "No picture was looked at yet: as soon as Explore shows one, it is here too."
FIRST, SLOWER, LAST = 1.0, 1.25, 60.0  # seconds until it asks, how these grow, and how far


def clock() -> gr.Timer:
    """Ticks when it is time to ask again; stands still until `again` starts it."""
    return gr.Timer(FIRST, active=False)


def again(session: Session | None, pause: Any) -> dict[str, Any]:
    """The clock after a question: it goes on where there was no picture. `pause` is what a browser says it was."""
    if session is not None:
        return gr.update(value=FIRST, active=False)
    known = isinstance(pause, (int, float)) and FIRST <= pause <= LAST
    return gr.update(value=min(LAST, SLOWER * pause) if known else FIRST, active=True)
