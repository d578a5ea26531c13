"""The tab 'What if': wiring only. `pages.what_if.service` checks and answers questions, `viz.what_if` draws."""

from __future__ import annotations

from typing import Any

import gradio as gr
from gradio.context import get_render_context

import tnet_core as tn
from pages.explore.service import Explorer
from pages.explore.tab import PROGRESS, Explored
from pages.limits import MAX_PARALLEL_TRAVERSALS
from pages.refresh import build_timer, restart_timer
from pages.server.sessions import SESSION_SECONDS, Session
from pages.what_if.service import KINDS, SCALES, Change, Experimenter, OriginalPicture
from viz.common.page import render_problem
from viz.what_if.page import build_load_script, render_experiment, render_intro, render_nothing

FIRST = "flip"  # what is tried first


def build_what_if_tab(explorer: Explorer, explored: Explored) -> gr.Timer:
    """Build the tab in the current context. Nothing is computed until it is opened or its timer ticks."""
    experimenter = Experimenter(explorer)
    tab = get_render_context()
    plain: dict[str, Any] = {"apply_default_css": False}
    field: dict[str, Any] = {"min_width": 0, "elem_classes": "what-if-field"}
    known = gr.State(time_to_live=SESSION_SECONDS)  # `Untouched`, None until there is one
    timer = build_timer()
    with gr.Column(elem_id="what-if"):
        gr.HTML(render_intro(), **plain)
        with gr.Row(elem_id="what-if-ask", elem_classes="what-if-ask"):
            kind = gr.Radio([(title, name) for name, title in KINDS.items()], value=FIRST, label="Change the picture",
                            min_width=0, elem_id="what-if-kind", elem_classes="what-if-field what-if-kind")  # fmt: skip
            x = gr.Slider(-1, 1, 1, step=1, label="Cells to the right", visible=False, elem_id="what-if-x", **field)
            y = gr.Slider(-1, 1, 0, step=1, label="Cells down", visible=False, elem_id="what-if-y", **field)
            scale = gr.Slider(*SCALES, 160, step=10, label="Size in %", visible=False, elem_id="what-if-scale", **field)
            source = gr.Dropdown([], label="Copy", visible=False, filterable=False, elem_id="what-if-source", **field)
            target = gr.Dropdown([], label="Onto", visible=False, filterable=False, elem_id="what-if-target", **field)
        noted = gr.HTML("", **plain, elem_id="what-if-problem")
        view = gr.HTML("", js_on_load=build_load_script(), **plain, elem_id="what-if-view")

    asked: list[Any] = [kind, x, y, scale, source, target]
    owners = {"shift": (x, y), "scale": (scale,), "paste": (source, target)}  # which fields belong to which change

    def show_fields(now: str) -> list[Any]:
        """Return which fields are to be seen."""
        return [gr.update(visible=field in owners.get(now, ())) for field in asked[1:]]

    def on_open(
        session: Session | None, before: OriginalPicture | None, pause: Any = None, progress: gr.Progress = PROGRESS
    ) -> list[Any]:
        return [*follow(session, before, progress), restart_timer(session, pause)]

    def follow(session: Session | None, before: OriginalPicture | None, progress: gr.Progress) -> list[Any]:
        """Show what is explored; where that is as before, the tab is as it was left."""
        if before is not None and before.session is session:
            return [gr.skip()] * (3 + len(asked))
        progress(0, desc="Looking at the picture")
        try:
            now = experimenter.open_original(session)
            made = render_experiment(experimenter.run(now, Change(FIRST), lambda doing: progress(0.5, desc=doing)))
        except tn.TNetError as error:
            return [None, *[gr.update(visible=False)] * len(asked), "", render_nothing(str(error))]
        most, cells, (copy, onto) = now.grid - 1, now.list_cells(), now.first_paste
        return [
            now,
            gr.update(value=FIRST, visible=True),
            gr.update(minimum=-most, maximum=most, value=1, visible=False),
            gr.update(minimum=-most, maximum=most, value=0, visible=False),
            gr.update(value=160, visible=False),
            gr.update(choices=cells, value=copy, visible=False),
            gr.update(choices=cells, value=onto, visible=False),
            "",
            made,
        ]

    def on_change(
        session: Session | None, before: OriginalPicture | None, kind: Any, x: Any, y: Any, scale: Any, source: Any,
        target: Any, progress: gr.Progress = PROGRESS,
    ) -> list[Any]:  # fmt: skip
        if before is None or before.session is not session:
            return follow(session, before, progress)  # another picture was explored meanwhile
        try:
            found = experimenter.run(
                before, Change(kind, x, y, scale, source, target), lambda doing: progress(0.3, desc=doing)
            )
        except tn.TNetError as error:
            return [*[gr.skip()] * (1 + len(asked)), render_problem(str(error)), gr.skip()]
        return [gr.skip(), gr.skip(), *show_fields(kind), "", render_experiment(found)]

    made = [known, *asked, noted, view]
    turn: dict[str, Any] = {
        "concurrency_id": "what-if", "concurrency_limit": MAX_PARALLEL_TRAVERSALS, "api_visibility": "private",
        "preprocess": False, "trigger_mode": "always_last",
    }  # fmt: skip
    run: dict[str, Any] = {"show_progress": "full", "show_progress_on": [view], **turn}
    session = explored.session
    opening: dict[str, Any] = {"fn": on_open, "inputs": [session, known, timer], "outputs": [*made, timer]}
    if isinstance(tab, gr.Tab):
        tab.select(**opening, **run)
    timer.tick(**opening, show_progress="hidden", **turn)
    for control in asked:
        control.input(on_change, [session, known, *asked], made, **run)
    return timer
