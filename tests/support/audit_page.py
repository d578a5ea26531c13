"""A page with the tabs Explore and Audit."""

from __future__ import annotations

import gradio as gr

from pages.audit.service import Cards
from pages.audit.tab import audit
from pages.explore.service import Explorer
from pages.explore.tab import explore


def page(explorer: Explorer, cards: Cards) -> gr.Blocks:
    with gr.Blocks(analytics_enabled=False, fill_width=True) as demo, gr.Tabs():
        with gr.Tab("Explore"):
            explored = explore(explorer, demo)
        with gr.Tab("Audit"):
            audit(explorer, explored, cards)
    return demo
