"""The Explore tab: choose a checkpoint and a picture, watch the network look."""

from __future__ import annotations

import itertools
import json
from dataclasses import fields
from pathlib import Path
from typing import Any, NamedTuple

import gradio as gr

import tnet_core as tn
from pages.explore.export import export
from pages.explore.open_link import address, arrive
from pages.explore.service import LEFT_ALONE, Explorer, Session, Tell, Where
from pages.explore.zoom import zoom
from pages.sampling import wanted as mode_wanted
from pages.server.access import named_file
from pages.server.here import asked_here
from pages.server.sessions import Turns
from viz import stage
from viz.common import fragments
from viz.explore import bring
from viz.explore.checkpoint import CheckpointPanel
from viz.explore.gallery import render_gallery

SESSION_SECONDS = 3600  # a page that is left alone this long is forgotten
AT_ONCE = 8  # requests that are answered, or wait for a traversal, at the same time

# A click on an example reports its number.
REPORT_EXAMPLE = """element.addEventListener('click', event => {
  const button = event.target.closest('[data-example]');
  if (button) trigger('click', {example: Number(button.dataset.example)});
});"""

_turns = itertools.count()


class Explored(NamedTuple):
    """What the other tabs ask about: the checkpoint that is open, and the picture that was looked at."""

    opened: gr.State  # spec of the checkpoint
    session: gr.State  # `Session`, None until a picture was traversed


