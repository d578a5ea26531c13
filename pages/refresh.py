"""A tab that is open while Explore gets another picture shows that one as soon as it is there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gradio as gr

from pages.explore.tab import Explored, data_of

SOON = 0.1  # seconds until the open tab asks


def follow(tabs: gr.Tabs, explored: Explored, clocks: Mapping[str, gr.Timer]) -> None:
    """`clocks` are those of the tabs about the picture, by their labels: a tab asks when its clock ticks.

    Only the tab that is looked at asks. The others do so when they are opened.
    """
    viewed = gr.State("")  # label of the open tab

    def on_view(event: gr.EventData) -> str:
        label = data_of(event).get("value")
        return label if isinstance(label, str) and label in clocks else ""

    def on_picture(label: str) -> list[Any]:
        return [gr.update(value=SOON, active=True) if label == name else gr.skip() for name in clocks]

    quick: dict[str, Any] = {"show_progress": "hidden", "concurrency_limit": 8, "api_visibility": "private"}
    tabs.select(on_view, None, [viewed], trigger_mode="always_last", **quick)
    explored.session.change(on_picture, [viewed], list(clocks.values()), trigger_mode="always_last", **quick)
