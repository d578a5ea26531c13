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
from tnet_core.checkpoints import CheckpointCard, card_of
from tnet_core.checkpoints.example_set import fetch_pictures
from tnet_core.checkpoints.registry_offer import UNTRAINED, Shelf
from viz import fragments, style
from viz.budgets import largest, offered
from viz.furniture import Furniture, furniture
from viz.gallery import Picture, drawings, fetched_picture, gallery, pictures_for
from viz.kinds import kind_of
from viz.scene import Scene, View, prepare, view

PRESET = "lite0-cub"  # built, untrained, where no checkpoint is usable
LARGEST_UPLOAD = "50mb"
SESSIONS = 200  # remembered at once, about 3 MB each

# A click on an example reports its number.
REPORT_EXAMPLE = """element.addEventListener('click', event => {
  const button = event.target.closest('[data-example]');
  if (button) trigger('click', {example: Number(button.dataset.example)});
});"""


class Explorer:
    """The checkpoints on a shelf and the scenes they make. A checkpoint is meant by its spec."""

    def __init__(self, shelf: Shelf) -> None:
        self.shelf = shelf
        self._scenes: dict[tuple[str, int], Scene] = {}
        self._fetched: dict[str, tuple[Picture, ...]] = {}
        self._lock = threading.RLock()  # one traversal at a time: each uses all cores

    @cached_property
    def landing(self) -> str:
        """The checkpoint that is open when a visitor arrives."""
        return self.shelf.first()

    def about(self, spec: str) -> CheckpointCard:
        return card_of(self.shelf.open(spec))

    def pictures(self, spec: str) -> tuple[Picture, ...]:
        """Those that suit the checkpoint, then those that were fetched for it."""
        own = drawings() if spec == UNTRAINED else pictures_for(kind_of(self.about(spec)))
        return own + self._fetched.get(spec, ())

    def has_more(self, spec: str) -> bool:
        return self.shelf.choice(spec).examples is not None and spec not in self._fetched

    def fetch_more(self, spec: str) -> None:
        """Pictures of the Hub data set that the registry names; they stay for everybody."""
        examples = self.shelf.choice(spec).examples
        if examples is not None:
            credit = f"from the data set {examples.dataset}, {examples.licence}"
            found = fetch_pictures(examples)
            for path in found.values():
                tn.ImageSource.open(path)  # a picture that cannot be read is refused before it is offered
            self._fetched[spec] = tuple(fetched_picture(name, path, credit) for name, path in found.items())

    def furniture(self, spec: str) -> Furniture:
        choices = [(choice.title, choice.spec) for choice in self.shelf.choices]
        trained, more = spec != UNTRAINED, self.has_more(spec)
        about, sentences = self.about(spec), self.shelf.complaints
        return furniture(about, spec, choices, trained=trained, has_more=more, sentences=sentences)

    def explore(self, spec: str, image: Any, title: str, credit: str = "") -> Scene:
        """One traversal with the largest budget; every smaller one follows from it."""
        source = tn.ImageSource.open(image)
        with self._lock:
            model = self.shelf.open(spec)
            trace = tn.traverse(model, source, budget=largest(model.config))
        return prepare(trace, source, title, credit)

    def example(self, spec: str, index: int) -> Scene:
        """The same for everybody, so traversed once."""
        with self._lock:
            if (spec, index) not in self._scenes:
                picture = self.pictures(spec)[index]
                self._scenes[spec, index] = self.explore(spec, picture.open(), picture.title, picture.credit)
            return self._scenes[spec, index]


