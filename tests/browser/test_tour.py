"""How it works: six steps on the picture that is shown, with the numbers of the trace."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest
from playwright.sync_api import BrowserContext, Page, expect

import tnet_core as tn
from tests.browser.conftest import visitor
from tests.browser.reading import beyond, find_rival, wait_for_looks
from tools.local_server import FINISHED
from viz.common.text import format_class_name, format_factor, format_percent

Visit = Callable[..., Page]
SENTENCE = ".tn-tour-sentence"


def numbers(page: Page) -> list[float]:
    """The numbers of a step's formula at full precision."""
    found = page.locator(".tn-tour-formula [data-number]").all()
    return [float(element.get_attribute("data-number") or "nan") for element in found]


def step(page: Page, number: int) -> None:
    expect(page.locator(".tn-tour")).to_have_attribute("data-step", str(number))


def test_six_steps_tell_the_numbers_of_the_trace_and_mark_their_place(visit: Visit, reference: tn.Trace) -> None:
    page, close = visit(), {"rtol": 1e-4, "atol": 2e-4}
    looks = page.locator(".tn-box:visible").count()
    page.click("[data-opens=tour]")
    step(page, 1)
    first = reference.probabilities(0)
    name = format_class_name(reference, int(first.argmax()))
    expect(page.locator(SENTENCE)).to_contain_text(f"{name}, {format_percent(float(first.max()))}")
    np.testing.assert_allclose(numbers(page), [first.max()], **close)
    wait_for_looks(page, 0)
    expect(page.locator(".tn-picture.tn-toured .tn-tour-over img")).to_be_visible()
    page.click("[data-tour-go=next]")
    step(page, 2)
    expect(page.locator(".tn-tour-cells > div")).to_have_count(25)
    page.keyboard.press("Enter")  # Next has the focus
    step(page, 3)
    grid = reference.distributions[0]
    best = int(grid.lift.argmax())
    marked = page.locator(".tn-tour-best").evaluate_all("all => all.map(e => [...e.parentElement.children].indexOf(e))")
    assert marked == [best]
    expect(page.locator(SENTENCE)).to_contain_text(
        f"the marked one (row {best // 5 + 1}, column {best % 5 + 1}) is first, "
        f"{format_factor(float(grid.lift.max()))} as likely as by chance"
    )
    np.testing.assert_allclose(numbers(page), [grid.probabilities.max()], **close)
    assert page.locator(".tn-tour-cells b").all_text_contents() == [str(rank) for rank in grid.ranks.ravel()]
    page.keyboard.press("ArrowRight")
    step(page, 4)
    wait_for_looks(page, looks)  # those that the visitor saw
    expect(page.locator(".tn-crops.tn-toured")).to_be_visible()
    page.keyboard.press("ArrowRight")
    step(page, 5)
    weights = reference.weights(looks)
    assert len(weights) <= 7
    np.testing.assert_allclose(numbers(page), weights, **close)
    page.keyboard.press("ArrowRight")
    step(page, 6)
    best = int(reference.logits(looks).argmax())
    rival = find_rival(reference, reference.select(looks), best)
    shares, share = reference.contributions(best, rival, k=looks), reference.probabilities(looks)
    np.testing.assert_allclose(numbers(page), [*shares.values, shares.bias, shares.total], **close)
    expect(page.locator(SENTENCE)).to_contain_text(
        f"{format_class_name(reference, best)} against {format_class_name(reference, rival)}: "
        f"{format_percent(float(share[best]))} to {format_percent(float(share[rival]))}. Nothing else decides."
    )
    page.focus("[data-choose=versus]")
    page.select_option("[data-choose=versus]", "none")
    shares = reference.contributions(best, k=looks)
    np.testing.assert_allclose(numbers(page), [*shares.values, shares.bias, shares.total, share.max()], **close)
    page.focus("[data-tour-go=next]")
    page.keyboard.press("ArrowLeft")
    step(page, 5)


def test_the_tour_follows_the_slider_and_leaves_the_page_as_it_was(visit: Visit, reference: tn.Trace) -> None:
    page = visit()
    looks = page.locator(".tn-box:visible").count()
    page.click("[data-opens=tour]")
    for _ in range(5):
        page.click("[data-tour-go=next]")
    step(page, 6)
    page.locator(".tn-scrub input").fill("1")
    best = int(reference.logits(1).argmax())
    shares = reference.contributions(best, find_rival(reference, (0,), best), k=1)
    expect(page.locator(".tn-tour-formula [data-number]")).to_have_count(4)
    np.testing.assert_allclose(numbers(page)[3], shares.total, rtol=1e-4, atol=2e-4)
    expect(page).to_have_url(re.compile("tour=6"))
    page.keyboard.press("Escape")
    expect(page.locator(".tn-tour")).to_have_count(0)
    wait_for_looks(page, looks)
    assert "tour=" not in page.url
    assert page.locator(".tn-toured, .tn-tour-over").count() == 0
    assert page.evaluate("document.activeElement.dataset.opens") == "tour"


@pytest.mark.parametrize(("width", "theme"), [(1440, "light"), (390, "dark")])
def test_a_link_opens_a_step_and_the_panel_fits(server: str, browser: BrowserContext, width: int, theme: str) -> None:
    with visitor(server, browser, []) as visit:
        page = visit(width, 844, theme)
        page.goto(f"{server}/?__theme={theme}&tour=3")
        page.wait_for_selector(FINISHED)
        step(page, 3)
        assert beyond(page, width) == []
        panel = page.locator(".tn-tour").bounding_box()
        assert panel is not None and panel["y"] > 300 and panel["y"] + panel["height"] <= 844
        page.click("[data-tour-go=words]")
        expect(page.locator(".tn-tour-words dt").first).to_have_text("look")
        page.click("[data-tour-go=close]")
        page.goto(f"{server}/?__theme={theme}&tour=9")  # there is no such step
        page.wait_for_selector(FINISHED)
        page.wait_for_timeout(300)
        assert page.locator(".tn-tour").count() == 0
