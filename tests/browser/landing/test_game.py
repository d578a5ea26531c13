"""The visitor against the network, and the dive into a hundred megapixels."""

from __future__ import annotations

import re

import numpy as np
import pytest
from playwright.sync_api import expect

import tnet_core as tn
from tests.browser.landing.visit import OPENING, Open
from viz.common.text import format_class_name, format_percent


def test_the_visitor_plays_against_the_network_with_the_keyboard_and_both_answers_are_exact(
    arrive: Open, dogs: tn.Trace
) -> None:
    page = arrive("game", motion=False)  # a link opens it
    cells = page.locator(".tn-game-cells button")
    expect(cells).to_have_count(25)
    expect(page.locator(".tn-boxes")).to_be_hidden()  # nothing tells what the network chose
    expect(page.locator("[data-game=show]")).to_be_disabled()
    page.keyboard.press("Enter")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(cells.nth(6)).to_have_attribute("aria-pressed", "true")
    expect(page.locator(".tn-game-crop.tn-game-mine")).to_have_count(2)
    expect(page.locator(".tn-transport")).to_be_hidden()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Enter")
    expect(cells.nth(5)).to_have_attribute("aria-pressed", "false")  # the network may look twice
    page.click("[data-game=show]")
    mine = [at for index in (0, 6) for at, look in enumerate(dogs.locations) if look.index == index]
    yours, theirs = dogs.probabilities(subset=mine), dogs.probabilities(OPENING)

    def tell(share: np.ndarray) -> str:
        return f"{format_class_name(dogs, int(share.argmax()))} {format_percent(float(share.max()))}"

    lines = page.locator(".tn-game-answers li")
    expect(lines.nth(0)).to_have_text(f"Your 2 cells: {tell(yours)}.")
    expect(lines.nth(1)).to_have_text(f"The network's: {tell(theirs)}.")
    common = len({*mine} & {0, 1})
    expect(lines.nth(2)).to_have_text(
        f"What is right is not known here: compared is how sure each answer is. You chose {common} of its 2."
    )
    verdict = "You beat the network" if yours.max() > theirs.max() else "The network beats you"
    expect(page.locator(".tn-game-told")).to_have_text(f"{verdict}.")
    network = page.locator(".tn-game-crop.tn-game-theirs").evaluate_all("all => all.map(e => e.style.left)")
    assert sorted(network) == sorted(f"{100 * look.box[0]:.3f}%" for look in dogs.locations[:OPENING])  # whole crops
    assert [lines.nth(at).locator(".tn-game-swatch").count() for at in range(3)] == [1, 1, 0]  # what the colours mean
    page.click("[data-game=share]")
    label = page.locator(".tn-share-card canvas").get_attribute("aria-label") or ""
    assert f"{verdict}: {format_percent(float(yours.max()))} against {format_percent(float(theirs.max()))}" in label
    page.keyboard.press("Escape")
    page.locator(".tn-example").nth(1).click()
    expect(page.locator(".tn-game")).to_have_count(0)  # another picture ends it
    expect(page.locator("figcaption")).to_contain_text("Cat")
    page.click("[data-opens=share]")
    expect(page.locator(".tn-share-card canvas")).to_be_visible()
    assert "beat" not in (page.locator(".tn-share-card canvas").get_attribute("aria-label") or "")


@pytest.mark.parametrize("motion", [False, True])
def test_a_hundred_megapixels_are_dived_into_down_to_their_pixels(arrive: Open, motion: bool) -> None:
    page = arrive("checkpoint=tnet-lite0-imagenet&example=find-it-in-100-megapixels", motion=motion)
    expect(page.locator(".tn-problem")).to_have_count(0)  # the link leaves it to the picture how it is looked at
    expect(page.locator("figcaption")).to_contain_text("10000 × 10000 px")
    expect(page.locator(".tn-classes .tn-first span")).to_have_text(re.compile(r"^bee\s*true label$"))
    page.click(".tn-dive-open button")
    line = page.locator(".tn-dive [role=status]")
    expect(line).to_contain_text("The whole picture, 10000 × 10000 px")
    for level in range(2, 7):
        if not motion:
            page.click("[data-dive=in]")
        expect(line).to_contain_text(f"Level {level}, look ")
    expect(line).to_contain_text("bee")
    expect(page.locator(".tn-dive-map")).to_be_visible()  # where in the whole picture that is
    expect(page.locator("[data-dive=in]")).to_be_disabled()
    page.keyboard.press("Escape") if motion else page.click("[data-dive=close]")
    expect(page.locator(".tn-dive")).to_have_count(0)


def test_the_landing_page_offers_the_dive_with_the_checkpoint_that_finds_the_animal(arrive: Open) -> None:
    page = arrive(motion=False)
    tile = page.locator(".tn-elsewhere")
    assert tile.get_attribute("aria-pressed") is None  # it leads elsewhere and is no choice among the others
    expect(tile).to_contain_text("Find it in 100 megapixels")
    tile.click()
    expect(page.locator(".tn-dive [role=status]")).to_contain_text("The whole picture, 10000 × 10000 px")
    expect(page.locator("#explore-chooser input")).to_have_value("Any photograph, 1000 classes")
    page.keyboard.press("Escape")
    expect(page.locator(".tn-moment")).to_contain_text(re.compile(r"^From the thumbnail: ladybug .* After .* bee "))
    expect(page.locator(".tn-elsewhere")).to_have_count(0)  # it is among this checkpoint's own