def page(explorer: Explorer) -> gr.Blocks:
    """The whole page. No picture is looked at until a browser asks."""
    spec = explorer.landing
    first = explorer.furniture(spec)
    plain: dict[str, Any] = {"apply_default_css": False}
    # Files of uploads are read once; the copies Gradio keeps go after an hour.
    with gr.Blocks(title="TNet Explorer", analytics_enabled=False, fill_width=True, delete_cache=(600, 3600)) as demo:
        opened, scene = gr.State(spec), gr.State()
        shown_from = gr.State(0)  # number of the example, or file of the upload, on the page
        gr.HTML(fragments.MASTHEAD, **plain)
        with gr.Row(elem_id="source"):
            chooser = gr.Dropdown(label="Checkpoint", filterable=False, elem_id="chooser", **first.chooser)
            about = gr.HTML(**first.card, **plain, elem_id="card")
        notice = gr.HTML(**first.notice, **plain, elem_id="notice")
        with gr.Row(elem_id="pick"):
            shelf = gr.HTML(gallery(explorer.pictures(spec), 0), js_on_load=REPORT_EXAMPLE, **plain, elem_id="gallery")
            with gr.Column(elem_id="bring", min_width=150):
                upload = gr.UploadButton("Upload a picture", size="md", elem_id="upload", type="filepath")
                more = gr.Button("More examples", size="md", elem_id="more", **first.more)
                invited = gr.HTML(**first.invitation, **plain, elem_id="invitation")
        problem = gr.HTML("", **plain, elem_id="problem")
        with gr.Row(elem_id="board"):
            with gr.Column(scale=7, min_width=320):
                with gr.Column(elem_classes="tn-stage"):
                    image = gr.HTML(fragments.LOADING, **plain, elem_id="picture")
                    boxes = gr.HTML("", **plain, elem_id="boxes")
                with gr.Column(elem_id="budget-panel"):
                    ticks: dict[str, Any] = {"minimum": 0, "step": 1, "elem_classes": "tn-budget"}
                    budget = gr.Slider(**ticks, **first.budget, elem_id="budget")
                    deeper = gr.Slider(**ticks, **first.deeper, elem_id="deeper")
                    summary = gr.HTML("", **plain, elem_id="summary")
                with gr.Column(elem_id="looks", elem_classes="tn-panel"):
                    looks = gr.HTML("", **plain)
            with gr.Column(scale=5, min_width=320):
                decision_head, decision = panel("decision")
                ledger_head, ledger = panel("ledger")
                grid_head, grid = panel("grid")

        shown = [boxes, summary, decision_head, decision, ledger_head, ledger, looks, grid_head, grid]
        sliders = [budget, deeper]
        chosen = [scene, image, shelf, problem, shown_from, *shown]
        furnished = [chooser, about, notice, invited, more, *sliders]

        def show(spec: str, where: int | str, *values: float) -> list[Any]:
            """The values of `chosen` for an example or an uploaded file."""
            if isinstance(where, int):
                made, selected = explorer.example(spec, where), where
            else:
                made, selected = explorer.explore(spec, where, Path(where).name), None
            shown_budget = offered(made.trace.config, values)
            return [made, made.picture, gallery(explorer.pictures(spec), selected), "", where,
                    *parts(view(made, shown_budget))]  # fmt: skip

        def unchanged(error: tn.TNetError) -> list[Any]:
            return [gr.skip()] * 3 + [fragments.problem(str(error))] + [gr.skip()] * (len(shown) + 1)

        def attempt(spec: str, where: int | str, *values: float) -> list[Any]:
            try:
                return show(spec, where, *values)
            except tn.TNetError as error:
                return unchanged(error)

        def on_load(spec: str, *values: float) -> list[Any]:
            return attempt(spec, 0, *values)

        def on_example(spec: str, budget: float, deeper: float, event: gr.EventData) -> list[Any]:
            last = len(explorer.pictures(spec)) - 1
            return attempt(spec, min(max(int(event.example), 0), last), budget, deeper)

        def on_upload(spec: str, file: str, *values: float) -> list[Any]:
            return attempt(spec, file, *values)

        def on_checkpoint(wanted: str, spec: str, where: int | str) -> list[Any]:
            try:
                new = explorer.furniture(wanted)
                kept = where if isinstance(where, str) and Path(where).is_file() else 0
                result = show(wanted, kept, new.budget["value"], new.deeper["value"])
            except tn.TNetError as error:
                return [gr.skip(), gr.update(value=spec), *[gr.skip()] * (len(furnished) - 1), *unchanged(error)]
            return [wanted, *(gr.update(**change) for change in parts(new)), *result]

        def on_more(spec: str, where: int | str) -> list[Any]:
            try:
                explorer.fetch_more(spec)
            except tn.TNetError as error:
                return [gr.skip(), gr.skip(), fragments.problem(str(error))]
            selected = where if isinstance(where, int) else None
            return [gallery(explorer.pictures(spec), selected), gr.update(visible=False), ""]

        run: dict[str, Any] = {"concurrency_id": "traversal", "concurrency_limit": 1, "api_visibility": "private"}
        wait: dict[str, Any] = {"show_progress": "minimal", "show_progress_on": [image]} | run
        demo.load(on_load, [opened, *sliders], chosen, show_progress="hidden", **run)
        shelf.click(on_example, [opened, *sliders], chosen, **wait)
        upload.upload(on_upload, [opened, upload, *sliders], chosen, **wait)
        chooser.input(on_checkpoint, [chooser, opened, shown_from], [opened, *furnished, *chosen], **wait)
        more.click(on_more, [opened, shown_from], [shelf, more, problem], show_progress="minimal",
                   show_progress_on=[more], concurrency_limit=2, api_visibility="private")  # fmt: skip
        for slider in sliders:
            slider.input(
                redraw, [scene, *sliders], shown, show_progress="hidden", trigger_mode="always_last",
                concurrency_limit=8, api_visibility="private",
            )  # fmt: skip
    return demo


