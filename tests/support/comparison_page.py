"""A page with the comparison tab behind another one: `python -m tests.support.comparison_page PORT`."""

from __future__ import annotations

import sys
from functools import cache

import gradio as gr

from pages.comparison import comparison
from pages.site import theme
from tnet_core.checkpoints import CheckpointCard, Registry
from tnet_core.checkpoints.loading import entry_card
from viz import style


@cache
def cards() -> list[CheckpointCard]:
    return [entry_card(entry, on_notice=print) for entry in Registry.load()]


def page() -> gr.Blocks:
    with gr.Blocks(analytics_enabled=False, fill_width=True) as demo, gr.Tabs():
        with gr.Tab("Elsewhere"):
            gr.HTML("<p>Another tab.</p>")
        with gr.Tab("Accuracy vs locations"):
            comparison(cards)
    return demo


if __name__ == "__main__":
    page().launch(
        server_name="127.0.0.1", server_port=int(sys.argv[1]), theme=theme(), head=style.head(), footer_links=[],
        run_history=False, enable_monitoring=False, ssr_mode=False, pwa=False, quiet=True,
    )  # fmt: skip
