"""The tab 'Your data': wiring only. `pages.your_data.service` measures, `viz.your_data` shows."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import gradio as gr
from gradio.utils import get_upload_folder

import tnet_core as tn
from pages.server.access import given_file
from pages.server.here import asked_here
from pages.your_data.service import MOST_LOOKS, NO_FOLDERS, Evaluated, Evaluator, Wanted
from training.evaluation.output import evaluation_to_text
from viz.common import fragments
from viz.common.measured import VisitorEvaluation, add_evaluation
from viz.your_data.page import INTRO, WAITING, ZIP_LAYOUT, render_chart_notice, render_file_link, render_result

EVALUATIONS = 8  # that are asked for at once: they wait in `Evaluator`, which refuses more
FIRST_IMAGES = 100  # measured unless more are asked for
POLICIES = (
    ("Looks from the centre outwards", "centre"),
    ("Looks at random", "random"),
    ("The same looks for every image", "mean"),
    ("Looks chosen with hindsight (takes longer)", "oracle"),
)


def own_data(evaluator: Evaluator, own: gr.State, demo: gr.Blocks) -> None:
    """The content of the tab, inside the current context; `own` gets what was measured."""
    explorer = evaluator.explorer
    plain: dict[str, Any] = {"apply_default_css": False}
    with gr.Column(elem_id="own", elem_classes="tno"):
        gr.HTML(INTRO, **plain)
        with gr.Row(elem_classes="tno-board"):
            with gr.Column(elem_classes="tno-ask", min_width=0):
                file = gr.File(label="Zip of class folders", elem_id="own-zip", height=130, type="filepath")
                named = [gr.Textbox(label="or a folder of this machine", placeholder="a folder of class folders",
                                    elem_id="own-folder")] if evaluator.local else []  # fmt: skip
                gr.HTML(ZIP_LAYOUT, **plain)
                choices = [(choice.title, choice.spec) for choice in explorer.shelf.choices]
                spec = gr.Dropdown(choices, value=explorer.landing, label="Checkpoint", filterable=False,
                                   elem_id="own-checkpoint")  # fmt: skip
                budget = gr.Slider(1, MOST_LOOKS, value=10, step=1, label="Looks, at most", elem_id="own-budget")
                most = evaluator.most_images
                limit = gr.Number(FIRST_IMAGES, label=f"Images, at most {most}", precision=0, minimum=1, maximum=most,
                                  elem_id="own-limit")  # fmt: skip
                policies = gr.CheckboxGroup(list(POLICIES), value=["centre", "random"], label="Compare with",
                                            elem_id="own-policies", elem_classes="tno-ticks")  # fmt: skip
                with gr.Row(elem_classes="tno-buttons"):
                    start = gr.Button("Evaluate", variant="primary", elem_id="own-start", min_width=0)
                    stop = gr.Button("Cancel", elem_id="own-stop", min_width=0)
            with gr.Column(elem_classes="tno-answer", min_width=0):
                trouble = gr.HTML("", **plain, elem_id="own-problem")
                view = gr.HTML(WAITING, **plain, elem_id="own-result")
                saved = gr.HTML("", **plain, elem_id="own-saved")

    def on_start(
        mine: tuple[VisitorEvaluation, ...], file: Any, spec: Any, budget: Any, limit: Any, policies: Any,
        request: gr.Request, folder: Any = None, progress: gr.Progress = PROGRESS,
    ) -> list[Any]:  # fmt: skip
        began = time.monotonic()

        def report(what: str, done: int, total: int) -> None:
            progress((done, total) if total else 0, desc=what, unit="images")

        try:
            wanted = evaluator.wanted(spec, budget, policies, limit)
            if folder and not asked_here(request):
                raise tn.TNetError(NO_FOLDERS)
            found = measured(evaluator, session_of(request), file, folder, wanted, report)
        except tn.TNetError as error:
            return [gr.skip(), fragments.warning(str(error)), gr.skip(), gr.skip()]
        title = explorer.shelf.choice(wanted.spec).title
        mine = add_evaluation(mine, wanted.spec, title, found.content)
        told = render_result(mine[-1], found.notices, time.monotonic() - began) + render_chart_notice(mine[-1].name)
        return [mine, "", told, render_file_link(mine[-1].name, evaluation_to_text(found.content))]

    def on_stop(request: gr.Request) -> str:
        running = evaluator.cancel(session_of(request))
        return gr.skip() if running else fragments.warning("Nothing is running.")

    def on_leave(request: gr.Request) -> None:
        evaluator.cancel(session_of(request), seconds=0)

    quiet: dict[str, Any] = {"preprocess": False, "api_visibility": "private"}
    start.click(None, None, [trouble], js="() => ''", show_progress="hidden")  # an old sentence goes at once
    start.click(
        on_start, [own, file, spec, budget, limit, policies, *named], [own, trouble, view, saved],
        show_progress="full", show_progress_on=[view], concurrency_limit=EVALUATIONS, concurrency_id="evaluate",
        **quiet,
    )  # fmt: skip
    stop.click(on_stop, None, [trouble], show_progress="hidden", concurrency_limit=8, **quiet)
    demo.unload(on_leave)


PROGRESS = gr.Progress()


def session_of(request: gr.Request | None) -> str:
    """Whose evaluation it is: the name a browser gave itself, known to nobody else."""
    return str(getattr(request, "session_hash", None) or "")


def measured(evaluator: Evaluator, session: str, file: Any, folder: Any, wanted: Wanted, report: Any) -> Evaluated:
    """From the folder, where one is named, else from the zip."""
    if isinstance(folder, str) and folder.strip():
        return evaluator.of_folder(session, folder, wanted, report)
    if file is None:
        raise tn.TNetError("Choose a zip of class folders first.")
    path = given_file(file, "The data")
    name = file.get("orig_name") if isinstance(file, dict) else None
    called = Path(name if isinstance(name, str) and name else path).name
    return evaluator.of_zip(session, path, Path(called).stem[:80], wanted, report, get_upload_folder())