def redraw(scene: Scene | None, *values: float) -> list[Any]:
    """A slider: re-aggregates what is cached, never runs the backbone."""
    if scene is None:
        gr.Warning("This page was left alone for too long: reload it to go on.")
        return [gr.skip()] * len(fields(View))
    return parts(view(scene, offered(scene.trace.config, values)))


def panel(name: str) -> tuple[gr.HTML, gr.Plot]:
    """A heading with its caption, and a figure."""
    with gr.Column(elem_id=name, elem_classes="tn-panel"):
        head = gr.HTML("", apply_default_css=False)
        figure = gr.Plot(show_label=False, container=False)
    return head, figure


def parts(shown: View | Furniture) -> list[Any]:
    """The fields, in their order, which is that of the page's outputs."""
    return [getattr(shown, field.name) for field in fields(shown)]


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
    parser.add_argument("--checkpoint", metavar="ID|FOLDER|hf:OWNER/NAME", help="open this one first")
    parser.add_argument("--registry", metavar="FILE", help="your own checkpoints, added to the shipped ones")
    given = parser.parse_args()
    if not 1 <= given.port <= 65535:
        parser.error(f"--port must lie in 1…65535, not {given.port}.")
    if given.device == "cuda" and tn.default_device().type != "cuda":
        parser.error("--device cuda: this machine has no CUDA device that PyTorch can use; take cpu.")
    return given


def main() -> int:
    given = arguments()
    try:
        registry = tn.checkpoints.Registry.load(given.registry)
        shelf = Shelf(registry, stand_in=PRESET, device=given.device)
        if given.checkpoint is not None:
            shelf.add(given.checkpoint, on_notice=shelf.complaints.append)
    except tn.TNetError as error:
        print(error, file=sys.stderr)
        return 1
    explorer = Explorer(shelf)
    # The first visitor should not wait: the landing picture is traversed while the server starts.
    warming = threading.Thread(target=explorer.example, args=(explorer.landing, 0), daemon=True)
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
    return page(Explorer(Shelf.stocked(None, stand_in=PRESET)))


def __getattr__(name: str) -> gr.Blocks:
    """`from app import demo` gives the page, which is built only then."""
    if name == "demo":
        return _demo()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


if __name__ == "__main__":
    raise SystemExit(main())
