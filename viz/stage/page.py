"""The stage as text for the page: its elements, its style and its code."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from viz import report

_HERE = Path(__file__).parent
# Concatenated in this order inside one function, so that nothing of it is global but `TNetStage`.
_SCRIPTS = (
    "text", "scene", "state", "picture", "decision", "ledger", "looks", "levels", "curve", "cut", "steering",
    "transport", "focus", "link", "svg_boxes", "svg_text", "svg", "files", "export", "tiles", "zoom", "stage",
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
    parts = code(*_SCRIPTS) + report.script(template())
    offered = "mount, receiveFiles, receiveParts, openReport"
    return f'"use strict";\nwindow.TNetStage = (() => {{\n{parts}\nreturn {{ {offered} }};\n}})();\n'


@cache
def style() -> str:
    return "\n".join((_HERE / name).read_text(encoding="utf-8") for name in ("stage.css", "export.css", "zoom.css"))


def head() -> str:
    """For the document's head. The report takes its style and code from there."""
    return f'<style id="tn-stage-style">{style()}</style>\n<script id="tn-stage-script">{script()}</script>'


def on_load() -> str:
    """What the component runs once: 'steer', 'take', 'zoom' and 'sample' are the events it sends to the server."""
    asked = ", ".join(f"{name}: data => trigger('{name}', data)" for name in ("steer", "take", "zoom", "sample"))
    return f"TNetStage.mount(element, {{ value: () => props.value, watch, {asked} }});"


def on_file() -> str:
    """What the component does that files from the server arrive in."""
    return "TNetStage.receiveFiles({ value: () => props.value, watch });"


def on_part() -> str:
    """What the component does that parts of the picture arrive in."""
    return "TNetStage.receiveParts({ value: () => props.value, watch });"
