"""The stage on a page of its own: no server, no Gradio, a scene of any trace."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from playwright.sync_api import BrowserContext, Page

import tnet_core as tn
from tools.local_server import FINISHED
from viz.common.page import build_page_head
from viz.common.payload import PictureInfo
from viz.explore.page import build_explore_head, read_template
from viz.explore.payload import build_scene_payload
from viz.report.page import build_report_script

# What the server would be asked is kept for the test to read.
_MOUNT = """<script>
window.asked = [];
TNetStage.mount(document.querySelector('main'), {
  value: () => document.getElementById('sent').textContent, watch: () => {},
  steer: data => asked.push(data), take: data => asked.push(data) });
</script>"""


def scene(trace: tn.Trace, image: Any, title: str, **changes: Any) -> dict[str, Any]:
    """What the stage is sent, to be changed at will."""
    sent = json.loads(build_scene_payload(trace, tn.ImageSource.open(image), PictureInfo(title), trace.config.budget))
    return sent | changes


def staged(browser: BrowserContext, sent: dict[str, Any], folder: Path, width: int = 1440) -> Page:
    """A page that shows the scene; close it."""
    text = json.dumps(sent).replace("<", "\\u003c")
    head = build_page_head() + build_explore_head(build_report_script(read_template()))
    file = folder / "stage.html"
    file.write_text(
        f"<!doctype html><meta charset=utf-8>{head}<body class=gradio-container>"
        f"<main>{read_template()}</main><script type=application/json id=sent>{text}</script>{_MOUNT}",
        encoding="utf-8",
    )
    page = browser.new_page()
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(file.as_uri())
    page.wait_for_selector(FINISHED)
    return page
