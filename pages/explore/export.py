"""What only the server can make: the trace of what is on the page, the picture's own file and its hash."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gradio as gr
import numpy as np

import tnet_core as tn
from pages.explore.service import LEFT_ALONE, Explorer, Session
from pages.server.rpc import answered
from viz import stage
from viz.report.original import original

_AT_ONCE = 2


def export(explorer: Explorer, view: gr.HTML, session: gr.State) -> None:
    """Answers the stage when it asks for a file; the answer is made into one in the browser."""
    taken = gr.HTML("", html_template="<i></i>", js_on_load=stage.on_file(), apply_default_css=False, elem_id="taken")

    def on_take(session: Session | None, event: gr.EventData) -> str:
        return answered(event, lambda asked: file_of(explorer, session, asked))

    view.take(on_take, [session], [taken], show_progress="hidden", concurrency_limit=_AT_ONCE, api_visibility="private")


def file_of(explorer: Explorer, session: Session | None, asked: Any) -> dict[str, Any]:
    """The file that `asked` means, of the scene it was asked from."""
    if session is None:
        raise tn.TNetError(LEFT_ALONE)
    wanted = asked if isinstance(asked, dict) else {}
    session.check(wanted.get("scene"))
    if wanted.get("what") == "trace":
        return {"kind": "file", "text": session.trace.to_json()}
    if wanted.get("what") == "sha256":  # of a large file: a report names it, the page itself does not need it
        return {"kind": "file", "text": session.trace.image.sha256}
    if wanted.get("what") == "original":
        return original(_place(explorer, session))
    raise tn.TNetError("There is no such file to take.")


def _place(explorer: Explorer, session: Session) -> Path | np.ndarray:
    if isinstance(session.where, int):
        return explorer.pictures(session.spec)[session.where].open()
    if not Path(session.where).is_file():
        raise tn.TNetError("This picture is not here any more: choose or upload it again.")
    return Path(session.where)
