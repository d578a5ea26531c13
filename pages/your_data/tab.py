"""The tab 'Your data': wiring only. `pages.your_data.service` measures, `viz.your_data` shows."""

from __future__ import annotations

import time
from typing import Any

import gradio as gr

import tnet_core as tn
from pages.explore.tab import PROGRESS, Explored
from pages.limits import MAX_FAILURE_BYTES, MAX_LOOKS_PER_GRID, MAX_PARALLEL_EVALUATIONS, MAX_PARALLEL_TRAVERSALS
from pages.server.access import is_local_request
from pages.server.rpc import PageCalls, read_event, read_session_id
from pages.server.sessions import SESSION_SECONDS
from pages.your_data.service import NO_FOLDERS, Evaluator
from tnet_core.schemas.evaluation import parse_evaluation
from training.data import archive
from viz.common.measured import VisitorEvaluation, add_evaluation
from viz.common.page import render_warning
from viz.web.modules import build_mount_script
from viz.your_data.page import (
    INTRO,
    WAITING,
    ZipLimits,
    render_chart_notice,
    render_failures,
    render_file_link,
    render_result,
    render_zip_layout,
)

FIRST_IMAGES = 100  # measured unless more are asked for
ZIP_LIMITS = ZipLimits(archive.MAX_ZIP_BYTES, archive.MAX_IMAGES, archive.MAX_IMAGE_PIXELS, MAX_FAILURE_BYTES)
POLICIES = (
    ("Looks from the centre outwards", "centre"),
    ("Looks at random", "random"),
    ("The same looks for every image", "mean"),
    ("The surest of all looks (takes longer)", "surest"),
    ("Looks chosen with hindsight", "oracle"),
)
# A button as the browser sets it, without asking the server.
_ENABLED, _DISABLED = (f"{{__type__: 'update', interactive: {value}}}" for value in ("true", "false"))


