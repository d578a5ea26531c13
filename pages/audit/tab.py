"""The tab 'Audit': wiring only. What it shows is made in `viz.audit`, what it reports on in `tnet_core.explain`.

The tab reads a checkpoint's evaluation and runs nothing. The faithfulness of the current picture is a panel of Explore,
which re-aggregates the session's features when it is opened.
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
from pages.server.model_cache import Cards
from pages.server.rpc import read_query
from pages.server.sessions import SESSION_SECONDS, Session
from viz.audit.faithfulness import render_no_report
from viz.audit.page import render_faithfulness_intro
from viz.common.page import render_problem, render_warning
from viz.web.modules import build_mount_script

PROGRESS = gr.Progress()
_PLAIN: dict[str, Any] = {"apply_default_css": False}
_LISTENING: dict[str, Any] = {"preprocess": False, "api_visibility": "private"}


def build_audit_tab(explorer: Explorer, explored: Explored, cards: Cards) -> None:
    """Build the tab in the current context; its cards are made when it is opened."""
    auditor = Auditor(explorer, cards)
    tab = get_render_context()
    followed = gr.State("")  # the explored checkpoint that this tab knows of
    with gr.Column(elem_id="audit", elem_classes="audit"):
        chooser = gr.Dropdown(
            [], label="Checkpoint", filterable=False, elem_id="audit-chooser", elem_classes="audit-field"
        )
        noted = gr.HTML("", **_PLAIN, elem_id="audit-noted")
        about = gr.HTML("", js_on_load=build_mount_script("mountAudit"), **_PLAIN, elem_id="audit-board")

    def on_open(spec: str, known: str, request: gr.Request) -> list[Any]:
        """Show what is explored, at first what a link names; where that is as before, the tab is as it was left."""
        if spec == known:
            return [gr.skip()] * 4
        problem = ""
        linked = "" if known else dict(read_query(request)).get("audit", "")
        try:
            name, made = (linked, auditor.render_audit(linked)) if linked else auditor.render_explored(spec)
        except tn.TNetError as error:
            if not linked:
                return [gr.skip(), gr.skip(), render_problem(str(error)), gr.skip()]
            problem = render_warning(str(error))
            name, made = auditor.render_explored(spec)
        choices = auditor.list_choices()
        return [spec, gr.update(choices=choices, value=name, visible=bool(choices)), problem, made]

    def on_checkpoint(name: Any) -> list[Any]:
        try:
            return ["", auditor.render_audit(name)]
        except tn.TNetError as error:
            return [render_problem(str(error)), gr.skip()]

    quick: dict[str, Any] = {"show_progress": "hidden", "concurrency_limit": 8, **_LISTENING}
    if isinstance(tab, gr.Tab):
        tab.select(on_open, [explored.opened, followed], [followed, chooser, noted, about], **quick)
    chooser.input(on_checkpoint, [chooser], [noted, about], **quick)


def build_faithfulness_panel(explorer: Explorer, explored: Explored) -> None:
    """Build the panel about the explored picture in the current context; it reports while it is open."""
    auditor = Auditor(explorer, lambda: [])
    is_open = gr.State(False)
    shown = gr.State(time_to_live=SESSION_SECONDS)  # `OpenReport`, None until there is a report
    title = "Does the decision rest on these looks?"
    with gr.Accordion(title, open=False, elem_id="audit-picture", elem_classes="audit") as panel:
        gr.HTML(render_faithfulness_intro(), **_PLAIN)
        with gr.Row(elem_id="audit-ask", elem_classes="audit-ask"):
            cls = gr.Dropdown([("the predicted class", PREDICTED)], value=PREDICTED, label="Class", min_width=0,
                              elem_id="audit-class", elem_classes="audit-field")  # fmt: skip
            looks = gr.Slider(MIN_LOOKS, MIN_LOOKS + 1, MIN_LOOKS, step=1, label="Looks, in the network's order",
                              min_width=0, elem_id="audit-looks", elem_classes="audit-field audit-looks")  # fmt: skip
        problem = gr.HTML("", **_PLAIN, elem_id="audit-problem")
        view = gr.HTML("", js_on_load=build_mount_script("mountFaithfulness"), **_PLAIN, elem_id="audit-report")
    picture = [shown, cls, looks, problem, view]

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

    def on_expand(session: Session | None, before: OpenReport | None, progress: gr.Progress = PROGRESS) -> list[Any]:
        return [True, *look(session, before, progress)]

    def on_picture(
        opened: bool, session: Session | None, before: OpenReport | None, progress: gr.Progress = PROGRESS
    ) -> list[Any]:
        """Report on another picture at once where the panel is open, else when it is opened."""
        return look(session, before, progress) if opened else [gr.skip()] * len(picture)

    def on_collapse() -> bool:
        return False

    def on_report(
        cls: Any, looks: Any, session: Session | None, before: OpenReport | None, progress: gr.Progress = PROGRESS
    ) -> list[Any]:
        if before is None or before.session is not session:
            return look(session, before, progress)  # another picture was explored meanwhile
        try:
            return [*[gr.skip()] * 3, "", auditor.render_report(before, cls, looks, progress)]
        except tn.TNetError as error:
            return [*[gr.skip()] * 3, render_problem(str(error)), gr.skip()]

    turn: dict[str, Any] = {"concurrency_id": "audit", "concurrency_limit": MAX_PARALLEL_REPORTS, **_LISTENING}
    reporting: dict[str, Any] = {"show_progress": "full", "show_progress_on": [view], **turn}
    session = explored.session
    panel.expand(on_expand, [session, shown], [is_open, *picture], **reporting)
    panel.collapse(on_collapse, None, [is_open], show_progress="hidden", **_LISTENING)
    session.change(on_picture, [is_open, session, shown], picture, trigger_mode="always_last", **turn)
    wiring: dict[str, Any] = {"inputs": [cls, looks, session, shown], "outputs": picture, "trigger_mode": "always_last"}
    cls.input(on_report, **wiring, **reporting)
    looks.input(on_report, **wiring, **reporting)
