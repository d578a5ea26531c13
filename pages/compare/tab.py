"""The tab 'Compare': wiring only. Questions are answered in `pages.compare.service`, drawn in `viz.compare`."""

from __future__ import annotations

import json
from typing import Any

import gradio as gr
from gradio.context import get_render_context

import tnet_core as tn
from pages.compare.service import Comparer
from pages.explore.service import Explorer
from pages.explore.tab import PROGRESS, Explored
from pages.limits import MAX_PARALLEL_TRAVERSALS
from pages.refresh import build_timer, restart_timer
from pages.server.rpc import add_turn, read_event
from pages.server.sessions import SESSION_SECONDS, Session
from viz.compare.page import build_load_script, read_template


def build_compare_tab(explorer: Explorer, explored: Explored) -> gr.Timer:
    """Build the tab in the current context. Nothing is computed until it is opened or its timer ticks."""
    comparer = Comparer(explorer)
    plain: dict[str, Any] = {"apply_default_css": False}
    tab = get_render_context()
    timer = build_timer()
    brought = gr.State(time_to_live=SESSION_SECONDS)  # file of the picture that was uploaded here
    with gr.Row(elem_id="compare-bring"):  # not seen: a button of the view opens it
        upload = gr.UploadButton("Upload a picture", elem_id="compare-upload", type="filepath")
    view = gr.HTML("", html_template=read_template(), js_on_load=build_load_script(), **plain, elem_id="compare")

    def problem(error: tn.TNetError, asked: Any = None) -> str:
        number = {"ask": asked} if type(asked) is int else {}
        return add_turn(json.dumps({"kind": "problem", "sentence": str(error), **number}))

    def on_open(session: Session | None, brought: str | None, pause: Any = None) -> list[Any]:
        try:
            message = add_turn(comparer.build_offer(session, brought))
        except tn.TNetError as error:
            message = problem(error)
        return [message, restart_timer(session, pause)]

    def on_ask(
        session: Session | None, brought: str | None, event: gr.EventData, progress: gr.Progress = PROGRESS
    ) -> str:
        asked = read_event(event)
        try:
            made = comparer.build_pair(session, brought, asked, lambda n, what: progress((n, 2), what, unit="sides"))
            return add_turn(made)
        except tn.TNetError as error:
            return problem(error, asked.get("ask"))

    def on_upload(file: str) -> list[Any]:
        try:
            title = comparer.open_upload(file)
        except tn.TNetError as error:
            return [gr.skip(), problem(error)]
        return [str(file), add_turn(json.dumps({"kind": "brought", "title": title}))]

    run: dict[str, Any] = {"concurrency_id": "compare", "concurrency_limit": MAX_PARALLEL_TRAVERSALS}
    run |= {"api_visibility": "private"}
    asking: dict[str, Any] = {"fn": on_ask, "inputs": [explored.session, brought], "outputs": [view], **run}
    view.ask(**asking, show_progress="hidden", trigger_mode="multiple")  # answered at once
    view.look(**asking, show_progress="full", trigger_mode="multiple")  # may traverse, may download
    upload.upload(on_upload, [upload], [brought, view], show_progress="minimal", show_progress_on=[view], **run)
    opening: dict[str, Any] = {
        "fn": on_open, "inputs": [explored.session, brought, timer], "outputs": [view, timer], "preprocess": False,
        "show_progress": "hidden", "trigger_mode": "always_last", **run,
    }  # fmt: skip
    if isinstance(tab, gr.Tab):
        tab.select(**opening)
    timer.tick(**opening)
    return timer
