"""TNet Explorer: the page. Wires components to functions; what is worth testing lives in `tnet_core` and `viz`."""

from __future__ import annotations

import argparse
import os
import sys
import threading
from dataclasses import fields
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import gradio as gr

import tnet_core as tn
from viz import fragments, style
from viz.examples import EXAMPLES, picture
from viz.scene import Scene, View, prepare, view

PRESET = "lite0-cub"
LARGEST_UPLOAD = "50mb"
SESSIONS = 200  # remembered at once, about 3 MB each

# A click on an example reports its number.
REPORT_EXAMPLE = """element.addEventListener('click', event => {
  const button = event.target.closest('[data-example]');
  if (button) trigger('click', {example: Number(button.dataset.example)});
});"""


class Explorer:
    """One model, built at first use, and the scenes it makes."""

    def __init__(self, device: str | None = None) -> None:
        self._device = device
        self._examples: dict[int, Scene] = {}
        self._lock = threading.RLock()  # one traversal at a time: each uses all cores

    @cached_property
    def model(self) -> tn.TNet:
        return tn.build(tn.preset(PRESET), seed=0, device=self._device)

    def explore(self, image: Any, title: str) -> Scene:
        """One traversal with the largest budget; every smaller one follows from it."""
        source = tn.ImageSource.open(image)
        with self._lock:
            trace = tn.traverse(self.model, source, budget=(self.model.config.cells,))
        return prepare(trace, source, title)

    def example(self, index: int) -> Scene:
        """The same for everybody, so traversed once."""
        with self._lock:
            if index not in self._examples:
                self._examples[index] = self.explore(picture(index), EXAMPLES[index].title)
            return self._examples[index]


def page(explorer: Explorer) -> gr.Blocks:
    """The whole page. Nothing is computed until a browser asks."""
    config = tn.preset(PRESET)
    # Files of uploads are read once; the copies Gradio keeps go after an hour.
    with gr.Blocks(title="TNet Explorer", analytics_enabled=False, fill_width=True, delete_cache=(600, 3600)) as demo:
        scene = gr.State()
        gr.HTML(fragments.MASTHEAD, apply_default_css=False)
        gr.HTML(fragments.UNTRAINED, apply_default_css=False)
        with gr.Row(elem_id="pick"):
            gallery = gr.HTML(
                fragments.gallery(0), js_on_load=REPORT_EXAMPLE, apply_default_css=False, elem_id="gallery"
            )
            upload = gr.UploadButton("Upload a picture", size="md", elem_id="upload", type="filepath")
        problem = gr.HTML("", apply_default_css=False, elem_id="problem")
        with gr.Row(elem_id="board"):
            with gr.Column(scale=7, min_width=320):
                with gr.Column(elem_classes="tn-stage"):
                    image = gr.HTML(fragments.LOADING, apply_default_css=False, elem_id="picture")
                    boxes = gr.HTML("", apply_default_css=False, elem_id="boxes")
                with gr.Column(elem_id="budget-panel"):
                    budget = gr.Slider(
                        0, config.cells, value=config.budget[0], step=1, label="Looks that count", elem_id="budget"
                    )
                    summary = gr.HTML("", apply_default_css=False, elem_id="summary")
                with gr.Column(elem_id="looks", elem_classes="tn-panel"):
                    looks = gr.HTML("", apply_default_css=False)
            with gr.Column(scale=5, min_width=320):
                decision_head, decision = panel("decision")
                ledger_head, ledger = panel("ledger")
                grid_head, grid = panel("grid")

        shown = [boxes, summary, decision_head, decision, ledger_head, ledger, looks, grid_head, grid]
        everything = [scene, image, gallery, problem, *shown]

        def choose(index: int, k: int) -> list[Any]:
            chosen = explorer.example(index)
            return [chosen, chosen.picture, fragments.gallery(index), "", *parts(view(chosen, k))]

        def on_load(k: int) -> list[Any]:
            return choose(0, k)

        def on_example(k: int, event: gr.EventData) -> list[Any]:
            return choose(min(max(int(event.example), 0), len(EXAMPLES) - 1), k)

        def on_upload(file: str, k: int) -> list[Any]:
            try:
                chosen = explorer.explore(file, Path(file).name)
            except tn.TNetError as error:
                return [gr.skip()] * 3 + [fragments.problem(str(error))] + [gr.skip()] * len(shown)
            return [chosen, chosen.picture, fragments.gallery(None), "", *parts(view(chosen, k))]

        run: dict[str, Any] = {"concurrency_id": "traversal", "concurrency_limit": 1, "api_visibility": "private"}
        demo.load(on_load, [budget], everything, show_progress="hidden", **run)
        gallery.click(on_example, [budget], everything, show_progress="minimal", show_progress_on=[image], **run)
        upload.upload(on_upload, [upload, budget], everything, show_progress="minimal", show_progress_on=[image], **run)
        budget.input(
            redraw, [scene, budget], shown, show_progress="hidden", trigger_mode="always_last",
            concurrency_limit=8, api_visibility="private",
        )  # fmt: skip
    return demo


