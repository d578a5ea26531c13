"""The tab 'What if' as a visitor sees it: its numbers are those of the core, its slider asks nothing of the server."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest
from playwright.sync_api import Page, Request, expect

import tnet_core as tn
from pages.what_if.service import choose_budget
from tests.browser.reading import beyond, contrasts
from tnet_core.counterfactual import (
    CellCentres,
    Move,
    compare,
    find_fates,
    measure_pull,
    move_content,
    paste_part,
    place,
)
from tools.queue_client import QueueClient
from viz.common.text import format_class_name, format_percent, format_signed
from viz.examples import draw_picture
from viz.what_if.page import FATE_TEXTS

Visit = Callable[..., Page]
TEXTS = "#what-if-view :is(h2, h3, p, small, dt, dd b, th, td, li span, li b, label span, output)"
FATES = "#what-if-view [data-panel=looks] > [data-k]:not([hidden]) tr[data-fate]"


@pytest.fixture(scope="module")
def before(model: tn.TNet) -> tn.Trace:
    return tn.traverse(model, draw_picture(0), choose_budget(model.config))


def cells(trace: tn.Trace) -> list[int]:
    return [look.index for look in trace.locations]


def open_lab(page: Page) -> None:
    page.get_by_role("tab", name="What if").click()
    expect(page.locator("#what-if-view .what-if-after h3")).to_contain_text("copied onto")
    choose(page, "flip")
    expect(page.locator("#what-if-view .what-if-after h3")).to_have_text("The same, mirrored left to right")


def choose(page: Page, kind: str) -> None:
    page.locator(f"#what-if-kind input[value={kind}]").check()


def drawn(page: Page, side: str) -> np.ndarray:
    """Boxes where they are really drawn, relative to the picture."""
    return np.array(
        page.evaluate(
            """side => { const p = document.querySelector(`.what-if-${side} .tn-photo`).getBoundingClientRect();
              return [...document.querySelectorAll(`.what-if-${side} .tn-box:not([hidden])`)].map(box => {
                const r = box.getBoundingClientRect();
                return [(r.left - p.left) / p.width, (r.top - p.top) / p.height,
                        (r.right - p.left) / p.width, (r.bottom - p.top) / p.height]; }); }""",
            side,
        )
    )


def assert_looks(page: Page, before: tn.Trace, after: tn.Trace, k: int) -> None:
    for side, trace in (("before", before), ("after", after)):
        np.testing.assert_allclose(drawn(page, side), [look.box for look in trace.locations[:k]], atol=0.005)
        answers = page.locator(f"[data-panel=decisions] > [data-k='{k}'] .what-if-answers > div").nth(
            int(side == "after")
        )
        probabilities = trace.probabilities(k)
        order = np.argsort(-probabilities, kind="stable")[:3]
        assert answers.locator("b").all_text_contents() == [format_percent(float(probabilities[c])) for c in order]
        assert answers.locator("li > span").all_text_contents() == [format_class_name(trace, int(c)) for c in order]


def assert_moved(page: Page, model: tn.TNet, before: tn.Trace, move: Move, k: int) -> None:
    """Everything on the page about a move is what the core says."""
    pixels = np.asarray(draw_picture(0))
    height, width = pixels.shape[:2]
    placement, centres = place(move, width, height), CellCentres.of(model.config, width, height)
    after = tn.traverse(model, move_content(pixels, placement), before.budget)
    assert_looks(page, before, after, k)
    told = compare(*(t.distributions[0].logits.reshape(1, -1) for t in (before, after)), centres, placement)  # type: ignore[arg-type,call-arg]
    shown = [float(v.get_attribute("data-exact") or "nan") for v in page.locator("#what-if-view [data-exact]").all()]
    np.testing.assert_allclose(shown, [told.score[0], told.content[0], told.position[0]], atol=2e-6)
    texts = page.locator("#what-if-view [data-exact]").all_text_contents()
    assert texts == [format_signed(float(v)) for v in (told.score[0], told.content[0], told.position[0])]
    found = find_fates(cells(before)[:k], cells(after)[:k], centres, placement)
    rows = page.locator(FATES)
    assert rows.count() == k
    for at, fate in enumerate(found):
        row = rows.nth(at).locator("td").all_text_contents()
        assert row[-1] == FATE_TEXTS[fate.kind]
        assert row[1:3] == ["–" if p is None else f"look {p + 1}" for p in (fate.again, fate.there)]


def test_the_page_shows_what_the_core_computes_for_every_change(
    visit: Visit, model: tn.TNet, before: tn.Trace, requests: list[Request]
) -> None:
    page = visit()
    open_lab(page)
    assert_moved(page, model, before, Move(flip=True), 5)
    # the slider, without a question to the server
    asked = len(requests)
    slider = page.locator(".what-if-k input")
    slider.focus()
    for _ in range(3):
        page.keyboard.press("ArrowLeft")
    expect(page.locator(".what-if-k output")).to_have_text("2 of 10")
    assert_moved(page, model, before, Move(flip=True), 2)
    # the look in focus, by keyboard: marked on the left, its content on the right
    page.locator(f"{FATES} button").nth(1).focus()
    expect(page.locator(".what-if-before .tn-focus b")).to_have_text("2")
    assert page.locator(".what-if-content:visible b").all_text_contents() == ["2′"]
    assert [r.url for r in requests[asked:] if r.resource_type in ("fetch", "xhr") and "heartbeat" not in r.url] == []
    # shifted: the number of looks stays as it was chosen
    height, width = np.asarray(draw_picture(0)).shape[:2]
    across, down = CellCentres.of(model.config, width, height).step
    choose(page, "shift")
    expect(page.locator(".what-if-after h3")).to_have_text("The same, shifted 1 cell to the right")
    page.locator("#what-if-y input[type=number]").fill("-2")
    page.keyboard.press("Tab")
    expect(page.locator(".what-if-after h3")).to_have_text("The same, shifted 1 cell to the right and 2 cells up")
    assert_moved(page, model, before, Move(dx=across, dy=-2 * down), 2)
    choose(page, "scale")
    expect(page.locator(".what-if-after h3")).to_have_text("The same, scaled to 160 %")
    assert_moved(page, model, before, Move(scale=1.6), 2)


def test_a_pasted_part_is_told_by_ranks(visit: Visit, model: tn.TNet, before: tn.Trace) -> None:
    page = visit(width=390, height=844, theme="dark")
    open_lab(page)
    choose(page, "paste")
    expect(page.locator(".what-if-after h3")).to_contain_text("copied onto")
    n, boxes, first = 5, before.cell_boxes(), cells(before)[0]
    target = max((0, 4, 20, 24), key=lambda cell: abs(cell // n - first // n) + abs(cell % n - first % n))
    after = tn.traverse(model, paste_part(np.asarray(draw_picture(0)), boxes[first], boxes[target]), before.budget)
    old, new = (trace.distributions[0].logits.ravel() for trace in (before, after))
    told = measure_pull(old, new, boxes, first, target)
    assert_looks(page, before, after, 5)
    facts = page.locator("[data-panel=scores] dd b").all_text_contents()
    assert facts[:2] == [f"{a + 1} → {b + 1} of 25" for a, b in (told.target, told.source)]
    assert facts[2] == format_signed(told.others)
    kept = len(set(cells(before)[:5]) & set(cells(after)[:5]))
    expect(page.locator(".what-if-verdict small:visible")).to_contain_text(f"{kept} of the first 5 looks")
    # on a telephone, in the dark
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    assert beyond(page, 390) == []
    faint = [(text, ratio) for text, ratio in contrasts(page, TEXTS) if ratio < 4.5]
    assert not faint
    # a part cannot be pasted onto itself: one sentence, and the page stays as it was
    title = page.locator(".what-if-after h3").text_content()
    page.locator("#what-if-target input").click()
    page.get_by_role("option", name=f"look 1: row {first // n + 1}, column {first % n + 1}").click()
    expect(page.locator("#what-if-problem")).to_contain_text("choose two different cells")
    assert page.locator(".what-if-after h3").text_content() == title


def test_a_part_is_dragged_anywhere_with_a_pointer_or_with_keys(visit: Visit, model: tn.TNet, before: tn.Trace) -> None:
    page = visit()
    page.get_by_role("tab", name="What if").click()
    expect(page.locator(".what-if-after h3")).to_contain_text("copied onto row")
    # from the middle of a cell of the left picture, a third of the picture to the left and up
    photo = page.locator(".what-if-before .tn-photo").bounding_box()
    assert photo is not None
    boxes, pixels = before.cell_boxes(), np.asarray(draw_picture(0))
    source = 18
    x0, y0, x1, y1 = boxes[source]
    x, y = photo["x"] + photo["width"] * (x0 + x1) / 2, photo["y"] + photo["height"] * (y0 + y1) / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x - 20, y - 9)
    page.mouse.move(x - 0.34 * photo["width"], y - 0.27 * photo["height"])
    expect(page.locator(".what-if-before .what-if-piece")).to_be_visible()
    page.mouse.up()
    expect(page.locator(".what-if-after h3")).to_contain_text("copied onto a place near")
    expect(page.locator(".what-if-piece")).to_have_count(0)
    named = parse_qs(urlsplit(wait_for_address(page, f"copy={source}")).query)
    assert named["copy"] == [str(source)]
    left, top = (int(at) / 1000 for at in named["onto"][0].split(","))
    assert (left, top) == pytest.approx((x0 - 0.34, y0 - 0.27), abs=0.004)
    assert_dropped(page, model, before, pixels, source, (left, top))
    # by keyboard the copy goes on from there
    copy = page.locator(".what-if-copy")
    title = page.locator(".what-if-after h3").text_content()
    copy.focus()
    for _ in range(6):
        page.keyboard.press("ArrowDown")
    expect(page.locator(".what-if-after h3")).not_to_have_text(title or "")
    assert_dropped(page, model, before, pixels, source, (left, round(top + 0.24, 3)))
    expect(page.locator(".what-if-copy")).to_be_focused()


def wait_for_address(page: Page, part: str) -> str:
    page.wait_for_function("part => decodeURIComponent(location.search).includes(part)", arg=part)
    return page.url


def assert_dropped(
    page: Page, model: tn.TNet, before: tn.Trace, pixels: np.ndarray, source: int, at: tuple[float, float]
) -> None:
    """The changed side shows the traversal of the picture with the part put there."""
    x0, y0, x1, y1 = before.cell_boxes()[source]
    place = (at[0], at[1], at[0] + x1 - x0, at[1] + y1 - y0)
    assert_looks(
        page, before, tn.traverse(model, paste_part(pixels, before.cell_boxes()[source], place), before.budget), 5
    )


@pytest.mark.parametrize(
    ("wish", "said"),
    [
        (["rotate", 0, 0, 100, 0, 1], "4 ways"),
        ([{"a": 1}, 0, 0, 100, 0, 1], "4 ways"),
        (["shift", 5, 0, 100, 0, 1], "A shift in cells"),
        (["shift", "<script>", 0, 100, 0, 1], "A shift in cells"),
        (["scale", 0, 0, 10**12, 0, 1], "A size in per cent"),
        (["paste", 0, 0, 100, 999, 1], "A cell"),
        (["paste", 0, 0, 100, 0, -1], "A cell"),
    ],
)
def test_anything_may_be_sent_and_is_answered_with_a_sentence(client: QueueClient, wish: list[Any], said: str) -> None:
    function = client.functions("input", client.component("what-if-kind"))[0]["id"]
    answer = client.call(function, [None, None, *wish])
    told = answer.outputs[client.component("what-if-problem")]
    assert said in told and "<script>" not in told
    view = answer.outputs[client.component("what-if-view")]
    assert isinstance(view, dict) and "value" not in view  # unchanged


@pytest.fixture(scope="module")
def client(server: str) -> QueueClient:
    """A visitor who has opened the tab."""
    opened = QueueClient(server)
    opened.happens("load")
    tab = next(n for n, part in opened.components.items() if part["props"].get("id") == "what-if")
    shown = opened.happens("select", tab)[0].outputs[opened.component("what-if-view")]
    assert "what-if-verdict" in shown
    return opened


def test_before_a_picture_was_looked_at_there_is_a_sentence(server: str) -> None:
    early = QueueClient(server)
    function = early.functions("input", early.component("what-if-kind"))[0]["id"]
    answer = early.call(function, [None, None, "flip", 0, 0, 100, 0, 1])
    assert "No picture was looked at yet" in answer.outputs[early.component("what-if-view")]
    early.close()
