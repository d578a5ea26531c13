"""The tab 'What if': wiring only. `pages.what_if.service` checks and answers questions, `viz.what_if` draws."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import gradio as gr
from gradio.context import get_render_context

import tnet_core as tn
from pages.explore.service import Explorer
from pages.explore.tab import PROGRESS, Explored
from pages.limits import MAX_PARALLEL_TRAVERSALS
from pages.refresh import build_timer, restart_timer
from pages.server.rpc import CALL_OPTIONS, PageCalls, read_query
from pages.server.sessions import SESSION_SECONDS, Session, require_session
from pages.what_if.change import KINDS, SCALES, Change, parse_change
from pages.what_if.service import Experimenter, OriginalPicture
from viz.common.page import render_problem, render_warning
from viz.web.modules import build_mount_script
from viz.what_if.page import render_experiment, render_intro, render_nothing

FIRST = "paste"  # what is tried first: mirrored, the content of a centred look would not move


def choose_first(original: OriginalPicture, linked: Mapping[str, str]) -> tuple[Change, str]:
    """Return the change that a picture is opened with, and a warning where a link asks for one that cannot be made."""
    source, target = original.first_paste
    first = Change(FIRST, source=source, target=target)
    try:
        return parse_change(linked, original.grid) or first, ""
    except tn.TNetError as error:
        return first, render_warning(f"The link could not be followed: {error}")


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
        view = gr.HTML("", js_on_load=build_mount_script("mountWhatIf"), **plain, elem_id="what-if-view")

    settings: list[Any] = [kind, x, y, scale, source, target]
    owners = {"shift": (x, y), "scale": (scale,), "paste": (source, target)}  # which fields belong to which change

    def show_fields(now: str) -> list[Any]:
        """Return which fields are to be seen."""
        return [gr.update(visible=field in owners.get(now, ())) for field in settings[1:]]

    def on_open(
        session: Session | None, before: OriginalPicture | None, pause: Any, request: gr.Request,
        progress: gr.Progress = PROGRESS,
    ) -> list[Any]:  # fmt: skip
        linked = dict(read_query(request)) if before is None else {}  # a link names the first change
        return [*follow(session, before, progress, linked), restart_timer(session, pause)]

    def follow(
        session: Session | None, before: OriginalPicture | None, progress: gr.Progress,
        linked: Mapping[str, str] = MappingProxyType({}),
    ) -> list[Any]:  # fmt: skip
        """Show what is explored; where that is as before, the tab is as it was left."""
        if before is not None and before.session is session:
            return [gr.skip()] * (3 + len(settings))
        progress(0, desc="Looking at the picture")
        try:
            now = experimenter.open_original(session)
            change, problem = choose_first(now, linked)
            found = experimenter.run(now, change, lambda doing: progress(0.5, desc=doing))
        except tn.TNetError as error:
            return [None, *[gr.update(visible=False)] * len(settings), "", render_nothing(str(error))]
        most, cells, kind = now.grid - 1, now.list_cells(), change.kind
        copy, onto = found.copied or now.first_paste
        right, down = (change.x, change.y) if kind == "shift" else (1, 0)
        return [
            now,
            gr.update(value=kind, visible=True),
            gr.update(minimum=-most, maximum=most, value=right, visible=kind == "shift"),
            gr.update(minimum=-most, maximum=most, value=down, visible=kind == "shift"),
            gr.update(value=change.scale if kind == "scale" else 160, visible=kind == "scale"),
            gr.update(choices=cells, value=copy, visible=kind == "paste"),
            gr.update(choices=cells, value=onto, visible=kind == "paste"),
            problem,
            render_experiment(found),
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
            return [*[gr.skip()] * (1 + len(settings)), render_problem(str(error)), gr.skip()]
        return [gr.skip(), gr.skip(), *show_fields(kind), "", render_experiment(found)]

    def on_drop(
        calls: PageCalls, session: Session | None, before: OriginalPicture | None, event: gr.EventData
    ) -> list[Any]:
        """Put a part of the picture where it was dropped."""

        def run_drop(given: dict[str, Any]) -> list[Any]:
            if before is None or before.session is not require_session(session):
                raise tn.TNetError("Another picture was chosen meanwhile: drag a part of that one.")
            place = given.get("place")
            change = Change("paste", source=given.get("source"), target=place if isinstance(place, list) else [])
            found = experimenter.run(before, change)
            assert found.copied is not None
            copy, onto = found.copied
            fields = [gr.update(visible=False)] * 3
            cells = [gr.update(value=copy, visible=True), gr.update(value=onto, visible=True)]
            return [gr.skip(), "paste", *fields, *cells, "", render_experiment(found), {"done": True}]

        return calls.answer(event, run_drop, states=len(made))

    made = [known, *settings, noted, view]
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
    for control in settings:
        control.input(on_change, [session, known, *settings], made, **run)
    explored.channel.drop(
        on_drop, [explored.calls, session, known], [*made, explored.channel], show_progress="hidden",
        concurrency_id="what-if", concurrency_limit=MAX_PARALLEL_TRAVERSALS, **CALL_OPTIONS,
    )  # fmt: skip
    return timer
