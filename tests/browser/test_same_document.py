"""Nothing on the page that is not meant to leave it loses the visitor's work: the document and the picture stay."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from playwright.sync_api import Page, expect

from tests.support.models import picture

Visit = Callable[..., Page]
NAME = "my-own-picture.png"
# What shows that a tab has arrived at the uploaded picture, or is complete without one.
TABS = {
    "Explore": ".tn-look:visible",
    "Compare": ".compare-constant",
    "Audit": ".audit-card svg",
    "What if": "#what-if-view h2",
    "Accuracy vs locations": "#accuracy-chart svg [data-curve]",
    "Your data": "#your-data-start",
}
# Meant to leave: other documents, other pictures.
LEAVING = "a[target], a[href^=http], [data-example], [role=tab], .tab-wrapper *"
# Clicks the next thing that was not clicked yet, and says what it was; null when there is none.
CLICK_NEXT = """async leaving => {
  window.clicked ??= new Set();
  const changing = ['lift', 'look', 'rank'];
  const keyOf = e => [e.tagName, e.id, e.closest('[data-parent]')?.dataset.parent ?? '',
    Object.entries(e.dataset).filter(([name]) => !changing.includes(name)).join(),
    Object.keys(e.dataset).length ? '' : (e.ariaLabel ?? e.textContent).trim(),
    e.closest('tr')?.dataset.name ?? ''].join('|');
  for (const e of document.querySelectorAll('a, button, summary, [role=button], [role=link]')) {
    if (!e.getClientRects().length || e.matches(leaving) || window.clicked.has(keyOf(e))) continue;
    window.clicked.add(keyOf(e));
    const key = keyOf(e);
    e.click();
    await new Promise(done => setTimeout(done, 30));  // a document that goes, goes now
    return key;
  }
  return null; }"""


@pytest.fixture(scope="module")
def server(birds_first: str) -> str:
    return birds_first


def standing(page: Page) -> dict[str, Any]:
    """Whether this is the document that was marked, and which picture it shows."""
    return page.evaluate(
        """() => ({ marked: window.marked === true,
          tab: document.querySelector('[role=tab][aria-selected=true]')?.textContent.trim(),
          picture: document.querySelector("#explore-stage .tn-picture figcaption")?.textContent ?? '' })"""
    )


@pytest.mark.parametrize("width", [1440, 390])
def test_no_link_and_no_button_loses_an_uploaded_picture(visit: Visit, tmp_path: Path, width: int) -> None:
    page = visit(width=width, height=844)
    Image.fromarray(picture(300, 400, seed=5)).save(tmp_path / NAME)
    page.set_input_files("#explore-pick input[type=file]", tmp_path / NAME)
    expect(page.locator("#explore-stage .tn-picture figcaption")).to_contain_text(NAME)
    page.evaluate("window.marked = true")
    loads: list[str] = []
    page.on("domcontentloaded", lambda loaded: loads.append(loaded.url))
    page.on("filechooser", lambda _: None)  # a visitor who changes their mind
    counts = {}
    for tab, complete in TABS.items():
        page.get_by_role("tab", name=tab).first.click()
        expect(page.locator(complete).first).to_be_visible()
        count, key = 0, None
        while (key := page.evaluate(CLICK_NEXT, LEAVING)) is not None:
            now = standing(page)
            assert now["marked"] and loads == [] and now["tab"] == tab, f"{key} on {tab} leaves the page"
            assert NAME in now["picture"], f"{key} on {tab} loses the picture"
            page.keyboard.press("Escape")  # what opened over the page
            count += 1
        counts[tab] = count
    page.wait_for_timeout(500)
    page.get_by_role("tab", name="Explore").first.click()
    expect(page.locator("#explore-stage .tn-picture figcaption")).to_contain_text(NAME)
    assert standing(page)["marked"] and loads == []
    assert counts["Explore"] > 50 and counts["Audit"] > 15 and min(counts.values()) > 0, counts


@pytest.mark.parametrize(
    ("tab", "name", "target", "width"),
    [
        ("Accuracy vs locations", "Choose other curves", "#accuracy-curves", 390),
    ],
)
def test_a_way_to_another_part_of_the_page_scrolls_there(
    visit: Visit, tab: str, name: str, target: str, width: int
) -> None:
    page = visit(width=width, height=844)
    page.get_by_role("tab", name=tab).first.click()
    expect(page.locator(TABS[tab]).first).to_be_visible()
    page.wait_for_function("location.search.includes('tab=')")  # the address names the open tab
    before = page.url
    page.get_by_role("button", name=name).focus()
    page.keyboard.press("Enter")
    expect(page.locator(target)).to_be_in_viewport()
    expect(page.locator(target)).to_be_focused()  # the keyboard goes on from there
    assert page.url == before
    assert page.locator("a[href^='#']").count() == 0  # under the page's <base> they would load the app anew
