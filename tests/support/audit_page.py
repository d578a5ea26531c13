"""A page with the tabs Explore and Audit."""

from __future__ import annotations

import gradio as gr

from pages.audit import audit
from pages.auditor import Cards
from pages.explore import explore
from pages.explorer import Explorer


def page(explorer: Explorer, cards: Cards) -> gr.Blocks:
    with gr.Blocks(analytics_enabled=False, fill_width=True) as demo, gr.Tabs():
        with gr.Tab("Explore"):
            explored = explore(explorer, demo)
        with gr.Tab("Audit"):
            audit(explorer, explored, cards)
    return demo
