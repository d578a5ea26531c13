"""The tab 'Accuracy vs locations' as a visitor sees it, on a page of its own."""

from __future__ import annotations

import csv
import json
import re
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.sync_api import Page, expect

from pages.site import build_theme
from tests.browser.conftest import ROOT, Arrive
from tests.browser.reading import contrasts
from tests.support import accuracy_page
from tests.support.accuracy_page import TAB
from tests.support.checkpoints import EVALUATION
from tests.support.evaluation_cards import bundled, card
from tests.support.served_page import launched
from tnet_core.checkpoints import CheckpointCard
from tnet_core.published import paper_rows
from viz.common.page import build_page_head

Visit = Callable[..., Page]
SLIDER = "#accuracy-looks input[type=range]"
CHART = "#accuracy-chart .accuracy-plot"
BIRDS = "tnet-lite0-cub"
TEXTS = (
    "#accuracy h2, #accuracy h3, #accuracy p, #accuracy li span, #accuracy td, #accuracy th span, "
    "#accuracy small, #accuracy label span, .accuracy-badge, .accuracy-download, .accuracy-jump, .accuracy-note, "
    "#accuracy-chart svg text"
)


@pytest.fixture(scope="module")
def cards() -> list[CheckpointCard]:
    return bundled()


@pytest.fixture(scope="module")
def server(cards: list[CheckpointCard]) -> Iterator[str]:
    with launched(accuracy_page.page(cards), theme=build_theme(), head=build_page_head()) as address:
        yield address


@pytest.fixture
def arrive() -> Arrive:
    """Opens the tab and waits for its chart."""

    def there(page: Page) -> None:
        page.get_by_role("tab", name=TAB).click()
        page.wait_for_selector(f"{CHART} svg [data-curve]")

    return there


def evaluation(name: str) -> dict[str, Any]:
    return json.loads((ROOT / "checkpoints" / name / "evaluation.json").read_text())


def cell(page: Page, curve: str, column: str) -> Any:
    return page.locator(f"section:not([hidden]) tr[data-curve='{curve}'] td[data-label='{column}']")


def choose(page: Page, data_set: str) -> None:
    page.click("#accuracy-data input")
    page.get_by_role("option", name=data_set).first.click()


def traces(page: Page) -> dict[str, dict[str, Any]]:
    """What is drawn, by curve."""
    drawn = page.evaluate(
        f"""[...document.querySelectorAll('{CHART} [data-curve]')].map(g => {{
              const {{ id, x, y }} = document.querySelector('{CHART}').chart.curves.find(c => c.id === g.dataset.curve);
              const line = g.querySelector('polyline'), mark = g.querySelector('path[transform]');
              return {{ id, x, y, dashes: line?.getAttribute('stroke-dasharray') ?? null,
                       hollow: mark?.getAttribute('fill') === 'none' }}; }})"""
    )
    return {curve["id"]: curve for curve in drawn}


def wait_for_axis(page: Page, title: str) -> None:
    page.wait_for_function(
        "([chart, title]) => document.querySelector(chart)?.textContent.includes(title)", arg=[CHART, title]
    )


def test_the_landing_shows_both_kinds_of_numbers_and_the_slider_moves_them(visit: Visit) -> None:
    page = visit()
    assert_kinds_look_different(page)
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    rows = evaluation(BIRDS)["budgets"]
    page.focus(SLIDER)
    expect(page.locator(SLIDER)).to_have_attribute("aria-valuetext", f"3 of {len(rows) - 1} looks")
    for key, k in (("ArrowLeft", 2), ("Home", 0), ("End", len(rows) - 1), ("ArrowLeft", len(rows) - 2)):
        page.keyboard.press(key)
        assert_shows(page, k, rows[k])
    assert requests == []  # what every stop shows was sent along
    page.get_by_label("ResNet-50", exact=True).click()  # the server goes on from where the slider stands
    expect(cell(page, "published/cub:ResNet-50", "Top-1")).to_have_text("84.5 %")
    assert_shows(page, len(rows) - 2, rows[-2])


