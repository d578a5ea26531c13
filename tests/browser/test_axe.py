"""Every tab, with content in it, is free of what axe-core finds, in light and dark, on a desk and on a telephone.

And it is short: the landing page does not talk more than it shows, and Audit fits a telephone in some screens.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.browser.reading import in_both_themes
from tests.training.data_files import class_folders
from tools.local_server import FINISHED

TABS = {
    "Explore": ".tn-moment b",
    "Compare": ".compare-alike dl b",
    "Audit": ".audit-card .audit-chart",
    "What if": ".what-if-verdict p:visible",
    "Accuracy vs locations": "#accuracy-table section:not([hidden]) td",
    "Your data": ".your-data-gallery li",
}
COLOURS = ("color-contrast", "link-in-text-block")  # the rules that a theme can break; the others hold in both
MAX_WORDS = 350  # that a visitor sees on arrival
MAX_HEIGHT = 3900  # pixels of Audit at 390 px
WORDS = """() => {
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  let count = 0;
  while (texts.nextNode()) {
    const { parentElement: parent, textContent } = texts.currentNode;
    if (!parent || parent.closest("script, style, noscript, option, .visually-hidden")) continue;
    if (!parent.checkVisibility({ visibilityProperty: true })) continue;
    const range = document.createRange();
    range.selectNodeContents(texts.currentNode);
    if (range.getClientRects().length) count += textContent.split(/\\s+/).filter(word => /\\p{L}/u.test(word)).length;
  }
  return count;
}"""
Open = Callable[[int, int], Page]


@pytest.fixture(scope="module")
def arrive_at(shipped: str, browser: BrowserContext) -> Iterator[Open]:
    """Opens pages that play nothing by themselves and can run axe without a network."""
    opened: Browser | None = browser.browser
    assert opened is not None
    contexts: list[BrowserContext] = []

    def open_page(width: int, height: int) -> Page:
        context = opened.new_context(viewport={"width": width, "height": height}, reduced_motion="reduce")
        contexts.append(context)
        page = context.new_page()
        page.goto(shipped)
        page.wait_for_selector(FINISHED, timeout=60_000)
        return page

    yield open_page
    for context in contexts:
        context.close()


def find_violations(page: Page, rules: Sequence[str] = ()) -> list[str]:
    """Return what axe finds: rule, and the elements. It checks all rules, or those that are named."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8"))
    options: dict[str, Any] = {"resultTypes": ["violations"]} | ({"runOnly": [*rules]} if rules else {})
    found: dict[str, Any] = page.evaluate("options => axe.run(document, options)", options)
    return [f"{one['id']}: {node['html'][:160]}" for one in found["violations"] for node in one["nodes"]]


@pytest.mark.parametrize(("width", "height"), [(1440, 900), (390, 844)])
def test_axe_finds_nothing_in_any_tab(arrive_at: Open, tmp_path: Path, width: int, height: int) -> None:
    page = arrive_at(width, height)
    page.add_style_tag(content="* { transition: none !important; animation: none !important; }")
    page.set_viewport_size({"width": 1440, "height": 900})  # all tabs have a button here
    page.get_by_role("tab", name="Your data").click()
    pets = class_folders(tmp_path / "drawings", ("Abyssinian", "Beagle"), images=3)
    page.fill("#your-data-folder textarea, #your-data-folder input", str(pets))
    page.click("#your-data-start")
    expect(page.locator(".your-data-gallery li").first).to_be_visible(timeout=60_000)
    wrong = {}
    for tab, content in TABS.items():
        page.set_viewport_size({"width": 1440, "height": 900})
        page.get_by_role("tab", name=tab).click()
        expect(page.locator(content).first).to_be_visible(timeout=60_000)
        page.set_viewport_size({"width": width, "height": height})
        for theme in in_both_themes(page):
            page.wait_for_timeout(100)
            if found := find_violations(page, COLOURS if theme == "dark" else ()):
                wrong[f"{tab}, {theme}"] = found
        page.evaluate("document.body.classList.remove('dark')")
    assert wrong == {}


def test_few_words_meet_the_eye_and_audit_is_short_on_a_telephone(arrive_at: Open) -> None:
    assert arrive_at(1440, 900).evaluate(WORDS) <= MAX_WORDS
    page = arrive_at(390, 844)
    page.goto(f"{page.url.partition('?')[0]}?tab=audit")
    expect(page.locator(".audit-card")).to_have_count(4, timeout=60_000)
    expect(page.locator(".audit-card .audit-chart").first).to_be_visible()
    assert page.evaluate("document.documentElement.scrollHeight") <= MAX_HEIGHT
