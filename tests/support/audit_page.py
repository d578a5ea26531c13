"""A page with the tabs Explore and Audit, in a thread of this process."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import gradio as gr

from pages.audit import audit
from pages.auditor import Cards
from pages.explore import explore
from pages.explorer import Explorer
from pages.site import head, theme
from tests.support.comparison_page import LAUNCH


@contextmanager
def served(explorer: Explorer, cards: Cards, port: int) -> Iterator[str]:
    """Address of the page."""
    with gr.Blocks(analytics_enabled=False, fill_width=True) as demo, gr.Tabs():
        with gr.Tab("Explore"):
            explored = explore(explorer, demo)
        with gr.Tab("Audit"):
            audit(explorer, explored, cards)
    demo.launch(server_port=port, theme=theme(), head=head(), prevent_thread_lock=True, **LAUNCH)
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        demo.close(verbose=False)
