"""A page with the tab Accuracy behind another one; `python -m tests.support.accuracy_page PORT` to look at it."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import gradio as gr

from pages.accuracy.tab import build_accuracy_tab
from pages.site import build_theme
from tests.support.evaluation_cards import bundled
from tests.support.served_page import LAUNCH
from tnet_core.checkpoints import CheckpointCard
from viz.common.page import build_page_head

TAB = "Accuracy vs locations"


def page(cards: Sequence[CheckpointCard]) -> gr.Blocks:
    """Follows a list that grows."""
    with gr.Blocks(analytics_enabled=False, fill_width=True) as demo, gr.Tabs():
        with gr.Tab("Elsewhere"):
            gr.HTML("<p>Another tab.</p>")
        with gr.Tab(TAB):
            build_accuracy_tab(lambda: cards)
    return demo


if __name__ == "__main__":
    page(bundled()).launch(server_port=int(sys.argv[1]), theme=build_theme(), head=build_page_head(), **LAUNCH)
