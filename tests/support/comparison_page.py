"""A page with the comparison tab behind another one; `python -m tests.support.comparison_page PORT` to look at it."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import gradio as gr

from pages.accuracy.tab import comparison
from pages.site import theme
from tests.support.evaluation_cards import bundled
from tests.support.served_page import LAUNCH
from tnet_core.checkpoints import CheckpointCard
from viz.common import style

TAB = "Accuracy vs locations"


def page(cards: Sequence[CheckpointCard]) -> gr.Blocks:
    """Follows a list that grows."""
    with gr.Blocks(analytics_enabled=False, fill_width=True) as demo, gr.Tabs():
        with gr.Tab("Elsewhere"):
            gr.HTML("<p>Another tab.</p>")
        with gr.Tab(TAB):
            comparison(lambda: cards)
    return demo


if __name__ == "__main__":
    page(bundled()).launch(server_port=int(sys.argv[1]), theme=theme(), head=style.head(), **LAUNCH)
