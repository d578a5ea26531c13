"""The Explore tab: choose a checkpoint and a picture, watch the network look."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

import gradio as gr

import tnet_core as tn
from pages.explore.images import read_file, read_part
from pages.explore.open_link import build_address, open_link
from pages.explore.service import DIVE, Explorer, Tell
from pages.limits import MAX_PARALLEL_FILES, MAX_PARALLEL_PARTS, MAX_PARALLEL_TRAVERSALS
from pages.sampling import parse_mode
from pages.server.access import is_local_request, resolve_local_file
from pages.server.rpc import (
    CALL_OPTIONS,
    PageCalls,
    PictureRequest,
    add_fields,
    build_channel,
    push,
    read_event,
    read_query,
)
from pages.server.sessions import (
    PICTURE_REPLACED,
    SESSION_EXPIRED,
    SESSION_SECONDS,
    UPLOAD_FORGOTTEN,
    Session,
    SessionExpiredError,
    Where,
    require_session,
)
from viz.common.page import render_problem, render_warning
from viz.common.templates import read_elements
from viz.explore.checkpoint import CheckpointPanel
from viz.explore.gallery import render_gallery
from viz.web.modules import build_mount_script


class Explored(NamedTuple):
    """What the other tabs ask about: the checkpoint that is open, and the picture that was looked at."""

    opened: gr.State  # spec of the checkpoint
    session: gr.State  # `Session`, None until a picture was traversed
    channel: gr.HTML  # carries the calls of all tabs
    calls: gr.State  # `PageCalls`
    shown: list[Any]  # components that change with the checkpoint and its picture
    open_at: Callable[..., list[Any]]  # their new values with another picture


def build_explore_tab(explorer: Explorer, demo: gr.Blocks) -> Explored:
    """Build the tab in the current context. No picture is looked at until a browser asks."""
    spec = explorer.landing
    first = explorer.build_panel(spec)
    plain: dict[str, Any] = {"apply_default_css": False}
    opened = gr.State(spec)
    session = gr.State(time_to_live=SESSION_SECONDS)
    order = gr.State(PageCalls())
    channel = build_channel()
    place = ["explore-local"] if explorer.local else []  # there one more field stands above the stage
    with gr.Row(elem_id="explore-top", elem_classes=place):
        with gr.Row(elem_id="explore-pick"):
            examples = gr.HTML(
                draw_gallery(explorer, spec, 0),
                js_on_load=build_mount_script("mountGallery", "click"),
                **plain,
                elem_id="explore-gallery",
            )
            with gr.Column(elem_id="explore-bring", min_width=150):
                upload = gr.UploadButton("Upload a picture", size="md", elem_id="explore-upload", type="filepath")
                camera = build_mount_script("mountUploads")
                gr.HTML(read_elements("explore/camera.html"), js_on_load=camera, **plain, elem_id="explore-camera")
                more = gr.Button("More examples", size="md", elem_id="explore-more", **first.more)
                named = build_path_field() if explorer.local else None
                invited = gr.HTML(**first.invitation, **plain, elem_id="explore-invitation")
        with gr.Row(elem_id="explore-source"):
            chooser = gr.Dropdown(label="Checkpoint", filterable=False, elem_id="explore-chooser", **first.chooser)
            about = gr.HTML(**first.card, **plain, elem_id="explore-card")
    notice = gr.HTML(**first.notice, **plain, elem_id="explore-notice")
    problem = gr.HTML("", **plain, elem_id="explore-problem")
    mount = build_mount_script("mountExplore")
    view = gr.HTML(
        "", html_template=read_elements("explore/template.html"), js_on_load=mount, **plain,
        elem_id="explore-stage", elem_classes=place,
    )  # fmt: skip

    chosen = [session, view, examples, problem]
    panel_parts = [chooser, about, notice, invited, more]
    nothing, still = [gr.skip()] * len(chosen), [gr.skip()] * (1 + len(panel_parts))  # what stays as it is

    def show(
        request: PictureRequest, spec: str, where: Where, made: Session, sent: str, sentence: str = "", **extra: Any
    ) -> list[Any]:
        selected = where if isinstance(where, int) else None
        sent = push(
            sent, link=build_address(explorer, spec, where), request=request.describe(), example=selected, **extra
        )
        return [made, sent, draw_gallery(explorer, spec, selected), render_warning(sentence)]

    def show_problem(error: tn.TNetError) -> list[Any]:
        return [gr.skip(), gr.skip(), gr.skip(), render_problem(str(error))]

    def attempt(order: PageCalls, spec: str, where: Where, tell: Tell | None = None, click: object = None) -> list[Any]:
        """Open a picture under the checkpoint the page was at; change nothing if the page went elsewhere meanwhile.

        Whether it did is asked last, here and below: an answer that is still drawn would arrive after a later one.
        """
        picture_request = order.request_picture(spec, click)
        try:
            made, sent = explorer.open_picture(spec, where, tell, order.mode)
        except tn.TNetError as error:
            return show_problem(error) if order.reject(picture_request, spec) else nothing
        answer = show(picture_request, spec, where, made, sent)
        return answer if order.accept(picture_request, made, where) else nothing

    def on_load(order: PageCalls, request: gr.Request, progress: gr.Progress = PROGRESS) -> list[Any]:
        picture_request = order.request_checkpoint(explorer.landing)
        try:
            found = open_link(explorer, read_query(request), lambda what: progress(0, desc=what))
        except tn.TNetError as error:
            return [*still, *show_problem(error)]
        changes = [found.spec, *list_updates(found.panel)] if found.panel is not None else still
        shown = show(
            picture_request, found.spec, found.where, found.session, found.sent, found.wrong, restore=found.restore
        )
        if not order.accept(picture_request, found.session, found.where, found.spec):
            return [*still, *nothing]
        order.mode = found.session.mode
        return [*changes, *shown]

    def on_example(order: PageCalls, spec: str, event: gr.EventData, progress: gr.Progress = PROGRESS) -> list[Any]:
        """Open an example of the checkpoint that the page shows, which the server may have forgotten."""
        clicked = read_event(event)
        number, shown = clicked.get("example"), clicked.get("checkpoint")
        if number == "dive":
            return open_at(order, DIVE, explorer.find_deep_picture, spec, progress, opens="dive")
        shown = shown if isinstance(shown, str) and shown else spec
        made, *others = attempt(order, shown, number if type(number) is int else -1, click=clicked.get("click"))
        found = shown if shown != spec and isinstance(made, Session) else gr.skip()
        return [found, *still[1:], made, *others]

    def bring(order: PageCalls, where: str, target: Any, spec: str, progress: gr.Progress) -> list[Any]:
        """Open a picture under the checkpoint that the page's chooser names.

        That is another one than the server knows of where it is on its way, or where the server forgot the page.
        """
        if isinstance(target, str) and target != spec:
            return open_at(order, target, where, spec, progress)
        return [*still, *attempt(order, spec, where, lambda what: progress(0, desc=what))]

    def on_upload(order: PageCalls, target: Any, spec: str, file: str, progress: gr.Progress = PROGRESS) -> list[Any]:
        return bring(order, str(file), target, spec, progress)

    def on_named(
        order: PageCalls, target: Any, spec: str, path: Any, request: gr.Request, progress: gr.Progress = PROGRESS
    ) -> list[Any]:  # fmt: skip
        try:
            where = resolve_local_file(path, local=explorer.local and is_local_request(request))
        except tn.TNetError as error:
            return [*still, *show_problem(error)]
        return bring(order, where, target, spec, progress)

    def on_checkpoint(
        order: PageCalls, target: str, spec: str, session: Session | None, progress: gr.Progress = PROGRESS
    ) -> list[Any]:
        kept = None if session is None else session.where
        where: Where = kept if isinstance(kept, str) and Path(kept).is_file() else 0
        return open_at(order, target if isinstance(target, str) else "", where, spec, progress)

    def open_at(
        order: PageCalls,
        target: str,
        where: Where | Callable[[], Where],
        spec: str,
        progress: gr.Progress,
        **extra: Any,
    ) -> list[Any]:
        """Open a picture under another checkpoint than the one the page is at, or under the same.

        `where` may be what finds the picture. `opens` names a part of the stage that is opened with it.
        """
        progress(0, desc="Opening the checkpoint")
        picture_request = order.request_checkpoint(target)
        try:
            explorer.models.find_choice(target)
            new = explorer.build_panel(target)
            place: Where = where() if callable(where) else where
            progress(0.5, desc="Looking at the picture")
            made, sent = explorer.open_picture(target, place, mode=order.mode)
        except tn.TNetError as error:
            if not order.reject(picture_request, spec):
                return [*still, *nothing]
            return [gr.skip(), gr.update(value=spec), *still[2:], *show_problem(error)]
        answer = [target, *list_updates(new), *show(picture_request, target, place, made, sent, **extra)]
        return answer if order.accept(picture_request, made, place) else [*still, *nothing]

    def on_sample(
        order: PageCalls, session: Session | None, event: gr.EventData, progress: gr.Progress = PROGRESS
    ) -> list[Any]:
        """Cut the looks at the same picture from other pixels. Pictures after it are looked at in the same way."""

        def run(call: dict[str, Any]) -> list[Any]:
            current = require_session(session, SESSION_EXPIRED)
            current.check_scene(call.get("scene"))
            picture_request = order.request_picture(current.spec)
            mode = parse_mode(call.get("sampling"), call.get("levels"))
            try:
                made, sent = explorer.open_picture(
                    current.spec, current.where, lambda what: progress(0, desc=what), mode
                )
            except tn.TNetError:
                order.reject(picture_request, current.spec)
                raise
            link = build_address(explorer, current.spec, current.where)
            sent = add_fields(sent, link=link, request=picture_request.describe())
            if not order.accept(picture_request, made, current.where):
                raise tn.TNetError("Something else was chosen meanwhile.")
            order.mode = mode
            return [made, sent]

        return order.answer(event, run, states=1)

    def on_more(order: PageCalls, spec: str) -> list[Any]:
        try:
            explorer.fetch_more_pictures(spec)
        except tn.TNetError as error:
            return [gr.skip(), gr.skip(), render_problem(str(error)) if order.is_at(spec) else gr.skip()]
        if not order.is_at(spec):
            return [gr.skip()] * 3
        selected = order.where if isinstance(order.where, int) else None
        return [draw_gallery(explorer, spec, selected), gr.update(visible=False), ""]

    def on_steer(order: PageCalls, session: Session | None, event: gr.EventData) -> list[Any]:
        def run(call: dict[str, Any]) -> list[Any]:
            with order.steering:
                current = order.find_session(session)
                made, answer = explorer.steer(current, call)
                if made is current:
                    return [gr.skip(), answer]
                if not order.replace_session(current, made):
                    raise tn.TNetError(PICTURE_REPLACED)
            return [made, answer]

        return order.answer(event, run, states=1)

    def on_reopen(order: PageCalls, event: gr.EventData, progress: gr.Progress = PROGRESS) -> list[Any]:
        """Open what a page shows that the server has forgotten: the link that it would share names all of it."""

        def run(call: dict[str, Any]) -> list[Any]:
            parameters = parse_qsl(str(call.get("link", "")))
            if "example" not in dict(parameters):
                raise SessionExpiredError(UPLOAD_FORGOTTEN)
            before = order.spec
            picture_request = order.request_checkpoint(dict(parameters).get("checkpoint", explorer.default))
            try:
                found = open_link(explorer, parameters, lambda what: progress(0, desc=what))
            except tn.TNetError:
                order.reject(picture_request, before)
                raise
            link = build_address(explorer, found.spec, found.where)
            sent = add_fields(found.sent, link=link, restore=found.restore, wrong=found.wrong)
            if not order.accept(picture_request, found.session, found.where, found.spec):
                raise tn.TNetError("Something else was chosen meanwhile.")
            order.mode = found.session.mode
            return [found.spec, found.session, sent]

        return order.answer(event, run, states=2)

    def on_zoom(order: PageCalls, session: Session | None, event: gr.EventData) -> str:
        return order.answer(event, lambda call: [read_part(explorer, session, call)])[0]

    def on_take(order: PageCalls, session: Session | None, event: gr.EventData) -> str:
        return order.answer(event, lambda call: [read_file(explorer, session, call)])[0]

    # Traversals wait for one another in the explorer; what is known already need not wait for them.
    run: dict[str, Any] = {"concurrency_id": "explore", "concurrency_limit": MAX_PARALLEL_TRAVERSALS}
    wait: dict[str, Any] = {"show_progress": "minimal", "show_progress_on": [view], "api_visibility": "private"} | run
    demo.load(on_load, [order], [opened, *panel_parts, *chosen], **wait)
    # Of several quick clicks the last one counts: `order` sees to that. Gradio's own `always_last` repeats the first.
    examples.click(on_example, [order, opened], [opened, *panel_parts, *chosen], trigger_mode="multiple", **wait)
    read: dict[str, Any] = wait | {"show_progress": "full"}  # a large file takes seconds: what is done is told
    everything = [opened, *panel_parts, *chosen]
    upload.upload(on_upload, [order, chooser, opened, upload], everything, **read)
    if named is not None:
        named.submit(on_named, [order, chooser, opened, named], everything, preprocess=False, **read)
    chooser.input(
        on_checkpoint, [order, chooser, opened, session], [opened, *panel_parts, *chosen],
        preprocess=False, **wait | {"show_progress": "full"},  # unknown ones get our own sentence
    )  # fmt: skip
    quiet: dict[str, Any] = {"show_progress": "hidden", **CALL_OPTIONS}
    channel.steer(on_steer, [order, session], [session, channel], **run, **quiet)
    channel.reopen(on_reopen, [order], [opened, session, channel], **run, **quiet)
    channel.sample(on_sample, [order, session], [session, channel], **read | CALL_OPTIONS)
    channel.zoom(on_zoom, [order, session], channel, concurrency_limit=MAX_PARALLEL_PARTS, **quiet)
    channel.take(on_take, [order, session], channel, concurrency_limit=MAX_PARALLEL_FILES, **quiet)
    more.click(on_more, [order, opened], [examples, more, problem], show_progress="minimal",
               show_progress_on=[more], concurrency_limit=2, api_visibility="private")  # fmt: skip
    return Explored(opened, session, channel, order, [opened, *panel_parts, *chosen], open_at)


def build_path_field() -> gr.Textbox:
    """Build the field that names a file of the visitor's own computer: nothing of it is uploaded or copied."""
    hint = "or a file's path here, then Enter"
    return gr.Textbox(label="Open a file on this computer", placeholder=hint, max_lines=1, elem_id="explore-named")


def draw_gallery(explorer: Explorer, spec: str, selected: int | None) -> str:
    """Return the examples of a checkpoint as buttons."""
    return render_gallery(explorer.list_pictures(spec), selected, explorer.find_dive(spec), spec)


PROGRESS = gr.Progress(track_tqdm=True)  # downloads have a bar of their own


def list_updates(panel: CheckpointPanel) -> list[Any]:
    """Return the changes of the components, in the order of the fields, which is that of the page's outputs."""
    return [gr.update(**getattr(panel, field.name)) for field in fields(panel)]
