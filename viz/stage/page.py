"""The stage as text for the page: its elements, its style and its code."""

from __future__ import annotations

from functools import cache
from pathlib import Path

_HERE = Path(__file__).parent
# Concatenated in this order inside one function, so that nothing of it is global but `TNetStage`.
_SCRIPTS = (
    "text", "scene", "state", "picture", "decision", "ledger", "looks", "levels", "curve", "steering", "transport",
    "stage",
)  # fmt: skip


@cache
def template() -> str:
    """The elements, empty. Holds no '${' and no '{{': Gradio would take them for its own."""
    return (_HERE / "template.html").read_text(encoding="utf-8")


def code(*names: str) -> str:
    """Parts of the code by name; others build on the arithmetic of 'scene' and the numbers of 'text'."""
    return "\n".join((_HERE / "js" / f"{name}.js").read_text(encoding="utf-8") for name in names)


@cache
def script() -> str:
    parts = code(*_SCRIPTS)
    return f'"use strict";\nwindow.TNetStage = (() => {{\n{parts}\nreturn {{ mount }};\n}})();\n'


@cache
def style() -> str:
    return (_HERE / "stage.css").read_text(encoding="utf-8")


def head() -> str:
    """For the document's head."""
    return f"<style>{style()}</style>\n<script>{script()}</script>"


def on_load() -> str:
    """What the component runs once: 'steer' is the one event it sends to the server."""
    return "TNetStage.mount(element, { value: () => props.value, watch, steer: data => trigger('steer', data) });"
