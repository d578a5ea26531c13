"""The tab as text for the page: its elements and its code."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from viz.common.page import read_scripts, read_shared_scripts

_FOLDER = Path(__file__).parent
# Concatenated in this order inside one function, after the shared parts they build on.
_SHARED_SCRIPTS = ("requests", "text", "scene", "picture")
_SCRIPTS = ("view", "chart", "column", "alike", "difference", "choices", "compare")


@cache
def read_template() -> str:
    """Return the elements, empty. They hold no '${' and no '{{': Gradio would take them for its own."""
    return (_FOLDER / "template.html").read_text(encoding="utf-8")


@cache
def build_script() -> str:
    parts = "\n".join((read_shared_scripts(*_SHARED_SCRIPTS), read_scripts(_FOLDER / "js", *_SCRIPTS)))
    return f'"use strict";\nwindow.TNetCompare = (() => {{\n{parts}\nreturn {{ mount }};\n}})();\n'


def build_compare_head() -> str:
    """Return the code for the document's head."""
    return f"<script>{build_script()}</script>"


def build_load_script() -> str:
    """Return what the component runs once; it sends 'ask' for quick answers, 'look' where looks may be taken."""
    send = "{ ask: data => trigger('ask', data), look: data => trigger('look', data) }"
    return f"TNetCompare.mount(element, {{ value: () => props.value, watch, send: {send} }});"