def explore(explorer: Explorer, demo: gr.Blocks) -> Explored:
    """Builds the tab's content in the current context. No picture is looked at until a browser asks."""
    spec = explorer.landing
    first = explorer.furniture(spec)
    plain: dict[str, Any] = {"apply_default_css": False}
    opened = gr.State(spec)
    session = gr.State(time_to_live=SESSION_SECONDS)
    turns = gr.State(Turns())
    with gr.Row(elem_id="source"):
        chooser = gr.Dropdown(label="Checkpoint", filterable=False, elem_id="chooser", **first.chooser)
        about = gr.HTML(**first.card, **plain, elem_id="card")
    notice = gr.HTML(**first.notice, **plain, elem_id="notice")
    with gr.Row(elem_id="pick"):
        shelf = gr.HTML(
            render_gallery(explorer.pictures(spec), 0), js_on_load=REPORT_EXAMPLE, **plain, elem_id="gallery"
        )
        with gr.Column(elem_id="bring", min_width=150):
            upload = gr.UploadButton("Upload a picture", size="md", elem_id="upload", type="filepath")
            gr.HTML(bring.template(), js_on_load=bring.ON_LOAD, **plain, elem_id="camera")
            more = gr.Button("More examples", size="md", elem_id="more", **first.more)
            invited = gr.HTML(**first.invitation, **plain, elem_id="invitation")
        named = named_field() if explorer.local else None
    problem = gr.HTML("", **plain, elem_id="problem")
    view = gr.HTML("", html_template=stage.template(), js_on_load=stage.on_load(), **plain, elem_id="stage")

    chosen = [session, view, shelf, problem]
    furnished = [chooser, about, notice, invited, more]
    nothing, still = [gr.skip()] * len(chosen), [gr.skip()] * (1 + len(furnished))  # what stays as it is

    def shown(spec: str, where: Where, made: Session, sent: str, sentence: str = "", **extra: Any) -> list[Any]:
        selected = where if isinstance(where, int) else None
        sent = turn(sent, link=address(explorer, spec, where), **extra)
        return [made, sent, render_gallery(explorer.pictures(spec), selected), fragments.warning(sentence)]

    def unchanged(error: tn.TNetError) -> list[Any]:
        return [gr.skip(), gr.skip(), gr.skip(), fragments.problem(str(error))]

    def attempt(turns: Turns, spec: str, where: Where, tell: Tell | None = None) -> list[Any]:
        """A picture under the checkpoint the page was at; nothing, if the page went elsewhere meanwhile."""
        wish = turns.picture(spec)
        try:
            made, sent = explorer.open(spec, where, tell, turns.mode)
        except tn.TNetError as error:
            return unchanged(error) if turns.refuse(wish, spec) else nothing
        return shown(spec, where, made, sent) if turns.grant(wish, made.scene, where) else nothing

    def on_load(turns: Turns, request: gr.Request, progress: gr.Progress = PROGRESS) -> list[Any]:
        wish = turns.checkpoint(explorer.landing)
        try:
            found = arrive(explorer, parameters(request), lambda what: progress(0, desc=what))
        except tn.TNetError as error:
            return [*still, *unchanged(error)]
        if not turns.grant(wish, found.session.scene, found.where, found.spec):
            return [*still, *nothing]
        turns.mode = found.session.mode
        changes = [found.spec, *parts(found.furniture)] if found.furniture is not None else still
        return [
            *changes,
            *shown(found.spec, found.where, found.session, found.sent, found.wrong, restore=found.restore),
        ]

    def on_example(turns: Turns, spec: str, event: gr.EventData) -> list[Any]:
        number = data_of(event).get("example")
        return attempt(turns, spec, number if type(number) is int else -1)

    def on_upload(turns: Turns, spec: str, file: str, progress: gr.Progress = PROGRESS) -> list[Any]:
        return attempt(turns, spec, str(file), lambda what: progress(0, desc=what))

    def on_named(
        turns: Turns, spec: str, path: Any, request: gr.Request, progress: gr.Progress = PROGRESS
    ) -> list[Any]:
        try:
            where = named_file(path, local=explorer.local and asked_here(request))
        except tn.TNetError as error:
            return unchanged(error)
        return attempt(turns, spec, where, lambda what: progress(0, desc=what))

    def on_checkpoint(
        turns: Turns, wanted: str, spec: str, session: Session | None, progress: gr.Progress = PROGRESS
    ) -> list[Any]:
        progress(0, desc="Opening the checkpoint")
        wanted = wanted if isinstance(wanted, str) else ""
        wish = turns.checkpoint(wanted)
        try:
            explorer.shelf.choice(wanted)
            new = explorer.furniture(wanted)
            progress(0.5, desc="Looking at the picture")
            kept = None if session is None else session.where
            where: Where = kept if isinstance(kept, str) and Path(kept).is_file() else 0
            made, sent = explorer.open(wanted, where, mode=turns.mode)
        except tn.TNetError as error:
            if not turns.refuse(wish, spec):
                return [*still, *nothing]
            return [gr.skip(), gr.update(value=spec), *still[2:], *unchanged(error)]
        if not turns.grant(wish, made.scene, where):
            return [*still, *nothing]
        return [wanted, *parts(new), *shown(wanted, where, made, sent)]

    def on_sample(
        turns: Turns, session: Session | None, event: gr.EventData, progress: gr.Progress = PROGRESS
    ) -> list[Any]:
        """The same picture, its looks cut from other pixels. Pictures after it are looked at in the same way."""
        asked = data_of(event)
        spec = "" if session is None else session.spec
        wish = turns.picture(spec)
        try:
            if session is None:
                raise tn.TNetError(LEFT_ALONE)
            session.check(asked.get("scene"))
            mode = mode_wanted(asked.get("sampling"), asked.get("levels"))
            made, sent = explorer.open(spec, session.where, lambda what: progress(0, desc=what), mode)
        except tn.TNetError as error:
            refused = turn(json.dumps({"kind": "refused", "sentence": str(error)}))
            return [gr.skip(), refused, gr.skip(), gr.skip()] if turns.refuse(wish, spec) else nothing
        if not turns.grant(wish, made.scene, session.where):
            return nothing
        turns.mode = mode
        return shown(spec, session.where, made, sent, again=True)

    def on_more(turns: Turns, spec: str) -> list[Any]:
        try:
            explorer.fetch_more(spec)
        except tn.TNetError as error:
            return [gr.skip(), gr.skip(), fragments.problem(str(error)) if turns.wants(spec) else gr.skip()]
        if not turns.wants(spec):
            return [gr.skip()] * 3
        selected = turns.where if isinstance(turns.where, int) else None
        return [render_gallery(explorer.pictures(spec), selected), gr.update(visible=False), ""]

    def on_steer(turns: Turns, session: Session | None, event: gr.EventData) -> list[Any]:
        asked = data_of(event)
        echo = {name: asked[name] for name in ("scene", "ticket") if type(asked.get(name)) is int}
        try:
            made, sent = explorer.steer(session, asked)
            if session is not None and not turns.steer(session.scene, made.scene):
                raise tn.TNetError("Something else was asked for meanwhile: choose the cell again.")
        except tn.TNetError as error:
            return [gr.skip(), turn(json.dumps({"kind": "problem", "sentence": str(error)}), answers=echo)]
        return [gr.skip() if made is session else made, turn(sent, answers=echo)]

    # Traversals wait for one another in the explorer; what is known already need not wait for them.
    run: dict[str, Any] = {"concurrency_id": "explore", "concurrency_limit": AT_ONCE, "api_visibility": "private"}
    wait: dict[str, Any] = {"show_progress": "minimal", "show_progress_on": [view]} | run
    demo.load(on_load, [turns], [opened, *furnished, *chosen], **wait)
    # Of several quick clicks the last one counts: `turns` sees to that. Gradio's own `always_last` repeats the first.
    shelf.click(on_example, [turns, opened], chosen, trigger_mode="multiple", **wait)
    read: dict[str, Any] = wait | {"show_progress": "full"}  # a large file takes seconds: what is done is told
    upload.upload(on_upload, [turns, opened, upload], chosen, **read)
    if named is not None:
        named.submit(on_named, [turns, opened, named], chosen, preprocess=False, **read)
    chooser.input(
        on_checkpoint, [turns, chooser, opened, session], [opened, *furnished, *chosen],
        show_progress="full", show_progress_on=[view], preprocess=False, **run,  # unknown ones get our own sentence
    )  # fmt: skip
    view.steer(on_steer, [turns, session], [session, view], show_progress="hidden", trigger_mode="multiple", **run)
    view.sample(on_sample, [turns, session], chosen, trigger_mode="multiple", **read)
    more.click(on_more, [turns, opened], [shelf, more, problem], show_progress="minimal",
               show_progress_on=[more], concurrency_limit=2, api_visibility="private")  # fmt: skip
    export(explorer, view, session)
    zoom(explorer, view, session)
    return Explored(opened, session)