def assert_shows(page: Page, k: int, row: dict[str, Any]) -> None:
    """Table and chart are those of k looks."""
    expect(page.locator(".accuracy-title:visible")).to_have_text(f"With {k} looks" if k else re.compile("With no look"))
    expect(cell(page, f"measured/{BIRDS}", "Looks")).to_have_text(str(k))
    low, high = row["top1_interval"]
    text = f"{100 * row['top1']:.1f} % {100 * low:.1f}–{100 * high:.1f}"
    expect(cell(page, f"measured/{BIRDS}", "Top-1")).to_have_text(text)
    expect(cell(page, f"measured/{BIRDS}", "Top-5")).to_contain_text(f"{100 * row['top5']:.1f} %")
    near = min(k, 5)
    printed = paper_rows("cub:TNet-B0")[(near,)]
    expect(cell(page, "published/cub:TNet-B0", "Looks")).to_have_text(
        f"{near}" if near == k else f"{near} nearest to {k}"
    )
    expect(cell(page, "published/cub:TNet-B0", "Top-1")).to_have_text(f"{printed.top1:.1f} %")
    page.wait_for_function(
        """([chart, k, own, printed]) => {
             const drawn = document.querySelector(chart), rings = [...drawn.querySelectorAll('circle')];
             const line = drawn.querySelector('.accuracy-rings line');
             const marks = id => [...drawn.querySelectorAll(`[data-curve="${id}"] path[transform]`)].map(mark =>
               mark.getAttribute('transform').match(/[-\\d.]+/g).map(Number));
             const ringed = (id, at) => rings.some(ring => Math.hypot(
               ring.getAttribute('cx') - marks(id)[at][0], ring.getAttribute('cy') - marks(id)[at][1]) < 0.5);
             const label = drawn.querySelector('.accuracy-rings text').textContent;
             return Math.abs(line.getAttribute('x1') - marks(own)[k][0]) < 0.5
               && label === (k ? `${k} look${k === 1 ? '' : 's'}` : 'no looks')
               && ringed(own, k) && ringed(printed, Math.min(k, 5)); }""",
        arg=[CHART, k, f"measured/{BIRDS}", "published/cub:TNet-B0"],
    )


def assert_kinds_look_different(page: Page) -> None:
    """In chart, legend, caption and table."""
    drawn = traces(page)
    measured, printed = drawn[f"measured/{BIRDS}"], drawn["published/cub:TNet-B0"]
    assert (measured["hollow"], measured["dashes"]) == (False, None)
    assert printed["hollow"] and printed["dashes"]
    named = page.locator(f"{CHART} [data-name='published/cub:TNet-B0'] text")
    expect(named).to_have_text(re.compile(r"^TNet-B0 \(paper\)\s*$"))
    expect(page.locator("#accuracy-legend li:visible, #accuracy-legend h3:visible")).to_have_count(0)  # not twice
    page.set_viewport_size({"width": 390, "height": 844})  # names would be cut here: the legend has them
    expect(page.locator(f"{CHART} [data-name]")).to_have_count(0)
    expect(page.locator("#accuracy-legend .accuracy-measured h3")).to_have_text("Measured here")
    expect(page.locator("#accuracy-legend .accuracy-published h3")).to_have_text("Published in the paper")
    curves = page.locator(f"{CHART} [data-curve]").count()
    expect(page.locator("#accuracy-legend li:visible")).to_have_count(curves)
    fills = [
        page.locator(f"#accuracy-legend .accuracy-{kind} li path").last.get_attribute("fill")
        for kind in ("measured", "published")
    ]
    assert fills[0] != "none" and fills[1] == "none"
    page.set_viewport_size({"width": 1440, "height": 900})
    expect(named).to_be_visible()
    expect(page.locator(".accuracy-head")).to_contain_text("Hollow markers, dashed lines: printed in the paper")
    expect(cell(page, f"measured/{BIRDS}", "Source")).to_have_text("measured here")
    expect(cell(page, "published/cub:TNet-B0", "Source")).to_have_text("published (paper)")


