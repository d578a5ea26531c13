"""The tab 'Audit' as a visitor sees it: the numbers of evaluation.json, and those of `tnet_core.explain`."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Page, expect

import tnet_core as tn
from pages.explore.service import Explorer
from pages.server.model_cache import ModelCache
from pages.server.sessions import NO_PICTURE
from pages.site import build_head, build_theme
from tests.browser.conftest import ROOT, Arrive
from tests.browser.reading import attributes, beyond, contrasts
from tests.support import audit_page
from tests.support.evaluation_cards import bundled, card
from tests.support.served_page import launched
from tests.viz.test_audit_reading import MOVES
from tnet_core import explain
from tnet_core.checkpoints import CheckpointCard
from tools.local_server import FINISHED
from viz.common.text import format_factor, format_number, format_percent, list_class_names, make_readable

Visit = Callable[..., Page]
BIRDS, NEEDLES = "tnet-lite0-cub", "tnet-needles"
TITLES = {about.source: about.title for about in bundled()}
CROSSED = """names => names.filter(name => {
  const { x, y, width, height } = name.getBBox();
  return [...name.ownerSVGElement.querySelectorAll('.audit-line')].some(line => {
    const length = line.getTotalLength();
    return Array.from({ length: 2000 }, (_, i) => line.getPointAtLength((i / 1999) * length)).some(
      at => at.x > x && at.x < x + width && at.y > y && at.y < y + height);
  });
}).map(name => name.textContent)"""
NASTY = "<img src=x onerror=\"document.title='broken'\"> ${1+1} {{x}}"
TEXTS = (
    "#audit h2, #audit h3, #audit p, #audit dt, #audit dd span, #audit td, #audit th, #audit small, #audit li, "
    "#audit button, #audit label span, #audit figcaption, #audit a, .audit-cells b"
)


def evaluation(name: str) -> dict[str, Any]:
    return json.loads((ROOT / "checkpoints" / name / "evaluation.json").read_text())


@pytest.fixture(scope="module")
def explorer() -> Explorer:
    """The bundled checkpoints, birds first."""
    cache = ModelCache(tn.checkpoints.Registry.load(), fallback="lite0-cub", device="cpu")
    cache.add(BIRDS, on_notice=lambda _: None)
    return Explorer(cache)


@pytest.fixture(scope="module")
def cards(tmp_path_factory: pytest.TempPathFactory) -> list[CheckpointCard]:
    """One of them is not nice: names that are HTML, and fields that are no numbers. Another has fewer fields."""
    raw = evaluation(NEEDLES) | {"equivariance": MOVES, "gap_closed": "none", "typical": [1, 2]}
    for entry in raw["heat_map"]["per_class"][:2]:
        entry["name"] = NASTY
    raw["heat_map"]["taken"][1] = "many"
    still = {name: part for name, part in evaluation(NEEDLES).items() if name != "equivariance"}
    return [
        *bundled(),
        card(tmp_path_factory.mktemp("nasty"), raw, source="nasty", title=NASTY),
        card(tmp_path_factory.mktemp("still"), still, source="still", title="Never moved"),
    ]


@pytest.fixture(scope="module")
def server(explorer: Explorer, cards: list[CheckpointCard]) -> Iterator[str]:
    with launched(audit_page.page(explorer, lambda: cards), theme=build_theme(), head=build_head()) as address:
        yield address


@pytest.fixture
def arrive() -> Arrive:
    """Opens the tab and waits for its report."""

    def there(page: Page) -> None:
        page.wait_for_selector(FINISHED)
        page.get_by_role("tab", name="Audit").click()
        page.wait_for_selector(".audit-card svg")

    return there


def open_details(page: Page) -> None:
    for summary in page.locator(".audit-details > summary").all():
        summary.click()


def open_report(page: Page) -> None:
    page.get_by_role("tab", name="Explore").click()
    page.locator("#audit-picture > button").click()
    page.wait_for_selector("#audit-report .audit-worth")


def choose(page: Page, field: str, name: str) -> None:
    page.click(f"{field} input")
    page.get_by_role("option", name=name).first.click()


def whole_percent(share: float) -> str:
    return "<1\u00a0%" if 0 < share < 0.005 else f"{int(100 * share + 0.5)}\u00a0%"


def test_the_four_cards_fit_one_screen_and_words_in_them_lie_on_no_line(visit: Visit) -> None:
    page = visit()
    for name in ("tnet-lite0-pets", BIRDS):
        choose(page, "#audit-chooser", TITLES[name])
        expect(page.locator(".audit-measured")).to_contain_text(TITLES[name])
        bottoms = page.locator(".audit-card, .audit-measured").evaluate_all(
            "all => all.map(one => one.getBoundingClientRect().bottom)"
        )
        assert max(bottoms) <= 900 and len(bottoms) == 5
        assert page.locator(".audit-chart text:is(.audit-name, .audit-strong)").evaluate_all(CROSSED) == []
        expect(page.locator(".audit-chart .audit-strong")).to_have_text("recommended rule")
    # a name that others pushed away from its line's end is joined to it
    ends = page.locator("[data-card=choosing] .audit-leader").evaluate_all(
        "all => all.map(line => ['y1', 'y2'].map(name => Number(line.getAttribute(name))))"
    )
    names = page.locator("[data-card=choosing] .audit-name").evaluate_all(
        "all => all.map(name => Number(name.getAttribute('y')) - 4)"
    )
    assert [end for _, end in ends] == names and any(abs(a - b) > 5 for a, b in ends)


def test_the_checkpoints_part_is_its_evaluation_and_moves_in_the_browser(visit: Visit) -> None:
    page, raw = visit(), evaluation(BIRDS)
    heat = raw["heat_map"]
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    expect(page.locator(".audit-measured")).to_contain_text(f"{TITLES[BIRDS]}, measured on CUB-200-2011")
    assert_graphics(page, raw)
    open_details(page)
    page.fill("[data-map-class]", "")  # all classes again
    lifts = [25 * p for p in heat["probability"]]
    np.testing.assert_allclose(attributes(page, "[data-shows=lift] [data-value]", "data-value"), lifts, atol=1e-4)
    assert page.locator("[data-shows=lift] b").all_text_contents() == [format_factor(lift) for lift in lifts]
    page.focus("[data-map-looks]")
    for key, k in (("End", 10), ("Home", 1), ("ArrowRight", 2)):  # 2 as in training
        page.keyboard.press(key)
        shares = [count / heat["images"] for count in heat["taken"][k - 1]]
        assert page.locator("[data-shows=taken] b").all_text_contents() == [whole_percent(share) for share in shares]
        expect(page.locator("[data-map-looks]")).to_have_attribute("aria-valuetext", f"{k} of 10 looks")
        expect(page.locator("[data-map-bias]")).to_have_text(format_number(heat["centre_bias"]["after_looks"][k - 1]))
    facts = page.locator(".audit-facts b").all_text_contents()
    told = heat["centre_bias"]
    assert facts[1:] == [
        format_percent(told["first_look_at_centre"]),
        format_percent(told["first_look_at_mean_favourite"]),
        format_number(told["entropy_of_first_look"]),
    ]
    # one class: only 1 and 2 looks were counted
    entry = heat["per_class"][5]
    page.fill("[data-map-class]", make_readable(entry["name"]))
    shares = [count / entry["images"] for count in entry["taken_trained"]]
    assert page.locator("[data-shows=taken] b").all_text_contents() == [whole_percent(share) for share in shares]
    page.focus("[data-map-looks]")
    page.keyboard.press("End")
    expect(page.locator("[data-shows=taken] .audit-said")).to_contain_text("the first 2 looks")
    expect(page.locator("[data-shows=taken] .audit-said")).to_contain_text("10 looks were not counted")
    page.fill("[data-map-class]", "")
    expect(page.locator("[data-shows=taken] .audit-said")).to_contain_text(
        "All classes, 597 images, the first 10 looks"
    )
    assert_classes(page, heat["per_class"])
    assert requests == []


def assert_graphics(page: Page, raw: dict[str, Any]) -> None:
    """Four cards on one screen, one graphic each, as many marks as the file has numbers."""
    boxes = [card.bounding_box() for card in page.locator(".audit-card").all()]
    assert len(boxes) == 4 and all(box is not None and box["y"] + box["height"] <= 950 for box in boxes)
    policies = [name for name in raw["policies"] if name != "without_context"]
    lines = page.locator("[data-card=choosing] [data-line]")
    expect(lines).to_have_count(len(policies) + 1)  # and the difference
    names = page.locator("[data-card=choosing] .audit-name").all_text_contents()
    assert set(names) == {"random", "centre", "same for all", "surest of all", "hindsight", "learned"}
    scores = [raw["equivariance"]["score"], *(move["score"] for move in raw["equivariance"]["transforms"].values())]
    assert attributes(page, "[data-card=content] [data-score]", "data-score") == scores
    counted = [entry for entry in raw["heat_map"]["per_class"] if entry["images"] >= 5]
    expect(page.locator("[data-card=classes] .audit-class")).to_have_count(len(counted))
    worst = page.locator(".audit-worst button").first
    worst.click()
    name = worst.locator("span").text_content() or ""
    expect(page.locator(".audit-picked")).to_contain_text(f"{name}: ")
    expect(page.locator(".audit-class.audit-chosen")).to_have_count(1)
    expect(page.locator("[data-shows=taken] .audit-said")).to_contain_text(f"{name}, ")
    page.locator(".audit-class").last.dispatch_event("click")
    expect(page.locator(".audit-picked")).not_to_contain_text(f"{name}: ")


def assert_classes(page: Page, entries: list[dict[str, Any]]) -> None:
    """The table is sorted, searched and opened in the browser."""
    names = page.locator(".audit-byclass tbody tr:visible th")
    assert names.all_text_contents() == [make_readable(entry["name"]) for entry in entries[:12]]
    page.click("[data-sort=top1]")
    page.click("[data-sort=top1]")  # the worst first
    expect(page.locator(".audit-byclass th[aria-sort=ascending]")).to_have_text("top-1 accuracy")
    shown = page.locator(".audit-byclass tbody tr:visible").all()
    assert attributes(page, ".audit-byclass tbody tr:visible", "data-top1") == pytest.approx(
        sorted(entry["top1"] for entry in entries)[:12]
    )
    assert len(shown) == 12
    page.fill("[data-find]", "gull")
    gulls = {make_readable(entry["name"]) for entry in entries if "gull" in entry["name"].lower()}
    assert set(names.all_text_contents()) == gulls and len(gulls) > 3
    page.fill("[data-find]", "no such bird")
    expect(page.locator("[data-nothing]")).to_be_visible()
    page.fill("[data-find]", "")
    page.click("[data-more]")
    expect(page.locator(".audit-byclass tbody tr:visible")).to_have_count(len(entries))
    chosen = names.nth(3).text_content() or ""
    names.nth(3).locator("button").click()
    expect(page.locator("[data-map-class]")).to_have_value(chosen)
    expect(page.locator("[data-shows=taken] .audit-said")).to_contain_text(f"{chosen}, ")


def test_the_pictures_part_is_what_explain_computes(visit: Visit, explorer: Explorer) -> None:
    page = visit()
    open_report(page)
    session, _ = explorer.open_picture(explorer.landing, 0)
    trace = explorer.open_trace(session)
    assert_report(page, trace.only(range(8)), trace.only(range(8)).prediction)
    _, info = explorer.load_picture(session.spec, 0)
    expect(page.locator(".audit-subject")).to_contain_text(info.title)
    other = int(np.argsort(-trace.logits())[3])
    page.click("#audit-class input")
    page.keyboard.press("Control+A")
    page.keyboard.type(list_class_names(trace)[other])
    page.get_by_role("option", name=list_class_names(trace)[other]).first.click()
    page.wait_for_selector(f"#audit-report [data-class='{other}']")
    assert_report(page, trace.only(range(8)), other)
    page.fill("#audit-looks input[type=number]", "12")
    page.keyboard.press("Tab")
    expect(page.locator("#audit-report [data-weight]")).to_have_count(13)
    assert_report(page, trace.only(range(12)), other)
    # another checkpoint is explored: the panel follows, with looks inside looks, and so does the tab
    choose(page, "#explore-chooser", TITLES[NEEDLES])
    expect(page.locator(".tn-grid h3").nth(1)).to_be_visible()
    expect(page.locator(".audit-subject")).to_contain_text(explorer.load_picture(NEEDLES, 0)[1].title)
    deep = explorer.open_trace(explorer.open_picture(NEEDLES, 0)[0])
    deep = deep.only(deep.select(budget=(3, 1)))
    names = [text.partition(" heavy")[0] for text in page.locator(".audit-worth tbody th").all_text_contents()]
    assert names == ["context", "look 1", "look 2", "look 3", "look 1.1", "look 2.1", "look 3.1"]
    assert_report(page, deep, deep.prediction)
    page.get_by_role("tab", name="Audit").click()
    expect(page.locator(".audit-measured")).to_contain_text(TITLES[NEEDLES])


def assert_report(page: Page, kept: tn.Trace, cls: int) -> None:
    found = explain.faithfulness(kept, cls)
    close: dict[str, Any] = {"atol": 2e-6}
    for name, values in (
        ("share", found.contributions.values),
        ("weight", found.weights),
        ("shapley", found.shapley),
        ("without", found.left_out_probability.without),
        ("without-logit", found.left_out.without),
    ):
        shown = attributes(page, f"#audit-report [data-{name}]", f"data-{name}")
        np.testing.assert_allclose(shown, values, **close, err_msg=name)
    for name, values in (("sufficiency", found.sufficiency), ("necessity", found.necessity)):
        chart = page.locator(f"[data-lines-of={name}] [data-curves]")
        lines = json.loads(chart.get_attribute("data-curves") or "")["lines"]
        (points,) = (line["points"] for line in lines if line["name"] == "learned")
        np.testing.assert_allclose([value for _, value in points], values[1:], **close)
        expect(chart.locator("svg circle")).to_have_count(len(points))
    charts = page.locator("#audit-report [data-chart-lines]")
    for chart, course in zip(charts.all(), (found.insertion, found.deletion), strict=True):
        lines = json.loads(chart.get_attribute("data-chart-lines") or "")["lines"]
        (shown,) = (line["values"] for line in lines if line["kind"] == "network")
        np.testing.assert_allclose(shown, course.network, **close)
        expect(chart.locator("svg circle")).to_have_count(len(course.network))  # it is drawn, a dot per number
    areas = page.locator("[data-course=insertion] [data-area]").all_text_contents()
    course = found.insertion
    expected = (explain.area(course.network), course.random_areas.mean(), explain.area(course.oracle))
    assert areas == [format_number(float(value)) for value in expected]
    beaten = page.locator("#audit-report [data-beaten]").all_text_contents()
    assert beaten == [f"{round(100 * s)} of 100" for s in (found.beaten_by_insertion, found.beaten_by_deletion)]
    assert attributes(page, "#audit-report [data-violations]", "data-violations") == [len(found.violations)]
    assert attributes(page, "#audit-report [data-disagreements]", "data-disagreements") == [len(found.disagreements)]


def test_a_panel_that_was_opened_first_follows_as_soon_as_there_is_a_picture(
    visit: Visit, explorer: Explorer, monkeypatch: pytest.MonkeyPatch
) -> None:
    go, traverse = threading.Event(), explorer.open_picture

    def held(*asked: Any, **how: Any) -> Any:
        go.wait(60)
        return traverse(*asked, **how)

    monkeypatch.setattr(explorer, "open_picture", held)
    try:
        page = visit(arrive=lambda page: page.locator("#audit-picture > button").click())
        expect(page.locator("#audit-report")).to_have_text(NO_PICTURE)
    finally:
        go.set()
    expect(page.locator("#audit-report .audit-worth")).to_be_visible()
    expect(page.locator(".audit-subject")).to_contain_text(explorer.load_picture(BIRDS, 0)[1].title)
    expect(page.locator("#audit-class")).to_be_visible()


def test_other_checkpoints_damaged_ones_and_those_without_looks(visit: Visit) -> None:
    page = visit()
    choose(page, "#audit-chooser", TITLES["en-lite0-cub-160"])
    expect(page.locator("#audit-board")).to_contain_text("there are no looks, and no policy to audit")
    choose(page, "#audit-chooser", TITLES[NEEDLES])
    expect(page.locator("[data-panel=gap] [data-gap]")).to_have_count(2)
    choose(page, "#audit-chooser", "Never moved")
    expect(page.locator("[data-card=content]")).to_contain_text("no equivariance scores")
    choose(page, "#audit-chooser", NASTY)
    expect(page.locator("#audit-board .audit-measured")).to_contain_text(NASTY)
    expect(page.locator("[data-card=content] [data-score]")).to_have_count(3)
    assert attributes(page, "[data-card=content] [data-score]", "data-score") == [0.31, 0.62, -0.2]
    expect(page.locator("[data-panel=typical]")).to_have_count(0)
    open_details(page)
    expect(page.locator("[data-map-looks]")).to_have_attribute("max", "1")  # the second row of counts is damaged
    rows = page.locator(".audit-byclass tbody th").all_text_contents()
    assert rows[:2] == [make_readable(NASTY), f"{make_readable(NASTY)} (2)"]
    page.locator(".audit-byclass [data-choose]").nth(1).click()
    expect(page.locator("[data-shows=taken] .audit-said")).to_contain_text(f"{make_readable(NASTY)} (2), 100 images")
    assert page.title() != "broken" and page.locator("#audit-board img:not([src^=data])").count() == 0


def test_nothing_is_cut_off_on_a_telephone_and_all_is_readable_in_light_and_dark(visit: Visit) -> None:
    page = visit(width=390, height=844, theme="dark")
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    assert page.evaluate("document.documentElement.scrollHeight") < 11_700 / 3
    open_details(page)
    assert beyond(page, 390) == []
    page.add_style_tag(content="* { transition: none !important; }")  # colours are read at once
    for dark in (True, False):
        page.evaluate("dark => document.body.classList.toggle('dark', dark)", dark)
        texts = contrasts(page, TEXTS)
        assert len(texts) > 150
        assert {text: round(value, 2) for text, value in texts if value < 4.5} == {}