def named_field() -> gr.Textbox:
    """For a file of the visitor's own computer: nothing of it is uploaded or copied."""
    told = "its path, then Enter; a TIFF, JPEG or PNG of any size"
    return gr.Textbox(label="Open a file on this computer", placeholder=told, max_lines=1, elem_id="named")


PROGRESS = gr.Progress(track_tqdm=True)  # downloads have a bar of their own


def turn(sent: str, **extra: Any) -> str:
    """What the stage is sent, with more fields. The same text twice would not reach the page a second time."""
    more = json.dumps(extra | {"turn": next(_turns)}, separators=(",", ":"))
    return f"{sent[:-1]},{more[1:]}"


def data_of(event: gr.EventData) -> dict[str, Any]:
    """What the browser sent along; anything may have been."""
    data = getattr(event, "_data", None)
    return data if isinstance(data, dict) else {}


def parameters(request: gr.Request | None) -> list[tuple[str, str]]:
    """Of the page's address, those that are given twice included."""
    found = getattr(request, "query_params", {})
    return list(found.multi_items() if hasattr(found, "multi_items") else found.items())


def parts(shown: CheckpointPanel) -> list[Any]:
    """Changes of the components, in the order of the fields, which is that of the page's outputs."""
    return [gr.update(**getattr(shown, field.name)) for field in fields(shown)]
