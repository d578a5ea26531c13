"""The Explore tab: choose a checkpoint and a picture, watch the network look."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from typing import Any, NamedTuple

import gradio as gr

import tnet_core as tn
from pages.explore.images import read_file, read_part
from pages.explore.open_link import build_address, open_link
from pages.explore.service import Explorer, Tell
from pages.limits import MAX_PARALLEL_FILES, MAX_PARALLEL_PARTS, MAX_PARALLEL_TRAVERSALS
from pages.sampling import parse_mode as mode_wanted
from pages.server.access import is_local_request, resolve_local_file
from pages.server.rpc import add_turn, answer_event, read_event, read_query
from pages.server.sessions import SESSION_EXPIRED, SESSION_SECONDS, RequestOrder, Session, Where, require_session
from viz.common.page import render_problem, render_warning
from viz.explore.checkpoint import CheckpointPanel
from viz.explore.gallery import render_gallery
from viz.explore.page import (
    UPLOAD_LOAD_SCRIPT,
    build_file_script,
    build_load_script,
    build_part_script,
    read_camera_template,
    read_template,
)

# A click on an example reports its number.
REPORT_EXAMPLE = """element.addEventListener('click', event => {
  const button = event.target.closest('[data-example]');
  if (button) trigger('click', {example: Number(button.dataset.example)});
});"""


class Explored(NamedTuple):
    """What the other tabs ask about: the checkpoint that is open, and the picture that was looked at."""

    opened: gr.State  # spec of the checkpoint
    session: gr.State  # `Session`, None until a picture was traversed


def build_explore_tab(explorer: Explorer, demo: gr.Blocks) -> Explored:
    """Build the tab in the current context. No picture is looked at until a browser asks."""
    spec = explorer.landing
    first = explorer.build_panel(spec)
    plain: dict[str, Any] = {"apply_default_css": False}
    opened = gr.State(spec)
    session = gr.State(time_to_live=SESSION_SECONDS)
    order = gr.State(RequestOrder())
    with gr.Row(elem_id="explore-source"):
        chooser = gr.Dropdown(label="Checkpoint", filterable=False, elem_id="explore-chooser", **first.chooser)
        about = gr.HTML(**first.card, **plain, elem_id="explore-card")
    notice = gr.HTML(**first.notice, **plain, elem_id="explore-notice")
    with gr.Row(elem_id="explore-pick"):
        examples = gr.HTML(
            render_gallery(explorer.list_pictures(spec), 0),
            js_on_load=REPORT_EXAMPLE,
            **plain,
            elem_id="explore-gallery",
        )
        with gr.Column(elem_id="explore-bring", min_width=150):
            upload = gr.UploadButton("Upload a picture", size="md", elem_id="explore-upload", type="filepath")
            gr.HTML(read_camera_template(), js_on_load=UPLOAD_LOAD_SCRIPT, **plain, elem_id="explore-camera")
            more = gr.Button("More examples", size="md", elem_id="explore-more", **first.more)
            invited = gr.HTML(**first.invitation, **plain, elem_id="explore-invitation")
        named = build_path_field() if explorer.local else None
    problem = gr.HTML("", **plain, elem_id="explore-problem")
    view = gr.HTML("", html_template=read_template(), js_on_load=build_load_script(), **plain, elem_id="explore-stage")

    chosen = [session, view, examples, problem]
    panel_parts = [chooser, about, notice, invited, more]
    nothing, still = [gr.skip()] * len(chosen), [gr.skip()] * (1 + len(panel_parts))  # what stays as it is

    def show(spec: str, where: Where, made: Session, sent: str, sentence: str = "", **extra: Any) -> list[Any]:
        selected = where if isinstance(where, int) else None
        sent = add_turn(sent, link=build_address(explorer, spec, where), **extra)
        return [made, sent, render_gallery(explorer.list_pictures(spec), selected), render_warning(sentence)]

    def show_problem(error: tn.TNetError) -> list[Any]:
        return [gr.skip(), gr.skip(), gr.skip(), render_problem(str(error))]

    def attempt(order: RequestOrder, spec: str, where: Where, tell: Tell | None = None) -> list[Any]:
        """Open a picture under the checkpoint the page was at; change nothing if the page went elsewhere meanwhile."""
        wish = order.request_picture(spec)
        try:
            made, sent = explorer.open_picture(spec, where, tell, order.mode)
        except tn.TNetError as error:
            return show_problem(error) if order.reject(wish, spec) else nothing
        return show(spec, where, made, sent) if order.accept(wish, made.scene, where) else nothing

    def on_load(order: RequestOrder, request: gr.Request, progress: gr.Progress = PROGRESS) -> list[Any]:
        wish = order.request_checkpoint(explorer.landing)
        try:
            found = open_link(explorer, read_query(request), lambda what: progress(0, desc=what))
        except tn.TNetError as error:
            return [*still, *show_problem(error)]
        if not order.accept(wish, found.session.scene, found.where, found.spec):
            return [*still, *nothing]
        order.mode = found.session.mode
        changes = [found.spec, *list_updates(found.panel)] if found.panel is not None else still
        return [
            *changes,
            *show(found.spec, found.where, found.session, found.sent, found.wrong, restore=found.restore),
        ]

    def on_example(order: RequestOrder, spec: str, event: gr.EventData) -> list[Any]:
        number = read_event(event).get("example")
        return attempt(order, spec, number if type(number) is int else -1)

    def on_upload(order: RequestOrder, spec: str, file: str, progress: gr.Progress = PROGRESS) -> list[Any]:
        return attempt(order, spec, str(file), lambda what: progress(0, desc=what))

    def on_named(
        order: RequestOrder, spec: str, path: Any, request: gr.Request, progress: gr.Progress = PROGRESS
    ) -> list[Any]:
        try:
            where = resolve_local_file(path, local=explorer.local and is_local_request(request))
        except tn.TNetError as error:
            return show_problem(error)
        return attempt(order, spec, where, lambda what: progress(0, desc=what))

    def on_checkpoint(
        order: RequestOrder, wanted: str, spec: str, session: Session | None, progress: gr.Progress = PROGRESS
    ) -> list[Any]:
        progress(0, desc="Opening the checkpoint")
        wanted = wanted if isinstance(wanted, str) else ""
        wish = order.request_checkpoint(wanted)
        try:
            explorer.models.find_choice(wanted)
            new = explorer.build_panel(wanted)
            progress(0.5, desc="Looking at the picture")
            kept = None if session is None else session.where
            where: Where = kept if isinstance(kept, str) and Path(kept).is_file() else 0
            made, sent = explorer.open_picture(wanted, where, mode=order.mode)
        except tn.TNetError as error:
            if not order.reject(wish, spec):
                return [*still, *nothing]
            return [gr.skip(), gr.update(value=spec), *still[2:], *show_problem(error)]
        if not order.accept(wish, made.scene, where):
            return [*still, *nothing]
        return [wanted, *list_updates(new), *show(wanted, where, made, sent)]

    def on_sample(
        order: RequestOrder, session: Session | None, event: gr.EventData, progress: gr.Progress = PROGRESS
    ) -> list[Any]:
        """Cut the looks at the same picture from other pixels. Pictures after it are looked at in the same way."""
        asked = read_event(event)
        spec = "" if session is None else session.spec
        wish = order.request_picture(spec)
        try:
            session = require_session(session, SESSION_EXPIRED)
            session.check_scene(asked.get("scene"))
            mode = mode_wanted(asked.get("sampling"), asked.get("levels"))
            made, sent = explorer.open_picture(spec, session.where, lambda what: progress(0, desc=what), mode)
        except tn.TNetError as error:
            refused = add_turn(json.dumps({"kind": "refused", "sentence": str(error)}))
            return [gr.skip(), refused, gr.skip(), gr.skip()] if order.reject(wish, spec) else nothing
        if not order.accept(wish, made.scene, session.where):
            return nothing
        order.mode = mode
        return show(spec, session.where, made, sent, again=True)

    def on_more(order: RequestOrder, spec: str) -> list[Any]:
        try:
            explorer.fetch_more_pictures(spec)
        except tn.TNetError as error:
            return [gr.skip(), gr.skip(), render_problem(str(error)) if order.is_at(spec) else gr.skip()]
        if not order.is_at(spec):
            return [gr.skip()] * 3
        selected = order.where if isinstance(order.where, int) else None
        return [render_gallery(explorer.list_pictures(spec), selected), gr.update(visible=False), ""]

    def on_steer(order: RequestOrder, session: Session | None, event: gr.EventData) -> list[Any]:
        asked = read_event(event)
        echo = {name: asked[name] for name in ("scene", "ticket") if type(asked.get(name)) is int}
        try:
            made, sent = explorer.steer(session, asked)
            if session is not None and not order.accept_steering(session.scene, made.scene):
                raise tn.TNetError("Something else was asked for meanwhile: choose the cell again.")
        except tn.TNetError as error:
            return [gr.skip(), add_turn(json.dumps({"kind": "problem", "sentence": str(error)}), answers=echo)]
        return [gr.skip() if made is session else made, add_turn(sent, answers=echo)]

    # Traversals wait for one another in the explorer; what is known already need not wait for them.
    run: dict[str, Any] = {
        "concurrency_id": "explore",
        "concurrency_limit": MAX_PARALLEL_TRAVERSALS,
        "api_visibility": "private",
    }
    wait: dict[str, Any] = {"show_progress": "minimal", "show_progress_on": [view]} | run
    demo.load(on_load, [order], [opened, *panel_parts, *chosen], **wait)
    # Of several quick clicks the last one counts: `order` sees to that. Gradio's own `always_last` repeats the first.
    examples.click(on_example, [order, opened], chosen, trigger_mode="multiple", **wait)
    read: dict[str, Any] = wait | {"show_progress": "full"}  # a large file takes seconds: what is done is told
    upload.upload(on_upload, [order, opened, upload], chosen, **read)
    if named is not None:
        named.submit(on_named, [order, opened, named], chosen, preprocess=False, **read)
    chooser.input(
        on_checkpoint, [order, chooser, opened, session], [opened, *panel_parts, *chosen],
        show_progress="full", show_progress_on=[view], preprocess=False, **run,  # unknown ones get our own sentence
    )  # fmt: skip
    view.steer(on_steer, [order, session], [session, view], show_progress="hidden", trigger_mode="multiple", **run)
    view.sample(on_sample, [order, session], chosen, trigger_mode="multiple", **read)
    more.click(on_more, [order, opened], [examples, more, problem], show_progress="minimal",
               show_progress_on=[more], concurrency_limit=2, api_visibility="private")  # fmt: skip
    answer_questions(explorer, view, session)
    return Explored(opened, session)


def answer_questions(explorer: Explorer, view: gr.HTML, session: gr.State) -> None:
    """Answer the stage when it asks for a part of its picture, or for a file, which is made in the browser."""
    plain: dict[str, Any] = {"html_template": "<i></i>", "apply_default_css": False}
    part = gr.HTML("", js_on_load=build_part_script(), elem_id="explore-part", **plain)
    taken = gr.HTML("", js_on_load=build_file_script(), elem_id="explore-taken", **plain)

    def on_zoom(session: Session | None, event: gr.EventData) -> str:
        return answer_event(event, lambda asked: read_part(explorer, session, asked))

    def on_take(session: Session | None, event: gr.EventData) -> str:
        return answer_event(event, lambda asked: read_file(explorer, session, asked))

    quiet: dict[str, Any] = {"show_progress": "hidden", "api_visibility": "private"}
    view.zoom(on_zoom, [session], [part], trigger_mode="multiple", concurrency_id="zoom",
              concurrency_limit=MAX_PARALLEL_PARTS, **quiet)  # fmt: skip
    view.take(on_take, [session], [taken], concurrency_limit=MAX_PARALLEL_FILES, **quiet)


def build_path_field() -> gr.Textbox:
    """Build the field that names a file of the visitor's own computer: nothing of it is uploaded or copied."""
    hint = "its path, then Enter; a TIFF, JPEG or PNG of any size"
    return gr.Textbox(label="Open a file on this computer", placeholder=hint, max_lines=1, elem_id="explore-named")


PROGRESS = gr.Progress(track_tqdm=True)  # downloads have a bar of their own


def list_updates(panel: CheckpointPanel) -> list[Any]:
    """Return the changes of the components, in the order of the fields, which is that of the page's outputs."""
    return [gr.update(**getattr(panel, field.name)) for field in fields(panel)]
