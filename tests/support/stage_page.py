"""The stage on a page of its own: no server, no Gradio, a scene of any trace."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from playwright.sync_api import BrowserContext, Page

import tnet_core as tn
from tools.local_server import FINISHED
from viz.common.page import build_page_head
from viz.common.payload import PictureInfo
from viz.common.templates import read_elements
from viz.explore.payload import build_scene_payload
from viz.report.page import build_report_parts
from viz.web.join import join_modules, read_modules

# What the server would be asked is kept for the test to read.
_MOUNT = """<script>
window.asked = [];
const parts = JSON.parse(document.getElementById('parts').textContent);
TNetStage.mountStage(document.querySelector('main'), {
  value: () => document.getElementById('sent').textContent, watch: () => {}, isAlone: ALONE,
  call: async (name, data) => data.what === 'report' ? parts : new Promise(() => asked.push(data)) });
</script>"""
_ENTRY = """export { mountStage } from "./explore/stage.js";
export { openCalls } from "./core/rpc.js";
"""


def stage_script() -> str:
    """The stage without a server to load it from: `TNetStage.mountStage`, and `openCalls` for its calls."""
    return f"<script>{join_modules('test.js', 'TNetStage', read_modules() | {'test.js': _ENTRY})}</script>"


def scene(trace: tn.Trace, image: Any, title: str, **changes: Any) -> dict[str, Any]:
    """What the stage is sent, to be changed at will."""
    sent = json.loads(build_scene_payload(trace, tn.ImageSource.open(image), PictureInfo(title), trace.config.budget))
    return sent | changes


def staged(
    browser: BrowserContext, sent: dict[str, Any], folder: Path, width: int = 1440, *, alone: bool = False
) -> Page:
    """A page that shows the scene; close it."""
    text = json.dumps(sent).replace("<", "\\u003c")
    style = re.search(r"<style>.*</style>", build_page_head(), re.DOTALL)
    assert style is not None
    parts = json.dumps(build_report_parts()).replace("<", "\\u003c")
    file = folder / "stage.html"
    file.write_text(
        f"<!doctype html><meta charset=utf-8>{style[0]}{stage_script()}<body class=gradio-container>"
        f"<main>{read_elements('explore/template.html')}</main><script type=application/json id=sent>{text}</script>"
        f"<script type=application/json id=parts>{parts}</script>{_MOUNT.replace('ALONE', json.dumps(alone))}",
        encoding="utf-8",
    )
    page = browser.new_page()
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(file.as_uri())
    page.wait_for_selector(FINISHED)
    return page
