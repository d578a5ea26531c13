"""The first seconds of a visitor: what the page opens with, what it plays, and what it says."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page, expect

import tnet_core as tn
from tests.browser.landing.visit import OPENING, PETS, Open, traverse_example
from tests.browser.reading import assert_shows, wait_for_looks
from tests.support.stage_page import scene, staged
from tools.local_server import FINISHED
from viz.common.text import format_class_name, format_percent, format_signed
from viz.examples import EXAMPLES_FOLDER

MOMENT = ".tn-moment"


def write_moment(trace: tn.Trace, k: int, step: bool = True) -> str:
    """The sentence as it follows from the trace alone: of a step, or of all looks together."""

    def believe(looks: int) -> tuple[int, float]:
        share = trace.probabilities(looks)
        return int(share.argmax()), float(share.max())

    now, sure = believe(k)
    belief = f"{format_class_name(trace, now)} {format_percent(sure)}"
    if k == 0:
        return f"From the thumbnail: {belief}."
    if not step:
        first, sure_first = believe(0)
        thumbnail = f"{format_class_name(trace, first)} {format_percent(sure_first)}"
        count = "1 look" if k == 1 else f"{k} looks"
        return f"From the thumbnail: {thumbnail}. After {count}: {'still ' if first == now else ''}{belief}."
    then, before = believe(k - 1)
    origin = "From the thumbnail" if k == 1 else "After 1 look" if k == 2 else f"After {k - 1} looks"
    points = 100 * (sure - float(trace.probabilities(k - 1)[now]))
    gain = "no change" if abs(points) < 0.1 else f"{format_signed(points)} points"
    return (
        f"{origin}: {format_class_name(trace, then)} {format_percent(before)}. It looks here: {k}. "
        f"{'Still' if now == then else 'Now'} {belief}, {gain}."
    )


def test_the_page_opens_with_a_picture_whose_answer_one_look_changes(arrive: Open, dogs: tn.Trace) -> None:
    page = arrive(motion=False)
    assert_shows(page, dogs, OPENING)  # the end, where motion is reduced
    expect(page.locator("figcaption")).to_contain_text("Two dogs")
    expect(page.locator("#explore-chooser input")).to_have_value("Pets, 37 breeds")
    beliefs = [int(dogs.logits(k).argmax()) for k in range(OPENING + 1)]
    assert beliefs[0] != beliefs[1] == beliefs[2]
    expect(page.locator(MOMENT)).to_have_text(write_moment(dogs, OPENING, step=False))  # the whole story
    assert page.url.endswith("/?")  # the landing has the short address


def test_the_landing_costs_a_megabyte_and_a_hundred_requests_at_most(arrive: Open, browser: BrowserContext) -> None:
    """Measured in a browser that was never here, until nothing more comes for a second."""
    address = arrive(motion=False).url
    assert browser.browser is not None
    context = browser.browser.new_context(reduced_motion="reduce")
    page, asked, received = context.new_page(), dict[str, str](), dict[str, int]()
    network = context.new_cdp_session(page)
    network.send("Network.enable")

    def count(event: dict[str, Any]) -> None:
        identity = event["requestId"]
        received[identity] = received.get(identity, 0) + event["encodedDataLength"]

    network.on("Network.requestWillBeSent", lambda event: asked.update({event["requestId"]: event["request"]["url"]}))
    network.on("Network.dataReceived", count)  # streams are still open
    network.on(
        "Network.loadingFinished", lambda event: received.update({event["requestId"]: event["encodedDataLength"]})
    )
    page.goto(address)
    page.wait_for_selector(FINISHED, timeout=60_000)
    before = -1
    while before != sum(received.values()):
        before = sum(received.values())
        page.wait_for_timeout(1_000)
    context.close()
    sent = [identity for identity, url in asked.items() if url.startswith("http")]
    assert len(sent) <= 100
    assert 300_000 < sum(received.get(identity, 0) for identity in sent) <= 977_000


def test_chosen_stories_are_marked_and_one_of_them_goes_wrong(arrive: Open) -> None:
    page = arrive(motion=False)
    marks = page.locator(".tn-example small")
    assert [text.startswith("chosen: ") for text in marks.all_text_contents()] == [True, True]
    expect(marks.nth(1)).to_contain_text("goes wrong")
    page.locator(".tn-example").nth(1).click()
    expect(page.locator("figcaption")).to_contain_text("Cat")
    cat = traverse_example("cat.jpg")
    answers = {format_class_name(cat, int(cat.logits(k).argmax())) for k in (0, OPENING)}
    assert answers == {"Abyssinian", "Bengal"}  # a tabby is neither
    expect(page.locator(".tn-classes .tn-first span")).to_have_text("Bengal")
    expect(page.locator(".tn-classes em")).to_have_count(0)  # no label: none of the classes is right


def test_a_link_without_a_checkpoint_means_the_first_of_the_registry(arrive: Open) -> None:
    page = arrive("example=drum&looks=3", motion=False)
    expect(page.locator("#explore-chooser input")).to_have_value("Any photograph, 1000 classes")
    expect(page.locator("figcaption")).to_contain_text("Drum")
    wait_for_looks(page, 3)
    expect(page.locator(".tn-problem")).to_have_count(0)


def test_the_sentence_says_what_the_trace_says_at_every_step(arrive: Open, dogs: tn.Trace) -> None:
    page = arrive(motion=False)
    moment = page.locator(MOMENT)
    assert (moment.get_attribute("role"), moment.get_attribute("aria-live")) == ("status", "polite")
    page.focus(".tn-scrub input")
    page.keyboard.press("Home")
    for k in range(len(dogs.locations) + 1):
        expect(moment).to_have_text(write_moment(dogs, k))
        assert page.get_attribute(".tn-scrub input", "aria-valuetext") == f"{k} of 25 looks"
        page.keyboard.press("ArrowRight")
    for key, k in (("4", 4), ("9", 9)):  # not a step
        page.keyboard.press(key)
        expect(moment).to_have_text(write_moment(dogs, k, step=False))
    page.click("[data-go=last]")
    expect(moment).to_have_text(write_moment(dogs, len(dogs.locations), step=False))


def test_it_plays_once_on_arrival_and_the_address_stays_short(arrive: Open, dogs: tn.Trace) -> None:
    page = arrive()
    for k in range(OPENING + 1):
        expect(page.locator(MOMENT)).to_have_text(write_moment(dogs, k))
    expect(page.locator("[data-go=play]")).to_have_attribute("aria-label", "Play")  # it has ended
    expect(page.locator(MOMENT)).to_have_text(write_moment(dogs, OPENING, step=False))
    page.wait_for_timeout(2500)
    assert_shows(page, dogs, OPENING)
    assert page.url.endswith("/?")
    page.locator(".tn-example").nth(1).click()  # another picture is shown as it is
    expect(page.locator("figcaption")).to_contain_text("Cat")
    wait_for_looks(page, OPENING)


def test_any_interaction_stops_it(arrive: Open) -> None:
    interactions: dict[str, Callable[[Page], object]] = {
        "key": lambda page: page.keyboard.press("Shift"),
        "pointer": lambda page: page.locator("h1").click(),
        "wheel": lambda page: page.mouse.wheel(0, 40),
    }
    pages: dict[str, Page] = {}
    for name, interact in interactions.items():
        page = pages[name] = arrive()
        wait_for_looks(page, 1)
        interact(page)
        expect(page.locator("[data-go=play]")).to_have_attribute("aria-label", "Play")
    page.wait_for_timeout(2500)
    for page in pages.values():
        wait_for_looks(page, 1)


@pytest.mark.parametrize("query", [f"checkpoint={PETS}&example=two-dogs&looks=2", "tour=1"])
def test_what_a_link_shows_is_not_played(arrive: Open, query: str) -> None:
    page = arrive(query)
    expect(page.locator("[data-go=play]")).to_have_attribute("aria-label", "Play")
    if query.startswith("checkpoint"):
        wait_for_looks(page, OPENING)


def test_a_page_without_a_server_does_not_play_by_itself(
    browser: BrowserContext, dogs: tn.Trace, tmp_path: Path
) -> None:
    page = staged(browser, scene(dogs, EXAMPLES_FOLDER / "dogs.jpg", "Two dogs"), tmp_path, alone=True)
    page.emulate_media(reduced_motion="no-preference")
    page.reload()
    page.wait_for_selector(FINISHED)
    expect(page.locator("[data-go=play]")).to_have_attribute("aria-label", "Play")
    expect(page.locator(MOMENT)).to_have_text(write_moment(dogs, OPENING, step=False))
    page.close()


def test_digits_and_z_work_wherever_no_text_is_written(arrive: Open) -> None:
    page = arrive(motion=False)
    for place in (".tn-scrub input", ".tn-spot input", ".tn-keys [data-go=play]"):
        page.focus(place)
        page.keyboard.press("4")
        wait_for_looks(page, 4)
        page.keyboard.press("1")
        wait_for_looks(page, 1)
    page.focus("[data-measure]")
    page.keyboard.press("4")  # a list goes to the option that begins with it
    wait_for_looks(page, 1)
    page.keyboard.press("z")
    expect(page.locator("dialog.tn-zoom")).to_be_visible()
    page.keyboard.press("Escape")
    page.focus("#explore-named :is(input, textarea)")
    page.keyboard.press("4")
    page.keyboard.press("z")
    wait_for_looks(page, 1)
    expect(page.locator("dialog.tn-zoom")).to_be_hidden()


def test_the_key_0_leads_back_to_the_thumbnail_and_on_from_there(arrive: Open) -> None:
    page = arrive("checkpoint=tnet-needles", motion=False)
    count = page.locator(".tn-box:visible").count()
    assert count > 3
    page.keyboard.press("0")
    wait_for_looks(page, 0)
    expect(page.locator(MOMENT)).to_contain_text("From the thumbnail")
    page.keyboard.press("ArrowRight")
    wait_for_looks(page, 1)
    page.click("[data-go=last]")
    wait_for_looks(page, count)
    sliders = page.locator(".tn-budgets input")
    texts = [sliders.nth(i).get_attribute("aria-valuetext") or "" for i in range(sliders.count())]
    assert len(texts) == 2 and all(re.fullmatch(r"\d+ of \d+ looks? per grid", text) for text in texts)


def test_the_first_ledger_tells_what_the_looks_changed(arrive: Open, dogs: tn.Trace) -> None:
    page = arrive(motion=False)
    decision, origin = int(dogs.logits(OPENING).argmax()), int(dogs.logits(0).argmax())
    shown = page.locator("[data-choose=versus]").evaluate("list => list.selectedOptions[0].textContent")
    assert shown == f"thumbnail: {format_class_name(dogs, origin)}"
    shares = dogs.contributions(decision, origin, k=OPENING).values
    assert shares[0] < 0 < min(shares[1:])  # the thumbnail against it, both looks for it
    rows = page.locator(".tn-ledger tbody [data-value]")
    assert rows.all_text_contents() == [format_signed(float(share)) for share in shares]
    assert rows.evaluate_all("cells => cells.map(cell => cell.className)") == ["tn-against", "tn-for", "tn-for"]
    expect(page.locator(".tn-disagree")).to_be_hidden()


def test_nothing_is_coloured_or_called_a_change_that_is_written_as_none(arrive: Open) -> None:
    page = arrive("checkpoint=tnet-needles", motion=False)
    cells = page.locator(".tn-ledger tbody [data-value]")
    classes = cells.evaluate_all("cells => cells.map(cell => [cell.textContent, cell.className])")
    assert all((text == "0") == (name == "tn-neither") for text, name in classes)
    page.select_option("[data-choose=versus]", "none")
    full = page.locator(".tn-classes .tn-first b").text_content()
    marked = page.locator(".tn-ledger .tn-contrary").all_text_contents()
    assert all(text != f"≠ {full}" for text in marked)
    page.focus(".tn-scrub input")
    page.keyboard.press("End")
    page.keyboard.press("ArrowLeft")
    for _ in range(6):
        page.keyboard.press("ArrowLeft")
        assert not re.search(r"[+−]0\.0", page.text_content(MOMENT) or "")
