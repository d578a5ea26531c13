"""The documentation's search without a server: what docs/assets/iframe-worker.js does in place of a worker."""

from __future__ import annotations

import shutil
from pathlib import Path

from playwright.sync_api import BrowserContext, expect

from tests.browser.conftest import ROOT

PAGE = """<!doctype html><title>page</title><script src="iframe-worker.js"></script><body><p></p><script>
const worker = new Worker("worker.js");
worker.addEventListener("message", event => (document.querySelector("p").textContent = event.data));
worker.postMessage("asked");
</script>"""
WORKER = """addEventListener("message", async event => {
  await importScripts("more.js");
  postMessage(`${event.data} and ${answered}`);
});"""


def test_a_page_opened_from_a_folder_has_a_worker_that_answers(tmp_path: Path, browser: BrowserContext) -> None:
    shutil.copy(ROOT / "docs" / "assets" / "iframe-worker.js", tmp_path)
    for name, text in (("page.html", PAGE), ("worker.js", WORKER), ("more.js", "var answered = 'answered';")):
        (tmp_path / name).write_text(text, encoding="utf-8")
    page = browser.new_page()
    page.goto((tmp_path / "page.html").as_uri())
    expect(page.locator("p")).to_have_text("asked and answered")
    page.close()
