"""The Explore tab: choose a checkpoint and a picture, watch the network look."""

from __future__ import annotations

import itertools
import json
from dataclasses import fields
from pathlib import Path
from typing import Any, NamedTuple

import gradio as gr

import tnet_core as tn
from pages.explorer import Explorer, Session, Where
from viz import bring, fragments, stage
from viz.furniture import Furniture
from viz.gallery import gallery

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
    with gr.Row(elem_id="source"):
        chooser = gr.Dropdown(label="Checkpoint", filterable=False, elem_id="chooser", **first.chooser)
        about = gr.HTML(**first.card, **plain, elem_id="card")
    notice = gr.HTML(**first.notice, **plain, elem_id="notice")
    with gr.Row(elem_id="pick"):
        shelf = gr.HTML(gallery(explorer.pictures(spec), 0), js_on_load=REPORT_EXAMPLE, **plain, elem_id="gallery")
        with gr.Column(elem_id="bring", min_width=150):
            upload = gr.UploadButton("Upload a picture", size="md", elem_id="upload", type="filepath")
            gr.HTML(bring.template(), js_on_load=bring.ON_LOAD, **plain, elem_id="camera")
            more = gr.Button("More examples", size="md", elem_id="more", **first.more)
            invited = gr.HTML(**first.invitation, **plain, elem_id="invitation")
    problem = gr.HTML("", **plain, elem_id="problem")
    view = gr.HTML("", html_template=stage.template(), js_on_load=stage.on_load(), **plain, elem_id="stage")

    chosen = [session, view, shelf, problem]
    furnished = [chooser, about, notice, invited, more]

    def show(spec: str, where: Where) -> list[Any]:
        made, sent = explorer.open(spec, where)
        selected = where if isinstance(where, int) else None
        return [made, turn(sent), gallery(explorer.pictures(spec), selected), ""]

    def unchanged(error: tn.TNetError) -> list[Any]:
        return [gr.skip(), gr.skip(), gr.skip(), fragments.problem(str(error))]

    def attempt(spec: str, where: Where) -> list[Any]:
        try:
            return show(spec, where)
        except tn.TNetError as error:
            return unchanged(error)

    def on_load(spec: str) -> list[Any]:
        return attempt(spec, 0)

    def on_example(spec: str, event: gr.EventData) -> list[Any]:
        number = data_of(event).get("example")
        return attempt(spec, number if type(number) is int else -1)

    def on_upload(spec: str, file: str) -> list[Any]:
        return attempt(spec, str(file))

    def on_checkpoint(wanted: str, spec: str, session: Session | None, progress: gr.Progress = PROGRESS) -> list[Any]:
        progress(0, desc="Opening the checkpoint")
        try:
            explorer.shelf.choice(wanted if isinstance(wanted, str) else "")
            new = explorer.furniture(wanted)
            progress(0.5, desc="Looking at the picture")
            where = None if session is None else session.where
            result = show(wanted, where if isinstance(where, str) and Path(where).is_file() else 0)
        except tn.TNetError as error:
            return [gr.skip(), gr.update(value=spec), *[gr.skip()] * (len(furnished) - 1), *unchanged(error)]
        return [wanted, *(gr.update(**change) for change in parts(new)), *result]

    def on_more(spec: str, session: Session | None) -> list[Any]:
        try:
            explorer.fetch_more(spec)
        except tn.TNetError as error:
            return [gr.skip(), gr.skip(), fragments.problem(str(error))]
        selected = session.where if session is not None and isinstance(session.where, int) else None
        return [gallery(explorer.pictures(spec), selected), gr.update(visible=False), ""]

    def on_steer(session: Session | None, event: gr.EventData) -> list[Any]:
        try:
            made, sent = explorer.steer(session, data_of(event))
        except tn.TNetError as error:
            return [gr.skip(), turn(json.dumps({"kind": "problem", "sentence": str(error)}))]
        return [gr.skip() if made is session else made, turn(sent)]

    # Traversals wait for one another in the explorer; what is known already need not wait for them.
    run: dict[str, Any] = {"concurrency_id": "explore", "concurrency_limit": AT_ONCE, "api_visibility": "private"}
    wait: dict[str, Any] = {"show_progress": "minimal", "show_progress_on": [view]} | run
    demo.load(on_load, [opened], chosen, show_progress="hidden", **run)
    shelf.click(on_example, [opened], chosen, **wait)
    upload.upload(on_upload, [opened, upload], chosen, **wait)
    chooser.input(
        on_checkpoint, [chooser, opened, session], [opened, *furnished, *chosen],
        show_progress="full", show_progress_on=[view], preprocess=False, **run,  # unknown ones get our own sentence
    )  # fmt: skip
    view.steer(on_steer, [session], [session, view], show_progress="hidden", trigger_mode="multiple", **run)
    more.click(on_more, [opened, session], [shelf, more, problem], show_progress="minimal",
               show_progress_on=[more], concurrency_limit=2, api_visibility="private")  # fmt: skip
    return Explored(opened, session)


PROGRESS = gr.Progress(track_tqdm=True)  # downloads have a bar of their own


def turn(sent: str) -> str:
    """The same text twice would not reach the page a second time."""
    return f'{sent[:-1]},"turn":{next(_turns)}}}'


def data_of(event: gr.EventData) -> dict[str, Any]:
    """What the browser sent along; anything may have been."""
    data = getattr(event, "_data", None)
    return data if isinstance(data, dict) else {}


def parts(shown: Furniture) -> list[Any]:
    """The fields, in their order, which is that of the page's outputs."""
    return [getattr(shown, field.name) for field in fields(shown)]
