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
from pages.server.rpc import CALL_OPTIONS, PageCalls, push
from pages.server.sessions import SESSION_SECONDS, Session
from viz.common.templates import read_elements
from viz.web.modules import build_mount_script


def build_compare_tab(explorer: Explorer, explored: Explored) -> gr.Timer:
    """Build the tab in the current context. Nothing is computed until it is opened or its timer ticks."""
    comparer = Comparer(explorer)
    plain: dict[str, Any] = {"apply_default_css": False}
    tab = get_render_context()
    timer = build_timer()
    brought = gr.State(time_to_live=SESSION_SECONDS)  # file of the picture that was uploaded here
    with gr.Row(elem_id="compare-bring"):  # not seen: a button of the view opens it
        upload = gr.UploadButton("Upload a picture", elem_id="compare-upload", type="filepath")
    mount = build_mount_script("mountCompare")
    view = gr.HTML(
        "", html_template=read_elements("compare/template.html"), js_on_load=mount, **plain, elem_id="compare"
    )

    def problem(error: tn.TNetError) -> str:
        return push(json.dumps({"kind": "problem", "sentence": str(error)}))

    def on_open(session: Session | None, brought: str | None, pause: Any = None) -> list[Any]:
        try:
            message = push(comparer.build_offer(session, brought))
        except tn.TNetError as error:
            message = problem(error)
        return [message, restart_timer(session, pause)]

    def on_pair(
        calls: PageCalls, session: Session | None, brought: str | None, event: gr.EventData,
        progress: gr.Progress = PROGRESS,
    ) -> str:  # fmt: skip
        def tell(done: int, what: str) -> None:
            progress((done, 2), what, unit="sides")

        return calls.answer(event, lambda call: [comparer.build_pair(session, brought, call, tell)])[0]

    def on_upload(file: str) -> list[Any]:
        try:
            title = comparer.open_upload(file)
        except tn.TNetError as error:
            return [gr.skip(), problem(error)]
        return [str(file), push(json.dumps({"kind": "brought", "title": title}))]

    run: dict[str, Any] = {"concurrency_id": "compare", "concurrency_limit": MAX_PARALLEL_TRAVERSALS}
    run |= {"api_visibility": "private"}
    asking: dict[str, Any] = {"fn": on_pair, "inputs": [explored.calls, explored.session, brought]}
    asking |= {"outputs": [explored.channel], "show_progress_on": [view], **run, **CALL_OPTIONS}
    explored.channel.pair(**asking, show_progress="hidden")  # answered at once
    explored.channel.look_pair(**asking, show_progress="full")  # may traverse, may download
    upload.upload(on_upload, [upload], [brought, view], show_progress="minimal", show_progress_on=[view], **run)
    opening: dict[str, Any] = {
        "fn": on_open, "inputs": [explored.session, brought, timer], "outputs": [view, timer], "preprocess": False,
        "show_progress": "hidden", "trigger_mode": "always_last", **run,
    }  # fmt: skip
    if isinstance(tab, gr.Tab):
        tab.select(**opening)
    timer.tick(**opening)
    return timer
