"""A page with the comparison tab behind another one; `python -m tests.support.comparison_page PORT` to look at it."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import gradio as gr

from pages.comparison import comparison
from pages.site import theme
from tests.support.evaluation_cards import bundled
from tnet_core.checkpoints import CheckpointCard
from viz import style

TAB = "Accuracy vs locations"
LAUNCH: dict[str, Any] = {
    "server_name": "127.0.0.1", "footer_links": [], "run_history": False, "enable_monitoring": False,
    "ssr_mode": False, "pwa": False, "quiet": True,
}  # fmt: skip


def page(cards: Sequence[CheckpointCard]) -> gr.Blocks:
    """Follows a list that grows."""
    with gr.Blocks(analytics_enabled=False, fill_width=True) as demo, gr.Tabs():
        with gr.Tab("Elsewhere"):
            gr.HTML("<p>Another tab.</p>")
        with gr.Tab(TAB):
            comparison(lambda: cards)
    return demo


@contextmanager
def served(cards: Sequence[CheckpointCard], port: int) -> Iterator[str]:
    """Address of the page, in a thread of this process."""
    demo = page(cards)
    demo.launch(server_port=port, theme=theme(), head=style.head(), prevent_thread_lock=True, **LAUNCH)
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        demo.close(verbose=False)


if __name__ == "__main__":
    page(bundled()).launch(server_port=int(sys.argv[1]), theme=theme(), head=style.head(), **LAUNCH)
