"""What a visitor sends to a colleague: a link, a card and an animation of the looks that are shown."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import BrowserContext, Page, expect

import tnet_core as tn
from tests.browser.reading import beyond, contrasts, find_rival, wait_for_looks
from tests.support.models import TINY, picture, tiny
from tests.support.stage_page import scene, staged
from viz.common.style import ACCENT
from viz.common.text import format_class_name, format_percent, format_signed
from viz.examples import draw_picture

Visit = Callable[..., Page]
LEFT, TOP, WIDTH, HEIGHT = 30, 30, 560, 540  # where the card has room for the picture: at its left, in the middle


def take_file(page: Page, what: str) -> tuple[str, bytes]:
    with page.expect_download() as download:
        page.click(f"[data-share={what}]")
    return download.value.suggested_filename, download.value.path().read_bytes()


def answer(trace: tn.Trace, k: int) -> str:
    probabilities = trace.probabilities(k)
    best = int(probabilities.argmax())
    return f"{format_class_name(trace, best)} {format_percent(float(probabilities[best]))}"


def test_one_click_makes_a_card_of_what_is_shown(visit: Visit, reference: tn.Trace) -> None:
    page = visit()
    page.locator(".tn-scrub input").fill("3")
    wait_for_looks(page, 3)
    page.click("[data-opens=share]")
    best = int(reference.logits(3).argmax())
    rival = find_rival(reference, (0, 1, 2), best)
    shares = reference.contributions(best, rival, k=3)
    names = ("context", "look 1", "look 2", "look 3")
    ledger = ", ".join(f"{name} {format_signed(float(v))}" for name, v in zip(names, shares.values, strict=True))
    label = page.locator(".tn-share-card canvas").get_attribute("aria-label") or ""
    assert f"From the thumbnail: {answer(reference, 0)}. After 3 looks: {answer(reference, 3)}." in label
    called = " against ".join(format_class_name(reference, cls) for cls in (best, rival))
    assert label.endswith(f" How {called} adds up, in logits: {ledger}.")
    link = page.locator(".tn-share-link input").input_value()
    assert "looks=3" in link and link.startswith("http://127.0.0.1:")
    name, data = take_file(page, "card")
    assert name.endswith("-card.png")
    card = np.asarray(Image.open(io.BytesIO(data)).convert("RGB")).astype(int)
    assert card.shape == (630, 1200, 3)
    # The newest look is drawn where it is.
    height, width = draw_picture(0).shape[:2]
    scale = min(WIDTH / width, HEIGHT / height)
    _, y0, x1, y1 = reference.locations[2].box
    left, top = LEFT, TOP + (HEIGHT - height * scale) / 2
    x, y = round(left + x1 * width * scale), round(top + (y0 + y1) / 2 * height * scale)
    accent = [int(ACCENT[i : i + 2], 16) for i in (1, 3, 5)]
    assert np.abs(card[y, x - 3 : x + 3] - accent).sum(axis=1).min() < 40
    page.keyboard.press("Escape")
    expect(page.locator(".tn-share")).to_have_count(0)


def test_the_animation_has_a_frame_per_look_and_repeats(visit: Visit) -> None:
    page = visit()
    page.locator(".tn-scrub input").fill("4")
    wait_for_looks(page, 4)
    page.click("[data-opens=share]")
    name, data = take_file(page, "animation")
    moving = Image.open(io.BytesIO(data))
    assert name.endswith("-looks.webp") and len(data) < 3_000_000
    assert (moving.format, moving.n_frames, moving.info["loop"]) == ("WEBP", 5, 0)  # type: ignore[attr-defined]
    expect(page.locator(".tn-share [role=status]")).to_contain_text("Saved")


def test_a_report_offers_nothing_that_needs_a_server(browser: BrowserContext, tmp_path: Path) -> None:
    image = picture(seed=3)
    page = staged(browser, scene(tn.traverse(tiny(TINY), image), image, "A"), tmp_path, alone=True)
    expect(page.locator(".tn-keys")).to_be_visible()
    expect(page.locator("[data-opens=share]")).to_be_hidden()
    page.close()


@pytest.mark.parametrize(("width", "theme"), [(1440, "light"), (390, "dark")])
def test_the_dialog_fits_and_reads_well(visit: Visit, width: int, theme: str) -> None:
    page = visit(width, 844, theme)
    page.click("[data-opens=share]")
    expect(page.locator(".tn-share-card canvas")).to_be_visible()
    assert beyond(page, width) == []
    texts = contrasts(page, ".tn-share :is(h2, button, p)")
    assert texts and min(contrast for _, contrast in texts) >= 4.5
