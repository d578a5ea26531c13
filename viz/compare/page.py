"""The tab as text for the page: its elements and its code."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from viz.stage.page import code

_HERE = Path(__file__).parent
# Concatenated in this order inside one function, after the parts of the stage they build on.
_STAGE = ("text", "scene", "picture")
_SCRIPTS = ("view", "chart", "column", "alike", "difference", "choices", "compare")


@cache
def template() -> str:
    """The elements, empty. Holds no '${' and no '{{': Gradio would take them for its own."""
    return (_HERE / "template.html").read_text(encoding="utf-8")


@cache
def script() -> str:
    own = "\n".join((_HERE / "js" / f"{name}.js").read_text(encoding="utf-8") for name in _SCRIPTS)
    return f'"use strict";\nwindow.TNetCompare = (() => {{\n{code(*_STAGE)}\n{own}\nreturn {{ mount }};\n}})();\n'


def head() -> str:
    """For the document's head."""
    return f"<script>{script()}</script>"


def on_load() -> str:
    """What the component runs once. It sends 'ask' for what is answered at once, 'look' where looks may be taken."""
    send = "{ ask: data => trigger('ask', data), look: data => trigger('look', data) }"
    return f"TNetCompare.mount(element, {{ value: () => props.value, watch, send: {send} }});"
