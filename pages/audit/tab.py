"""The tab 'Audit': wiring only. What it shows is made in `viz.audit`, what it reports on in `tnet_core.explain`.

The checkpoint's part reads its evaluation and runs nothing; the picture's part re-aggregates the session's features.
"""

from __future__ import annotations

from typing import Any

import gradio as gr
from gradio.context import get_render_context

import tnet_core as tn
from pages.audit.service import MIN_LOOKS, PREDICTED, Auditor, OpenReport
from pages.explore.service import Explorer
from pages.explore.tab import Explored
from pages.limits import MAX_PARALLEL_REPORTS
from pages.refresh import build_timer, restart_timer
from pages.server.model_cache import Cards
from pages.server.sessions import SESSION_SECONDS, Session
from viz.audit.faithfulness import render_no_report
from viz.audit.page import build_load_script, render_faithfulness_intro, render_intro
from viz.common.page import render_problem


def build_audit_tab(explorer: Explorer, explored: Explored, cards: Cards) -> gr.Timer:
    """Build the tab in the current context; everything is made when it is opened, or its timer ticks."""
    auditor = Auditor(explorer, cards)
    tab = get_render_context()
    plain: dict[str, Any] = {"apply_default_css": False}
    followed = gr.State("")  # the explored checkpoint that this tab knows of
    shown = gr.State(time_to_live=SESSION_SECONDS)  # `OpenReport`, None until there is a report
    timer = build_timer()
    with gr.Column(elem_id="audit", elem_classes="audit"):
        gr.HTML(render_intro(), **plain)
        chooser = gr.Dropdown(
            [], label="Checkpoint", filterable=False, elem_id="audit-chooser", elem_classes="audit-field"
        )
        noted = gr.HTML("", **plain, elem_id="audit-noted")
        about = gr.HTML("", js_on_load=build_load_script(), **plain, elem_id="audit-board")
        gr.HTML(render_faithfulness_intro(), **plain, elem_id="audit-picture")
        with gr.Row(elem_id="audit-ask", elem_classes="audit-ask"):
            cls = gr.Dropdown([("the predicted class", PREDICTED)], value=PREDICTED, label="Class", min_width=0,
                              elem_id="audit-class", elem_classes="audit-field")  # fmt: skip
            looks = gr.Slider(MIN_LOOKS, MIN_LOOKS + 1, MIN_LOOKS, step=1, label="Looks, in the network's order",
                              min_width=0, elem_id="audit-looks", elem_classes="audit-field audit-looks")  # fmt: skip
        problem = gr.HTML("", **plain, elem_id="audit-problem")
        view = gr.HTML("", **plain, elem_id="audit-report")

    checkpoint, picture = [followed, chooser, noted, about], [shown, cls, looks, problem, view]

    def on_open(
        spec: str, known: str, session: Session | None, before: OpenReport | None, pause: Any = None,
        progress: gr.Progress = PROGRESS,
    ) -> list[Any]:  # fmt: skip
        """Show what is explored; where that is as before, the tab is as it was left."""
        return [*follow(spec, known), *look(session, before, progress), restart_timer(session, pause)]

    def follow(spec: str, known: str) -> list[Any]:
        if spec == known:
            return [gr.skip()] * len(checkpoint)
        try:
            name, made = auditor.render_explored(spec)
        except tn.TNetError as error:
            return [gr.skip(), gr.skip(), render_problem(str(error)), gr.skip()]
        choices = auditor.list_choices()
        return [spec, gr.update(choices=choices, value=name, visible=bool(choices)), "", made]

    def look(session: Session | None, before: OpenReport | None, progress: gr.Progress) -> list[Any]:
        if before is not None and before.session is session:
            return [gr.skip()] * len(picture)
        try:
            now = auditor.open_report(session)
            made = auditor.render_report(now, PREDICTED, now.usual, progress)
        except tn.TNetError as error:
            return [None, gr.update(visible=False), gr.update(visible=False), "", render_no_report(str(error))]
        choose = gr.update(choices=now.classes, value=PREDICTED, visible=True)
        return [now, choose, gr.update(maximum=len(now.looks), value=now.usual, visible=True), "", made]

    def on_checkpoint(name: Any) -> list[Any]:
        try:
            return ["", auditor.render_audit(name)]
        except tn.TNetError as error:
            return [render_problem(str(error)), gr.skip()]

    def on_report(
        cls: Any, looks: Any, session: Session | None, before: OpenReport | None, progress: gr.Progress = PROGRESS
    ) -> list[Any]:
        if before is None or before.session is not session:
            return look(session, before, progress)  # another picture was explored meanwhile
        try:
            return [*[gr.skip()] * 3, "", auditor.render_report(before, cls, looks, progress)]
        except tn.TNetError as error:
            return [*[gr.skip()] * 3, render_problem(str(error)), gr.skip()]

    listening: dict[str, Any] = {"preprocess": False, "api_visibility": "private"}
    turn: dict[str, Any] = {"concurrency_id": "audit", "concurrency_limit": MAX_PARALLEL_REPORTS, **listening}
    reporting: dict[str, Any] = {"show_progress": "full", "show_progress_on": [view], **turn}
    opened, session = explored
    opening: dict[str, Any] = {"fn": on_open, "inputs": [opened, followed, session, shown, timer],
                               "outputs": [*checkpoint, *picture, timer]}  # fmt: skip
    if isinstance(tab, gr.Tab):
        tab.select(**opening, **reporting)
    timer.tick(**opening, show_progress="hidden", **turn)
    chooser.input(on_checkpoint, [chooser], [noted, about], show_progress="hidden", concurrency_limit=8, **listening)
    asked: dict[str, Any] = {"inputs": [cls, looks, session, shown], "outputs": picture, "trigger_mode": "always_last"}
    cls.input(on_report, **asked, **reporting)
    looks.input(on_report, **asked, **reporting)
    return timer


PROGRESS = gr.Progress()
