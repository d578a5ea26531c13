"""How tabs follow Explore's picture.

A tab that is open while Explore gets another picture shows that one as soon as it is there. One that was opened before
there is a picture asks again by itself, less and less often.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gradio as gr

from pages.server.rpc import read_event
from pages.server.sessions import Session

AT_ONCE_PAUSE = 0.1  # seconds until the open tab asks
FIRST_PAUSE, PAUSE_GROWTH, LONGEST_PAUSE = 1.0, 1.25, 60.0  # seconds until a tab without picture asks again


def build_timer() -> gr.Timer:
    """Build the timer that ticks when it is time to ask again; it stands still until `restart_timer` starts it."""
    return gr.Timer(FIRST_PAUSE, active=False)


def restart_timer(session: Session | None, pause: Any) -> dict[str, Any]:
    """Return the timer's change after a question: it goes on where there was no picture.

    `pause` is what a browser says it was.
    """
    if session is not None:
        return gr.update(value=FIRST_PAUSE, active=False)
    known = isinstance(pause, (int, float)) and FIRST_PAUSE <= pause <= LONGEST_PAUSE
    return gr.update(value=min(LONGEST_PAUSE, PAUSE_GROWTH * pause) if known else FIRST_PAUSE, active=True)


def refresh_open_tab(tabs: gr.Tabs, session: gr.State, timers: Mapping[str, gr.Timer]) -> None:
    """Let the tab that is looked at ask when the session changes; the others ask when they are opened.

    `timers` are those of the tabs about the picture, by their labels: a tab asks when its timer ticks.
    """
    viewed = gr.State("")  # label of the open tab

    def on_view(event: gr.EventData) -> str:
        label = read_event(event).get("value")
        return label if isinstance(label, str) and label in timers else ""

    def on_picture(label: str) -> list[Any]:
        return [gr.update(value=AT_ONCE_PAUSE, active=True) if label == name else gr.skip() for name in timers]

    quick: dict[str, Any] = {"show_progress": "hidden", "concurrency_limit": 8, "api_visibility": "private"}
    tabs.select(on_view, None, [viewed], trigger_mode="always_last", **quick)
    session.change(on_picture, [viewed], list(timers.values()), trigger_mode="always_last", **quick)
