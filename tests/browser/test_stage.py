"""The stage by itself in Chromium: the test is its server and answers when it likes."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import BrowserContext, Page, expect

import tnet_core as tn
from pages.explore.service import Explorer
from pages.server.sessions import Session
from tests.browser.reading import assert_shows, wait_for_looks
from tests.support.evaluation import PLAIN
from tests.support.model_caches import build_model_cache
from tests.support.models import TINY, TINY_3L, picture, tiny
from tests.support.stage_page import stage_script
from viz.common.payload import PictureInfo
from viz.common.templates import read_elements
from viz.common.text import format_fixed
from viz.explore.payload import build_scene_payload
from viz.report.page import build_style

PAGE = f"<!doctype html><body><main>{read_elements('explore/template.html')}</main></body>"
HOST = """() => { window.asked = []; let value = '', changed = () => {};
  window.push = text => { value = text; changed(); };
  const calls = TNetStage.openCalls((name, data) => asked.push(data));
  window.answer = calls.hear;
  TNetStage.mountStage(document.body, { value: () => value, watch: (_, act) => { changed = act; }, call: calls.call });
}"""
Stage = Callable[..., Page]


@pytest.fixture
def stage(browser: BrowserContext) -> Iterator[Stage]:
    """A page that shows what `scene_payload` made."""
    opened: list[Page] = []

    def open_stage(sent: str, *, clock: bool = False) -> Page:
        page = browser.new_page()
        opened.append(page)
        if clock:
            page.clock.install()
        page.set_content(f"<style>{build_style()}</style>{stage_script()}{PAGE}")
        page.evaluate(HOST)
        page.evaluate("text => push(text)", sent)
        return page

    yield open_stage
    for page in opened:
        page.close()


@dataclass
class Deep:
    """Three levels, of which not every cell was looked at, and what the server remembers of a page."""

    explorer: Explorer
    session: Session
    sent: str

    @property
    def trace(self) -> tn.Trace:
        return self.explorer.open_trace(self.session)

    def missing(self, count: int = 1) -> list[int]:
        """Cells inside look 1 that the network did not look at."""
        taken = {look.index for look in self.trace.locations if look.parent == 0}
        return [cell for cell in range(TINY_3L.cells) if cell not in taken][:count]

    def answer(self, page: Page, number: int = -1) -> None:
        """Answers a question of the page, by default the last one, as the server does."""
        asked = page.evaluate("asked")[number]
        self.session, sent = self.explorer.steer(self.session, asked)
        page.evaluate("text => answer(text)", json.dumps(sent | {"id": asked["id"]}))


@pytest.fixture
def deep(tmp_path: Path) -> Deep:
    tn.save(tiny(TINY_3L), tmp_path / "model")
    Image.fromarray(picture(90, 120, seed=5)).save(tmp_path / "mine.png")
    cache = build_model_cache(tmp_path / "model")
    explorer = Explorer(cache)
    return Deep(explorer, *explorer.open_picture(explorer.landing, str(tmp_path / "mine.png")))


def inside_look_1(cell: int) -> str:
    return f".tn-grid[data-parent='0'] [data-cell='{cell}']"


def tiny_scene(label: int | None = None, config: tn.TNetConfig = TINY) -> tuple[tn.Trace, str]:
    image = picture(seed=3)
    trace = tn.traverse(tiny(config), image, budget=(config.cells,))
    return trace, build_scene_payload(
        trace, tn.ImageSource.open(image), PictureInfo("A picture", "", label), config.budget
    )


def test_a_row_of_the_ledger_keeps_the_focus_when_looks_change(stage: Stage) -> None:
    trace, sent = tiny_scene()
    page = stage(sent)
    row = page.locator(".tn-ledger tr[data-look='1']")
    row.focus()
    for key, k in (("ArrowRight", 4), ("ArrowRight", 5), ("ArrowLeft", 4)):
        page.keyboard.press(key)
        wait_for_looks(page, k)
        expect(row).to_be_focused()
    page.keyboard.press("1")  # without the look, the last row that is left has it
    expect(page.locator(".tn-ledger tr[data-look='0']")).to_be_focused()
    assert_shows(page, trace, 1)


def test_a_cell_keeps_the_focus_when_its_look_was_added(stage: Stage, deep: Deep) -> None:
    page = stage(deep.sent)
    [cell] = deep.missing()
    chosen = page.locator(inside_look_1(cell))
    chosen.focus()
    page.keyboard.press("Enter")
    deep.answer(page)
    expect(chosen).to_have_attribute("aria-pressed", "true")
    expect(chosen).to_be_focused()
    stops = page.locator(".tn-grid[data-parent='0'] [data-cell][tabindex='0']")
    expect(stops).to_have_count(1)
    expect(stops).to_be_focused()
    page.keyboard.press("Enter")
    expect(chosen).to_have_attribute("aria-pressed", "false")
    expect(chosen).to_be_focused()


def test_an_answer_that_never_comes_is_given_up_after_a_minute(stage: Stage, deep: Deep) -> None:
    page = stage(deep.sent, clock=True)
    first, second = deep.missing(2)
    looks = list(deep.trace.select(budget=(2, 2)))
    page.click(inside_look_1(first))
    page.clock.run_for(59_000)
    expect(page.locator(".tn-stage")).to_have_attribute("aria-busy", "true")
    page.clock.run_for(2_000)
    expect(page.locator(".tn-sentence")).to_contain_text("The server did not answer for a minute")
    expect(page.locator(".tn-stage")).not_to_have_attribute("aria-busy", "true")
    assert_shows(page, deep.trace, looks)
    page.click("[data-go=back]")
    assert_shows(page, deep.trace, looks[:-1])
    assert [asked["attempt"] for asked in page.evaluate("asked")] == [1, 2, 3]  # it was asked for again
    deep.answer(page)  # too late
    assert_shows(page, deep.trace, looks[:-1])
    page.click(inside_look_1(second))
    deep.answer(page)
    expect(page.locator(".tn-sentence")).to_be_hidden()
    assert_shows(page, deep.trace, [*looks[:-1], len(deep.trace.locations) - 1])


def leave_by_slider(page: Page) -> None:
    page.focus(".tn-budgets [data-level='0']")
    page.keyboard.press("ArrowLeft")


def leave_by_reset(page: Page) -> None:
    page.click(".tn-steered button")


@pytest.mark.parametrize("leave", [leave_by_slider, leave_by_reset])
def test_a_look_that_was_given_up_while_it_was_taken_changes_nothing(
    stage: Stage, deep: Deep, leave: Callable[[Page], None]
) -> None:
    page = stage(deep.sent)
    looks = list(deep.trace.select(budget=(2, 2)))
    last = deep.trace.locations[looks[-1]]
    page.click(f".tn-grid[data-parent='{last.parent}'] [data-cell='{last.index}']")  # by hand: one look less
    wait_for_looks(page, len(looks) - 1)
    [cell] = deep.missing()
    page.click(inside_look_1(cell))
    leave(page)
    left = deep.trace.select(budget=(1, 2) if leave is leave_by_slider else (2, 2))
    assert_shows(page, deep.trace, list(left))
    count = len(deep.trace.locations)
    deep.answer(page)
    assert len(deep.trace.locations) == count + 1
    assert_shows(page, deep.trace, list(left))
    expect(page.locator(".tn-steered")).to_be_hidden()
    # It is known from now on: the server need not look again.
    page.click(inside_look_1(cell))
    deep.answer(page)
    assert len(deep.trace.locations) == count + 1
    assert_shows(page, deep.trace, [*left, count])


def test_the_answer_about_another_picture_is_not_shown(stage: Stage, deep: Deep) -> None:
    page = stage(deep.sent)
    page.click(inside_look_1(deep.missing()[0]))
    trace, other = tiny_scene()
    page.evaluate("text => push(text)", f'{other[:-1]},"scene":77}}')
    assert_shows(page, trace, 3)
    deep.answer(page)
    assert_shows(page, trace, 3)


def test_an_added_look_leaves_the_classes_that_were_chosen(stage: Stage, deep: Deep) -> None:
    page = stage(deep.sent)
    looks = list(deep.trace.select(budget=(2, 2)))
    for which, value in (("cls", "5"), ("versus", "2")):
        page.focus(f"[data-choose={which}]")
        page.select_option(f"[data-choose={which}]", value)
    page.click(inside_look_1(deep.missing()[0]))
    deep.answer(page)
    assert_shows(page, deep.trace, [*looks, len(deep.trace.locations) - 1], cls=5, versus=2)
    expect(page.locator("[data-choose=cls]")).to_have_value("5")
    expect(page.locator("[data-choose=versus]")).to_have_value("2")
    trace, other = tiny_scene()  # another picture: as the network says
    page.evaluate("text => push(text)", f'{other[:-1]},"scene":77}}')
    assert_shows(page, trace, 3)
    expect(page.locator("[data-choose=cls]")).to_have_value("")


def test_the_true_label_always_has_its_line(stage: Stage) -> None:
    config = replace(TINY, num_classes=40)
    trace, _ = tiny_scene(config=config)
    lead = {int(c) for k in range(10) for c in np.argsort(-trace.logits(k))[:5]}
    label = next(cls for cls in range(40) if cls not in lead)
    page = stage(tiny_scene(label, config)[1])
    for key in "0369":
        page.keyboard.press(key)
        drawn = [line.get_attribute("data-class") for line in page.locator(".tn-plot polyline").all()]
        assert str(label) in drawn and len(drawn) == len(set(drawn)) <= 5


def test_the_last_line_of_the_ledger_adds_up_as_written(stage: Stage) -> None:
    _, sent = tiny_scene()
    page = stage(sent)
    rounded_apart = 0
    for versus in ("rival", "none", "second", "0", "3", "6"):
        page.focus("[data-choose=versus]")
        page.select_option("[data-choose=versus]", versus)
        for k in range(10):
            page.evaluate("document.activeElement.blur()")
            page.keyboard.press(str(k))
            text = page.locator(".tn-ledger tfoot td").text_content() or ""
            found = re.fullmatch(r"(−?[\d.]+) ([+−]) bias ([\d.]+) = (?:logit|lead) (−?[\d.]+)", text)
            assert found, text
            sign = -1 if found[2] == "−" else 1
            sum_, bias, total = (round(100 * float(found[i].replace("−", "-"))) for i in (1, 3, 4))
            assert sum_ + sign * bias == total, text
            values = page.locator("tbody [data-value]").evaluate_all("all => all.map(e => Number(e.dataset.value))")
            assert abs(sum_ / 100 - sum(values)) < 0.0151
            rounded_apart += format_fixed(sum(values)) != found[1]
    assert rounded_apart  # the case this is about was met


def test_a_model_without_looks_has_texts_that_make_sense(stage: Stage) -> None:
    image = picture(seed=3)
    trace = tn.traverse(tn.build(replace(PLAIN, num_classes=3)), image)
    page = stage(build_scene_payload(trace, tn.ImageSource.open(image), PictureInfo("A picture"), ()))
    expect(page.locator(".tn-cost")).to_contain_text("0 looks: the whole picture is seen once")
    expect(page.locator(".tn-levels .tn-head")).to_contain_text("there is no grid")
    expect(page.locator(".tn-course .tn-head")).to_contain_text("no look is taken")
    expect(page.locator(".tn-scrub")).to_be_hidden()
    shown: dict[str, Any] = page.evaluate("() => ({ text: document.body.innerText })")
    assert "0 of 0" not in shown["text"] and "no look " not in shown["text"].replace("no look is taken", "")


def test_texts_about_no_looks_and_about_one_grid(stage: Stage) -> None:
    _, sent = tiny_scene()
    page = stage(sent)
    expect(page.locator(".tn-levels .tn-head")).to_contain_text("The grid over the picture")
    page.keyboard.press("0")
    expect(page.locator(".tn-cost")).to_contain_text("0 of 9 looks")
    expect(page.locator(".tn-decision .tn-head")).to_contain_text("From the thumbnail alone")
    expect(page.locator(".tn-boxes")).to_have_attribute("aria-label", "Boxes of no looks")