def test_axes_data_set_and_curves_follow_the_choice(visit: Visit) -> None:
    page = visit()
    content = evaluation(BIRDS)
    page.locator("#accuracy-x").get_by_text("FLOPs", exact=True).click()
    wait_for_axis(page, "GFLOPs per image")
    drawn = traces(page)[f"measured/{BIRDS}"]
    assert drawn["x"] == pytest.approx([row["flops"] / 1e9 for row in content["budgets"]])
    page.locator("#accuracy-y").get_by_text("Recall", exact=True).click()
    wait_for_axis(page, "Recall: share of the object")
    drawn = traces(page)[f"measured/{BIRDS}"]
    assert drawn["y"] == pytest.approx([100 * share for share in content["attention"]["learned"]["recall"]])
    expect(page.locator("#accuracy-legend")).to_contain_text("TNet-B0: not stated")
    page.locator("#accuracy-x").get_by_text("Time", exact=True).click()
    wait_for_axis(page, "milliseconds per image")
    times = [row["ms_per_image"] for row in content["budgets"][1:]]  # without a look there is no recall
    assert traces(page)[f"measured/{BIRDS}"]["x"] == pytest.approx(times)
    machine = f"{content['run']['machine']['processor']}, {content['run']['machine']['threads']} threads"
    expect(page.locator(".accuracy-head")).to_contain_text(f"Times: one image at a time on {machine}.")
    expect(page.locator("#accuracy-legend .accuracy-measured h3")).to_have_text(f"Measured here, on {machine}")
    expect(cell(page, f"measured/{BIRDS}", "Time")).to_contain_text(f" ms {machine}")
    choose(page, "ImageNet")
    expect(cell(page, "published/imagenet:TNet", "Time")).to_have_text("2.7 ms Quadro RTX 8000, batches of 64")
    expect(page.locator("#accuracy-measured")).not_to_be_visible()
    expect(page.locator(SLIDER)).to_have_attribute("max", "30")
    page.get_by_label("DRAM", exact=True).click()
    expect(page.locator("tr[data-curve='published/imagenet:DRAM']")).to_have_count(0)
    expect(page.locator(f"{CHART} [data-curve*=DRAM]")).to_have_count(0)


def test_curves_have_their_names_at_their_ends_and_a_marker_says_what_is_known_of_it(visit: Visit) -> None:
    page = visit()
    for name in page.locator(f"{CHART} [data-curve]").evaluate_all("all => all.map(one => one.dataset.curve)"):
        words = page.locator(f"{CHART} [data-name='{name}'] text")
        expect(words).to_have_count(1)
        label = page.locator(f"section:not([hidden]) tr[data-curve='{name}'] th").text_content() or ""
        assert (words.text_content() or "").removesuffix(" (paper) ").strip() == label  # nothing is cut off
    places = page.locator(f"{CHART} [data-name] text").evaluate_all("all => all.map(one => +one.getAttribute('y'))")
    assert all(abs(a - b) >= 14 for i, a in enumerate(places) for b in places[:i])  # none lies on another
    page.locator(f"{CHART} [data-curve='measured/{BIRDS}'] path").nth(2).hover()
    row = evaluation(BIRDS)["budgets"][2]
    expect(page.locator(".accuracy-known")).to_contain_text(f"looks 2\ntop-1 {100 * row['top1']:.1f} %")


def test_numbers_of_others_are_ticked_apart_and_stand_among_flops(visit: Visit) -> None:
    page = visit()
    page.locator("#accuracy-peers").get_by_text("AdaptiveNN").click()
    expect(page.locator(".accuracy-head")).to_contain_text("published by others")
    expect(page.locator("section:not([hidden]) tr.accuracy-peer .accuracy-badge").first).to_have_text(
        "published (others)"
    )
    assert not [name for name in traces(page) if name.startswith("peer/")]
    page.locator("#accuracy-x").get_by_text("FLOPs", exact=True).click()
    wait_for_axis(page, "GFLOPs per image")
    (others,) = [curve for name, curve in traces(page).items() if name.startswith("peer/")]
    assert (others["x"], others["y"]) == ([1.58, 2.8], [84.6, 87.5]) and others["hollow"] and others["dashes"]


