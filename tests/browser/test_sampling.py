"""Looks cut from the picture's own pixels: chosen on the page, drawn where they are, kept by links and reports."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Locator, Page, expect

import tnet_core as tn
from tests.browser.reading import assert_shows, beyond, contrasts, in_both_themes
from tests.browser.test_zoom import assert_native, name_file
from tests.support.large_files import scene, tiff
from tnet_core.records import pixel_box
from tools.local_server import FINISHED
from viz.examples import draw_picture

Visit = Callable[..., Page]
DEEP = (5, 3, 1)  # of the page: training's 5 looks at every level would be 155


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiff(tmp_path_factory.mktemp("large") / "aerial view.tif", scene(2400, 3000), tile=256, pyramid=True)


def choice(page: Page, text: str) -> Locator:
    return page.locator(".tn-cut label", has_text=text).locator("input")


def read_query(page: Page) -> dict[str, list[str]]:
    return parse_qs(urlsplit(page.url).query)


def test_a_visitor_looks_into_the_pixels_of_a_large_file_and_deeper_than_training(
    visit: Visit, model: tn.TNet, large: Path
) -> None:
    page, source = visit(), tn.ImageSource.open(large)
    name_file(page, str(large))
    caption, told = page.locator("figcaption"), page.locator(".tn-cut .tn-caption")
    expect(caption).to_have_text("aerial view.tif, 3000 × 2400 px")
    expect(choice(page, "own frame, 448 × 448 px")).to_be_checked()
    expect(told).to_contain_text("As in training")
    assert_shows(page, tn.traverse(model, large, budget=(25,)), 5)
    page.focus("[data-choose=cls]")  # classes are listed then
    page.select_option("[data-choose=cls]", "7")
    # the same picture, other pixels; by keys
    choice(page, "own frame").focus()
    page.keyboard.press("ArrowRight")
    expect(caption).to_have_text("aerial view.tif, 3000 × 2400 px, looks cut from its own pixels")
    native = tn.traverse(model, large, budget=(25,), sampling="native")
    assert_shows(page, native, 5, cls=7)  # the class stays chosen
    expect(choice(page, "own pixels")).to_be_focused()
    expect(told).to_contain_text("no accuracy was measured for looks like these")
    # as deep as it goes
    choice(page, "4, as deep as the picture goes").check()
    expect(page.locator(".tn-budgets input")).to_have_count(3)
    deep = tn.traverse(model, large, budget=DEEP, levels=4, sampling="native")
    assert_shows(page, deep, DEEP, cls=7)
    expect(told).to_contain_text("4 levels in all. Deep ones take fewer looks than training would (5 × 3 × 1)")
    # a deep look at native pixels
    page.click(".tn-look [data-zoom='30']")
    assert_native(page, source)
    left, top, right, bottom = pixel_box(deep.locations[29].box, 3000, 2400)
    expect(page.locator(".tn-zoom-saw")).to_have_text(
        f"What the network saw: 160 × 160 px; the picture has {right - left} × {bottom - top} px here."
    )
    page.keyboard.press("Escape")
    # files say how looks were cut
    with page.expect_download() as saved:
        page.click("[data-file=trace]")
    assert saved.value.suggested_filename == "aerial-view-untrained-native-trace.json"
    trace = json.loads(Path(saved.value.path()).read_text())
    assert (trace["sampling"], trace["budget"]) == ("native", list(DEEP))
    with page.expect_download() as saved:
        page.click("[data-file=csv]")
    rows = list(csv.DictReader(Path(saved.value.path()).read_text().splitlines()))
    assert rows and all(row["sampling"] == "native" for row in rows)
    with page.expect_download() as saved:
        page.click("[data-file=report]")
    report = Path(saved.value.path()).read_text()
    assert "native: looks cut from the picture&#39;s own pixels; trained and measured with official; 4 levels" in report
    # and back
    choice(page, "own frame").check()
    expect(caption).to_have_text("aerial view.tif, 3000 × 2400 px")
    assert_shows(page, tn.traverse(model, large, budget=(25,)), 5, cls=7)


def test_a_link_restores_how_looks_were_cut(visit: Visit, server: str, model: tn.TNet) -> None:
    page = visit()
    choice(page, "own pixels").check()
    choice(page, "as deep as the picture goes").check()
    expect(page.locator(".tn-budgets input")).to_have_count(3)
    page.locator(".tn-budgets input").nth(1).press("ArrowLeft")
    page.wait_for_function("location.search.includes('levels=auto') && location.search.includes('looks=5,2')")
    link = read_query(page)
    assert (link["sampling"], link["levels"], link["looks"]) == (["native"], ["auto"], ["5,2,1"])
    page.goto(page.url)
    page.wait_for_selector(FINISHED)
    expect(choice(page, "4, as deep as the picture goes")).to_be_checked()
    assert_shows(page, tn.traverse(model, draw_picture(0), budget=DEEP, levels=4, sampling="native"), (5, 2, 1))
    # a value that means nothing: one sentence, and the page as it is without it
    page.goto(f"{server}/?__theme=light&sampling=naive&levels=auto&looks=2")
    page.wait_for_selector(FINISHED)
    expect(page.locator("#explore-problem")).to_have_text(
        "The link could not be followed completely: its 'sampling' is not 'official' or 'native'."
    )
    expect(choice(page, "own frame")).to_be_checked()
    assert_shows(page, tn.traverse(model, draw_picture(0), budget=(25,)), 2, versus=None)  # a link without "against"


def test_a_small_picture_has_no_choice_and_says_why(visit: Visit, tmp_path: Path) -> None:
    page, small = visit(), tiff(tmp_path / "small.tif", scene(300, 448), tile=None)
    name_file(page, str(small))
    expect(page.locator("figcaption")).to_have_text("small.tif, 448 × 300 px")
    expect(page.locator(".tn-cut input")).to_have_count(0)
    expect(page.locator(".tn-cut .tn-caption")).to_contain_text("no more pixels than the network's own frame")


@pytest.mark.parametrize("width", [390, 1024])
def test_the_choice_can_be_read_and_fits(visit: Visit, large: Path, width: int) -> None:
    page = visit(width=width)
    name_file(page, str(large))
    expect(page.locator("figcaption")).to_contain_text("aerial view.tif")
    choice(page, "own pixels").check()
    choice(page, "as deep as the picture goes").check()
    expect(page.locator(".tn-budgets input")).to_have_count(3)
    assert beyond(page, width) == []
    for theme in in_both_themes(page):
        assert [text for text, ratio in contrasts(page, ".tn-cut :is(legend, span, p)") if ratio < 4.5] == [], theme