def redraw(scene: Scene | None, k: int) -> list[Any]:
    """The slider: re-aggregates what is cached, never runs the backbone."""
    if scene is None:
        gr.Warning("This page was left alone for too long: reload it to go on.")
        return [gr.skip()] * len(fields(View))
    return parts(view(scene, k))


def panel(name: str) -> tuple[gr.HTML, gr.Plot]:
    """A heading with its caption, and a figure."""
    with gr.Column(elem_id=name, elem_classes="tn-panel"):
        head = gr.HTML("", apply_default_css=False)
        figure = gr.Plot(show_label=False, container=False)
    return head, figure


def parts(shown: View) -> list[Any]:
    """The fields of a view, in their order, which is that of the page's outputs."""
    return [getattr(shown, field.name) for field in fields(View)]


def theme() -> gr.themes.Base:
    """System fonts only: nothing is fetched from elsewhere."""
    return gr.themes.Base(
        primary_hue=gr.themes.colors.pink,
        neutral_hue=gr.themes.colors.slate,
        font=style.FONT.split(", "),
        font_mono=["ui-monospace", "Menlo", "Consolas", "monospace"],
    ).set(
        body_text_color_subdued="*neutral_500", body_text_color_subdued_dark="*neutral_400",
        slider_color=style.ACCENT, slider_color_dark=style.ACCENT,
    )  # fmt: skip


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="TNet Explorer: watch a classifier decide where to look.")
    # A hosted Space tells address and port in the environment.
    host, port = os.environ.get("GRADIO_SERVER_NAME", "127.0.0.1"), os.environ.get("GRADIO_SERVER_PORT", "7860")
    parser.add_argument("--host", default=host, help="address to listen on (default: %(default)s)")
    parser.add_argument("--port", type=int, default=port, help="port to listen on (default: %(default)s)")
    parser.add_argument("--share", action="store_true", help="make a temporary public link")
    parser.add_argument("--device", choices=["cpu", "cuda"], help="default: cuda where present")
    given = parser.parse_args()
    if not 1 <= given.port <= 65535:
        parser.error(f"--port must lie in 1…65535, not {given.port}.")
    if given.device == "cuda" and tn.default_device().type != "cuda":
        parser.error("--device cuda: this machine has no CUDA device that PyTorch can use; take cpu.")
    return given


def main() -> int:
    given = arguments()
    explorer = Explorer(given.device)
    # The first visitor should not wait for the model: the landing picture is traversed while the server starts.
    warming = threading.Thread(target=explorer.example, args=(0,), daemon=True)
    warming.start()
    demo = page(explorer)
    try:
        demo.launch(
            server_name=given.host, server_port=given.port, share=given.share, theme=theme(), head=style.head(),
            max_file_size=LARGEST_UPLOAD, state_session_capacity=SESSIONS, footer_links=[], run_history=False,
            enable_monitoring=False, ssr_mode=False, pwa=False, quiet=True, prevent_thread_lock=True,
        )  # fmt: skip
    except OSError:
        print(f"Port {given.port} of {given.host} cannot be used; choose another with --port.", file=sys.stderr)
        warming.join()  # ending the process under a thread that computes aborts it
        return 1
    print(f"TNet Explorer: {demo.local_url}", flush=True)
    demo.block_thread()
    return 0


@cache
def _demo() -> gr.Blocks:
    return page(Explorer())


def __getattr__(name: str) -> gr.Blocks:
    """`from app import demo` gives the page, which is built only then."""
    if name == "demo":
        return _demo()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


if __name__ == "__main__":
    raise SystemExit(main())
