"""Visits of the page as it is shipped, by somebody whose system allows motion or does not."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import BrowserContext, Page

import tnet_core as tn
from tests.browser.landing.visit import Open, traverse_example
from tools.local_server import FINISHED

SHIFTS = """window.shifted = 0;
new PerformanceObserver(list => {
  for (const entry of list.getEntries()) if (!entry.hadRecentInput) shifted += entry.value;
}).observe({ type: "layout-shift", buffered: true });"""


@pytest.fixture
def arrive(shipped: str, browser: BrowserContext) -> Iterator[Open]:
    """Opens pages as somebody does whose system allows motion, or does not; they share the browser's cache."""
    opened: list[Page] = []

    def open_page(query: str = "", width: int = 1440, height: int = 900, motion: bool = True) -> Page:
        page = browser.new_page()
        opened.append(page)
        page.set_viewport_size({"width": width, "height": height})
        page.emulate_media(reduced_motion="no-preference" if motion else "reduce")
        page.add_init_script(SHIFTS)
        page.goto(f"{shipped}/?{query}")
        page.wait_for_selector(FINISHED, timeout=60_000)
        return page

    yield open_page
    for page in opened:
        page.close()


@pytest.fixture(scope="session")
def dogs() -> tn.Trace:
    return traverse_example("dogs.jpg")
