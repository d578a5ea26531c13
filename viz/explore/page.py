"""The tab as text for the page: its elements, its style and its code, and those for pictures that a visitor brings.

Pasted, dropped or photographed pictures all go through the page's upload button.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from viz.common.page import read_scripts, read_shared_scripts

_FOLDER = Path(__file__).parent
# Concatenated in this order inside one function, so that nothing of it is global but `TNetStage`.
_SHARED_SCRIPTS = ("requests", "text", "scene", "picture")
_SCRIPTS = (
    "state", "decision", "ledger", "looks", "levels", "curve", "sampling", "steering", "playback", "focus", "link",
    "svg_boxes", "svg_text", "svg", "ledger_csv", "export", "tiles", "zoom", "stage",
)  # fmt: skip
UPLOAD_LOAD_SCRIPT = "TNetBring.mount(element);"


@cache
def read_template() -> str:
    """Return the elements, empty. They hold no '${' and no '{{': Gradio would take them for its own."""
    return (_FOLDER / "template.html").read_text(encoding="utf-8")


def read_camera_template() -> str:
    return (_FOLDER / "camera.html").read_text(encoding="utf-8")


def build_script(report_script: str) -> str:
    """Return the tab's code as one script; the report is put together by its own, which shares the functions here."""
    parts = "\n".join((read_shared_scripts(*_SHARED_SCRIPTS), read_scripts(_FOLDER / "js", *_SCRIPTS), report_script))
    offered = "mount, receiveFiles, receiveParts, openReport"
    return f'"use strict";\nwindow.TNetStage = (() => {{\n{parts}\nreturn {{ {offered} }};\n}})();\n'


@cache
def read_style() -> str:
    return "\n".join((_FOLDER / name).read_text(encoding="utf-8") for name in ("explore.css", "export.css", "zoom.css"))


def build_explore_head(report_script: str) -> str:
    """Return style and code for the document's head. The report takes its own from there."""
    script = build_script(report_script)
    return f'<style id="tn-stage-style">{read_style()}</style>\n<script id="tn-stage-script">{script}</script>'


def build_upload_head() -> str:
    """Return the code for pictures that a visitor brings, for the document's head."""
    return f"<script>{read_scripts(_FOLDER / 'js', 'uploads')}</script>"


def build_load_script() -> str:
    """Return what the component runs once; 'steer', 'take', 'zoom' and 'sample' are the events it sends."""
    asked = ", ".join(f"{name}: data => trigger('{name}', data)" for name in ("steer", "take", "zoom", "sample"))
    return f"TNetStage.mount(element, {{ value: () => props.value, watch, {asked} }});"


def build_file_script() -> str:
    """Return what the component does that files from the server arrive in."""
    return "TNetStage.receiveFiles({ value: () => props.value, watch });"


def build_part_script() -> str:
    """Return what the component does that parts of the picture arrive in."""
    return "TNetStage.receiveParts({ value: () => props.value, watch });"