def test_the_csv_holds_what_is_selected_and_later_checkpoints_can_be_ticked(
    visit: Visit, cards: list[CheckpointCard], tmp_path: Path
) -> None:
    page = visit()
    with page.expect_download() as saving:
        page.click(".accuracy-download")
    assert saving.value.suggested_filename == "tnet-comparison-cub-200-2011.csv"
    saving.value.save_as(tmp_path / "saved.csv")
    with (tmp_path / "saved.csv").open(newline="", encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    content = evaluation(BIRDS)
    own = [line for line in lines if line["curve"] == lines[0]["curve"]]
    assert [float(line["top1"]) for line in own] == [row["top1"] for row in content["budgets"]]
    assert [line["recall"] for line in own] == ["", *map(str, content["attention"]["learned"]["recall"])]
    printed = {line["looks"]: line for line in lines if line["curve"] == "TNet-B0"}
    assert (printed["3"]["top1"], printed["3"]["flops"], printed["3"]["kind"]) == ("0.8766", "1550000000", "published")
    assert len({line["curve"] for line in lines}) == page.locator("#accuracy-table tbody tr:visible").count()

    name = "<img src=x onerror=document.title='broken'>"
    cards.append(card(tmp_path, EVALUATION, title=name))
    page.get_by_role("tab", name="Elsewhere").click()
    page.get_by_role("tab", name=TAB).click()
    choose(page, "Garden birds")
    expect(cell(page, "measured/birds", "Top-1")).to_have_text("69.0 %")
    expect(page.locator("tr[data-curve='measured/birds'] th:visible")).to_have_text(name)
    assert page.title() != "broken" and page.locator("#accuracy img").count() == 0


def test_nothing_is_cut_off_on_a_telephone_and_all_is_readable_in_light_and_dark(visit: Visit) -> None:
    page = visit(width=390, height=844, theme="dark")
    page.click(".accuracy-why summary")
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    beyond = page.evaluate(
        """[...document.querySelectorAll('#accuracy *')].filter(e => {
             const r = e.getBoundingClientRect(); return r.width && (r.right > 391 || r.left < -1); })
           .map(e => e.className.baseVal ?? e.className)"""
    )
    assert beyond == []
    assert page.locator(CHART).bounding_box()["width"] > 330  # type: ignore[index]
    page.add_style_tag(content="* { transition: none !important; }")  # colours are read at once
    grounds = []
    for dark in (True, False):
        page.evaluate("dark => document.body.classList.toggle('dark', dark)", dark)
        grounds.append(page.evaluate("getComputedStyle(document.querySelector('gradio-app')).backgroundColor"))
        texts = contrasts(page, TEXTS)
        assert len(texts) > 40
        assert {text: round(value, 2) for text, value in texts if value < 4.5} == {}
    assert grounds[0] != grounds[1]


@pytest.mark.parametrize("wrong", [None, -4, "nothing", ["?"], {"a": 1}])
def test_values_that_no_browser_sends_are_answered_without_an_error(server: str, wrong: Any) -> None:
    with httpx.Client(base_url=f"{server}/gradio_api", trust_env=False, timeout=30) as client:
        listeners = httpx.get(f"{server}/config", trust_env=False, timeout=30).json()["dependencies"]
        asking = [listener for listener in listeners if listener["backend_fn"]]
        assert len(asking) == 2
        for listener in asking:
            session = uuid.uuid4().hex
            data = [wrong] * len(listener["inputs"])
            body = {"fn_index": listener["id"], "data": data, "session_hash": session}
            client.post("/queue/join", json=body).raise_for_status()
            with client.stream("GET", "/queue/data", params={"session_hash": session}) as stream:
                events = [json.loads(line[6:]) for line in stream.iter_lines() if line.startswith("data: ")]
            (finished,) = [event for event in events if event["msg"] == "process_completed"]
            assert finished["success"], finished
