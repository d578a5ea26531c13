"""The page as a visitor sees it."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Page, Request, expect

import tests.support.models as models
import tnet_core as tn
from tests.browser.conftest import leaves
from tests.browser.reading import assert_shows, contrasts, wait_for_looks
from viz.examples import picture

Visit = Callable[..., Page]
UPLOAD = "#pick input[type=file]"
SLIDER = "#budget input[type=range]"
TEXTS = (
    "h1, h2, .tn-masthead p, .tn-notice, .tn-head p, figcaption, .tn-summary span, .tn-example span, #upload, "
    "#budget label span, .tn-look b, .tn-look i, .tn-look small, .tn-box b, .js-plotly-plot svg text"
)


def test_the_landing_page_shows_a_finished_traversal(visit: Visit, reference: tn.Trace) -> None:
    page = visit()
    assert_shows(page, reference, 5)
    expect(page.locator(".tn-picture")).to_contain_text("Harbour at dusk, 1280 × 960 px")
    expect(page.locator(".tn-problem")).to_have_count(0)
    notice = page.locator(".tn-notice")
    expect(notice).to_be_in_viewport()
    expect(notice).to_contain_text("Untrained weights")
    expect(notice).to_contain_text("mean nothing yet")


def test_the_slider_shows_every_budget(visit: Visit, reference: tn.Trace) -> None:
    page = visit()
    page.focus(SLIDER)
    for key, k in (("ArrowRight", 6), ("Home", 0), ("End", 25), ("ArrowLeft", 24)):
        page.keyboard.press(key)
        assert_shows(page, reference, k)
    for _ in range(10):  # faster than the server answers: the last one counts
        page.keyboard.press("ArrowLeft")
    assert_shows(page, reference, 14)


def test_another_example_can_be_chosen_at_the_same_budget(visit: Visit, model: tn.TNet) -> None:
    page = visit()
    page.focus(SLIDER)
    page.keyboard.press("ArrowRight")
    wait_for_looks(page, 6)
    page.click("[data-example='3']")
    expect(page.locator("[data-example='3']")).to_have_attribute("aria-pressed", "true")
    expect(page.locator("[data-example='0']")).to_have_attribute("aria-pressed", "false")
    expect(page.locator(".tn-picture")).to_contain_text("Circuit board")
    assert_shows(page, tn.traverse(model, picture(3), budget=(25,)), 6)


def test_pointing_at_a_crop_marks_its_box(visit: Visit) -> None:
    page = visit()
    number = page.locator(".tn-box[data-look='2'] b")
    before = number.evaluate("e => getComputedStyle(e).backgroundColor")
    page.hover(".tn-look[data-look='2'] img")
    assert before != number.evaluate("e => getComputedStyle(e).backgroundColor") == "rgb(220, 38, 127)"


def test_an_uploaded_picture_is_traversed(visit: Visit, model: tn.TNet, tmp_path: Path) -> None:
    file = tmp_path / "blocks.png"
    Image.fromarray(models.picture(300, 500, seed=4)).save(file)
    page = visit()
    page.set_input_files(UPLOAD, file)
    expect(page.locator(".tn-picture")).to_contain_text("blocks.png, 500 × 300 px")
    assert_shows(page, tn.traverse(model, file, budget=(25,)), 5)
    expect(page.locator(".tn-example[aria-pressed='true']")).to_have_count(0)


def test_a_broken_upload_is_explained_and_the_result_stays(visit: Visit, reference: tn.Trace, tmp_path: Path) -> None:
    whole = io.BytesIO()
    noise = np.random.default_rng(0).integers(0, 256, (200, 200, 3), dtype=np.uint8)
    Image.fromarray(noise).save(whole, "JPEG")
    broken = {
        "empty.jpg": (b"", "is empty (0 bytes)"),
        "text.jpg": (b"<b>not a picture</b>\n", "is not an image in a format we read"),
        "cut.jpg": (whole.getvalue()[: len(whole.getvalue()) // 2], "is damaged or cut off"),
    }
    page = visit()
    for name, (content, sentence) in broken.items():
        (tmp_path / name).write_bytes(content)
        page.set_input_files(UPLOAD, tmp_path / name)
        message = page.locator(".tn-problem[role='alert']")
        expect(message).to_contain_text(f"'{name}' {sentence}")
        expect(message).to_be_in_viewport()
        assert_shows(page, reference, 5)
        expect(page.locator(".tn-picture")).to_contain_text("Harbour at dusk")
    page.focus(SLIDER)
    page.keyboard.press("ArrowRight")
    assert_shows(page, reference, 6)  # the earlier traversal still answers
    page.click("[data-example='0']")
    expect(page.locator(".tn-problem")).to_have_count(0)


def test_nothing_is_cut_off_on_a_telephone(visit: Visit) -> None:
    page = visit(width=390, height=844)
    for key, k in (("Home", 0), ("End", 25)):
        page.focus(SLIDER)
        page.keyboard.press(key)
        wait_for_looks(page, k)
        assert page.evaluate("document.documentElement.scrollWidth") == 390
        beyond = page.evaluate(
            """[...document.querySelectorAll('.gradio-container *:not(.draglayer, .draglayer *)')].filter(e => {
                 const r = e.getBoundingClientRect(); return r.width && (r.right > 391 || r.left < -1); })
               .map(e => e.className.baseVal ?? e.className)"""
        )
        assert beyond == []
    order = page.evaluate(
        """['.tn-picture', '#budget', '#decision', '#ledger', '#looks', '#grid']
             .map(s => document.querySelector(s).getBoundingClientRect().top)"""
    )
    assert order == sorted(order)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_text_is_readable_in_light_and_in_dark(visit: Visit, theme: str) -> None:
    page = visit(width=1024, height=768, theme=theme)
    corner = Image.open(io.BytesIO(page.screenshot(clip={"x": 2, "y": 2, "width": 1, "height": 1}))).convert("L")
    assert corner.getpixel((0, 0)) == 255 if theme == "light" else corner.getpixel((0, 0)) < 40
    texts = contrasts(page, TEXTS)
    assert len(texts) > 60
    assert {text: round(value, 2) for text, value in texts if value < 4.5} == {}


def test_no_request_leaves_this_machine(visit: Visit, requests: list[Request]) -> None:
    """Asserted for every test when its pages close; here, that there is something to assert."""
    assert leaves("https://fonts.example/css")
    page = visit()
    page.wait_for_timeout(1000)  # late requests; the page is never idle, it keeps a heartbeat open
    assert len(requests) > 20
    assert not [request.url for request in requests if leaves(request.url)]
