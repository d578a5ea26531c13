"""A page with the tabs Explore and Audit."""

from __future__ import annotations

import gradio as gr

from pages.audit.tab import build_audit_tab, build_faithfulness_panel
from pages.explore.service import Explorer
from pages.explore.tab import build_explore_tab
from pages.server.model_cache import Cards


def page(explorer: Explorer, cards: Cards) -> gr.Blocks:
    with gr.Blocks(analytics_enabled=False, fill_width=True) as demo, gr.Tabs():
        with gr.Tab("Explore"):
            explored = build_explore_tab(explorer, demo)
            build_faithfulness_panel(explorer, explored)
        with gr.Tab("Audit"):
            build_audit_tab(explorer, explored, cards)
    return demo
