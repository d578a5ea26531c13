"""What moves, what fits the screen, and how long the page is busy."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from playwright.sync_api import Page

from tests.browser.landing.visit import OPENING, Open
from tests.browser.reading import wait_for_looks

WIDTHS = [(1440, 900), (1024, 768), (390, 844)]
ABOVE_THE_FOLD = (".tn-photo", ".tn-moment", "[data-go=play]", ".tn-scrub input")
TABS = ("Compare", "Audit", "What if", "Accuracy vs locations", "Your data")


def open_tab(page: Page, name: str) -> None:
    page.locator("#tabs [role=tab]").filter(has_text=name).first.evaluate("tab => tab.click()")  # no input: it shifts


def test_nothing_moves_under_the_eyes_of_who_arrives_or_opens_a_tab(arrive: Open) -> None:
    """The pages of all widths wait together for what might come late."""
    pages = {width: arrive(width=width, height=height) for width, height in WIDTHS}
    for width, page in pages.items():
        wait_for_looks(page, OPENING)  # it has played
        assert page.evaluate("shifted") < 0.1, width
    for name in TABS:
        for page in pages.values():
            page.evaluate("shifted = 0")
            open_tab(page, name)
        page.wait_for_timeout(2500)
        for width, page in pages.items():
            assert page.evaluate("shifted") < 0.1, (name, width)


@pytest.mark.parametrize(("width", "height"), WIDTHS)
def test_picture_and_play_are_above_the_fold_the_picture_is_as_bright_as_it_is_and_stepping_moves_nothing(
    arrive: Open, width: int, height: int
) -> None:
    page = arrive(width=width, height=height, motion=False)
    places = {place: page.locator(place).bounding_box() for place in ABOVE_THE_FOLD}
    assert all(box is not None and box["y"] >= 0 and box["y"] + box["height"] <= height for box in places.values())
    if width > 1200:
        share = page.locator("[data-opens=share]").bounding_box()
        assert share is not None and share["y"] + share["height"] <= height
    dark = page.locator(".tn-tint > div").evaluate_all(
        "cells => cells.map(cell => getComputedStyle(cell).backgroundColor).filter(c => !/, 0\\)$|transparent/.test(c))"
    )
    assert dark == []
    page.focus(".tn-scrub input")

    def measure() -> list[float]:
        boxes = [page.locator(place).bounding_box() for place in (".tn-photo", "[data-go=play]", ".tn-decision")]
        return [box["y"] for box in boxes if box is not None]

    before = measure()
    assert len(before) == 3
    for _ in range(5):
        page.keyboard.press("ArrowLeft")
        assert measure() == before
        page.keyboard.press("ArrowRight")
        page.keyboard.press("ArrowRight")
        assert measure() == before


def measure_longest_task(page: Page, act: Callable[[], object]) -> float:
    """Milliseconds of processor time that the page's main thread spent in one task: other programs do not count."""
    opened = page.context.browser
    assert opened is not None
    opened.start_tracing(page=page, categories=["toplevel"])
    act()
    events = json.loads(opened.stop_tracing())["traceEvents"]
    main = {
        (event["pid"], event["tid"])
        for event in events
        if event["name"] == "thread_name" and event["args"]["name"] == "CrRendererMain"
    }
    spent = [
        event["tdur"]
        for event in events
        if event["name"].endswith("RunTask") and "tdur" in event and (event["pid"], event["tid"]) in main
    ]
    return float(max(spent)) / 1000


@pytest.mark.parametrize(("width", "height"), [(1440, 900), (390, 844)])
def test_opening_a_tab_keeps_the_page_busy_for_less_than_150_ms(arrive: Open, width: int, height: int) -> None:
    page = arrive(width=width, height=height, motion=False)
    page.wait_for_timeout(1000)

    def spin() -> None:
        page.evaluate("const began = performance.now(); while (performance.now() < began + 1500);")
        page.wait_for_timeout(500)  # a task is noted at its end, which comes after its answer

    def open_accuracy() -> None:
        open_tab(page, "Accuracy vs locations")
        page.wait_for_selector("#accuracy-chart svg [data-curve]")
        page.wait_for_timeout(1500)

    def open_what_if() -> None:
        open_tab(page, "What if")
        page.wait_for_selector(".what-if-columns .tn-photo")
        page.wait_for_timeout(1500)

    assert 150 < measure_longest_task(page, spin) < 1600  # a page that is kept busy is noticed
    for act in (open_accuracy, open_what_if):
        assert 1 < measure_longest_task(page, act) < 150, act.__name__