def build_your_data_tab(evaluator: Evaluator, explored: Explored, own: gr.State, demo: gr.Blocks) -> None:
    """Build the tab in the current context; `own` gets what was measured."""
    explorer = evaluator.explorer
    plain: dict[str, Any] = {"apply_default_css": False}
    with gr.Column(elem_id="your-data", elem_classes="your-data"):
        gr.HTML(INTRO, **plain)
        with gr.Row(elem_classes="your-data-board"):
            with gr.Column(elem_classes="your-data-ask", min_width=0):
                file = gr.File(label="Zip of class folders", elem_id="your-data-zip", height=128, type="filepath")
                named = [gr.Textbox(label="or a folder of this machine", placeholder="a folder of class folders",
                                    elem_id="your-data-folder")] if evaluator.local else []  # fmt: skip
                gr.HTML(render_zip_layout(ZIP_LIMITS), **plain)
                choices = [(choice.title, choice.spec) for choice in explorer.models.choices]
                spec = gr.Dropdown(choices, value=explorer.landing, label="Checkpoint", filterable=False,
                                   elem_id="your-data-checkpoint")  # fmt: skip
                budget = gr.Slider(
                    1, MAX_LOOKS_PER_GRID, value=10, step=1, label="Looks, at most", elem_id="your-data-budget"
                )
                most = evaluator.max_images
                limit = gr.Number(FIRST_IMAGES, label=f"Images, at most {most}", precision=0, minimum=1, maximum=most,
                                  elem_id="your-data-limit")  # fmt: skip
                policies = gr.CheckboxGroup(list(POLICIES), value=["centre", "random", "oracle"], label="Compare with",
                                            elem_id="your-data-policies", elem_classes="your-data-ticks")  # fmt: skip
                with gr.Row(elem_classes="your-data-buttons"):
                    start = gr.Button("Evaluate", variant="primary", elem_id="your-data-start", min_width=0)
                    stop = gr.Button("Cancel", elem_id="your-data-stop", min_width=0, interactive=False)
            with gr.Column(elem_classes="your-data-answer", min_width=0):
                trouble = gr.HTML("", **plain, elem_id="your-data-problem")
                view = gr.HTML(WAITING, **plain, elem_id="your-data-result")
                saved = gr.HTML("", **plain, elem_id="your-data-saved")
                refused = gr.HTML("", **plain, elem_id="your-data-refused")
        mount = build_mount_script("mountFailures", "click")
        failures = gr.HTML("", js_on_load=mount, **plain, elem_id="your-data-failures")
    measured = gr.State("", time_to_live=SESSION_SECONDS)  # spec of the checkpoint whose failures are shown

    def on_start(
        mine: tuple[VisitorEvaluation, ...], file: Any, spec: Any, budget: Any, limit: Any, policies: Any,
        request: gr.Request, folder: Any = None, progress: gr.Progress = PROGRESS,
    ) -> list[Any]:  # fmt: skip
        began = time.monotonic()

        def report(what: str, done: int, total: int) -> None:
            progress((done, total) if total else 0, desc=what, unit="images")

        try:
            task = evaluator.check_request(spec, budget, policies, limit, shows_failures=True)
            if folder and not is_local_request(request):
                raise tn.TNetError(NO_FOLDERS)
            found = evaluator.evaluate(read_session_id(request), file, folder, task, report)
        except tn.TNetError as error:
            return [gr.skip(), render_warning(str(error)), *[gr.skip()] * 4]
        title = explorer.models.find_choice(task.spec).title
        mine = add_evaluation(mine, task.spec, title, found.content)
        result = render_result(mine[-1], found.notices, time.monotonic() - began) + render_chart_notice(mine[-1].name)
        link = render_file_link(mine[-1].name, parse_evaluation(found.content).to_text())
        gallery = "" if found.failures is None else render_failures(found.failures)
        return [mine, "", result, link, gallery, task.spec]

    def on_open(
        calls: PageCalls, target: str, spec: str, request: gr.Request, event: gr.EventData,
        progress: gr.Progress = PROGRESS,
    ) -> list[Any]:  # fmt: skip
        """Open a failure in Explore, under the checkpoint that was measured."""
        try:
            where = evaluator.pictures.find(read_session_id(request), read_event(event).get("open"))
        except tn.TNetError as error:
            return [*[gr.skip()] * len(explored.shown), render_warning(str(error))]
        return [*explored.open_at(calls, target, where, spec, progress), ""]

    def on_stop(request: gr.Request) -> str:
        running = evaluator.cancel(read_session_id(request))
        return gr.skip() if running else render_warning("Nothing is running.")

    def on_leave(request: gr.Request) -> None:
        evaluator.cancel(read_session_id(request), seconds=0)
        evaluator.pictures.release(read_session_id(request))

    quiet: dict[str, Any] = {"preprocess": False, "api_visibility": "private"}
    # An old sentence goes at once, and there is something to cancel until the answer comes.
    start.click(None, None, [trouble, stop], js=f"() => ['', {_ENABLED}]", show_progress="hidden")
    start.click(
        on_start, [own, file, spec, budget, limit, policies, *named],
        [own, trouble, view, saved, failures, measured],
        show_progress="full", show_progress_on=[view], concurrency_id="evaluate",
        concurrency_limit=MAX_PARALLEL_EVALUATIONS, **quiet,
    ).then(None, None, [stop], js=f"() => ({_DISABLED})", show_progress="hidden")  # fmt: skip
    stop.click(on_stop, None, [trouble], show_progress="hidden", concurrency_limit=8, **quiet)
    failures.click(
        on_open, [explored.calls, measured, explored.opened], [*explored.shown, refused],
        concurrency_id="explore", concurrency_limit=MAX_PARALLEL_TRAVERSALS, trigger_mode="multiple",
        show_progress="hidden", api_visibility="private",
    ).success(None, [refused], None, js="sentence => { if (!sentence) TNet('showExplore'); return []; }",
              show_progress="hidden")  # fmt: skip
    demo.unload(on_leave)
