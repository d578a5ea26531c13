"""The first seconds of a visitor: what the page opens with, what it plays, what it says, and what fits the screen."""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Browser, BrowserContext, Page, expect

import tnet_core as tn
from tests.browser.reading import assert_shows, wait_for_looks
from tests.support.stage_page import scene, staged
from tools.local_server import FINISHED
from viz.common.text import format_class_name, format_percent, format_signed
from viz.examples import EXAMPLES_FOLDER

Open = Callable[..., Page]
PETS = "tnet-lite0-pets"
OPENING = 2  # looks that the checkpoint was trained with
MOMENT = ".tn-moment"
SHIFTS = """window.shifted = 0;
new PerformanceObserver(list => {
  for (const entry of list.getEntries()) if (!entry.hadRecentInput) shifted += entry.value;
}).observe({ type: "layout-shift", buffered: true });"""


@pytest.fixture
def arrive(shipped: str, browser: BrowserContext) -> Iterator[Open]:
    """Opens pages as somebody does whose system allows motion, or does not."""
    contexts: list[BrowserContext] = []
    opened: Browser | None = browser.browser
    assert opened is not None

    def open_page(query: str = "", width: int = 1440, height: int = 900, motion: bool = True) -> Page:
        context = opened.new_context(
            viewport={"width": width, "height": height}, reduced_motion="no-preference" if motion else "reduce"
        )
        contexts.append(context)
        page = context.new_page()
        page.add_init_script(SHIFTS)
        page.goto(f"{shipped}/?{query}")
        page.wait_for_selector(FINISHED, timeout=60_000)
        return page

    yield open_page
    for context in contexts:
        context.close()


def traverse_example(name: str, checkpoint: str = PETS) -> tn.Trace:
    model = tn.optimised(tn.load(checkpoint, device="cpu"))
    return tn.traverse(model, EXAMPLES_FOLDER / name, budget=(25,))


@pytest.fixture(scope="module")
def dogs() -> tn.Trace:
    return traverse_example("dogs.jpg")


def write_moment(trace: tn.Trace, k: int) -> str:
    """The sentence as it follows from the trace alone."""

    def believe(looks: int) -> tuple[int, float]:
        share = trace.probabilities(looks)
        return int(share.argmax()), float(share.max())

    now, sure = believe(k)
    belief = f"{format_class_name(trace, now)} {format_percent(sure)}"
    if k == 0:
        return f"From the thumbnail: {belief}."
    then, before = believe(k - 1)
    origin = "From the thumbnail" if k == 1 else "After 1 look" if k == 2 else f"After {k - 1} looks"
    gain = format_signed(100 * (sure - float(trace.probabilities(k - 1)[now])))
    return (
        f"{origin}: {format_class_name(trace, then)} {format_percent(before)}. It looks here: {k}. "
        f"{'Still' if now == then else 'Now'} {belief}, {gain} points."
    )


def test_the_page_opens_with_a_picture_whose_answer_one_look_changes(arrive: Open, dogs: tn.Trace) -> None:
    page = arrive(motion=False)
    assert_shows(page, dogs, OPENING)  # the end, where motion is reduced
    expect(page.locator("figcaption")).to_contain_text("Two dogs")
    expect(page.locator("#explore-chooser input")).to_have_value("Pets, 37 breeds")
    beliefs = [int(dogs.logits(k).argmax()) for k in range(OPENING + 1)]
    assert beliefs[0] != beliefs[1] == beliefs[2]
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


def test_it_plays_once_on_arrival_and_the_address_stays_short(arrive: Open, dogs: tn.Trace) -> None:
    page = arrive()
    for k in range(OPENING + 1):
        expect(page.locator(MOMENT)).to_have_text(write_moment(dogs, k))
    expect(page.locator("[data-go=play]")).to_have_attribute("aria-label", "Play")  # it has ended
    page.wait_for_timeout(2500)
    assert_shows(page, dogs, OPENING)
    assert page.url.endswith("/?")
    page.locator(".tn-example").nth(1).click()  # another picture is shown as it is
    expect(page.locator("figcaption")).to_contain_text("Cat")
    wait_for_looks(page, OPENING)


@pytest.mark.parametrize("interact", ["key", "pointer", "wheel"])
def test_any_interaction_stops_it(arrive: Open, interact: str) -> None:
    page = arrive()
    wait_for_looks(page, 1)
    if interact == "key":
        page.keyboard.press("Shift")
    elif interact == "pointer":
        page.locator("h1").click()
    else:
        page.mouse.wheel(0, 40)
    expect(page.locator("[data-go=play]")).to_have_attribute("aria-label", "Play")
    page.wait_for_timeout(2500)
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
    expect(page.locator(MOMENT)).to_have_text(write_moment(dogs, OPENING))
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


WIDTHS = [(1440, 900), (1024, 768), (390, 844)]
TABS = ("Compare", "Audit", "What if", "Accuracy vs locations", "Your data")


def open_tab(page: Page, name: str) -> None:
    page.locator("#tabs [role=tab]").filter(has_text=name).first.evaluate("tab => tab.click()")  # no input: it shifts


@pytest.mark.parametrize(("width", "height"), WIDTHS)
def test_nothing_moves_under_the_eyes_of_who_arrives_or_opens_a_tab(arrive: Open, width: int, height: int) -> None:
    page = arrive(width=width, height=height)
    wait_for_looks(page, OPENING)  # it has played
    assert page.evaluate("shifted") < 0.1
    for name in TABS:
        page.evaluate("shifted = 0")
        open_tab(page, name)
        page.wait_for_timeout(2500)
        assert page.evaluate("shifted") < 0.1, name


@pytest.mark.parametrize(("width", "height"), [(1440, 900), (390, 844)])
def test_picture_and_play_are_above_the_fold_and_the_picture_is_as_bright_as_it_is(
    arrive: Open, width: int, height: int
) -> None:
    page = arrive(width=width, height=height, motion=False)
    for place in (".tn-photo", "[data-go=play]"):
        box = page.locator(place).bounding_box()
        assert box is not None and box["y"] >= 0 and box["y"] + box["height"] <= height, place
    dark = page.locator(".tn-tint > div").evaluate_all(
        "cells => cells.map(cell => getComputedStyle(cell).backgroundColor).filter(c => !/, 0\\)$|transparent/.test(c))"
    )
    assert dark == []


def measure_longest_task(page: Page, act: Callable[[], object]) -> float:
    """Milliseconds of processor time that the page's main thread spent in one task: other programs do not count."""
    opened = page.context.browser
    assert opened is not None
    opened.start_tracing(page=page, categories=["toplevel"])
    act()
    events = json.loads(opened.stop_tracing())["traceEvents"]
    main = {
        (event["pid"], event["tid"])
        for event in events
        if event["name"] == "thread_name" and event["args"]["name"] == "CrRendererMain"
    }
    spent = [
        event["tdur"]
        for event in events
        if event["name"].endswith("RunTask") and "tdur" in event and (event["pid"], event["tid"]) in main
    ]
    return float(max(spent)) / 1000


@pytest.mark.parametrize(("width", "height"), [(1440, 900), (390, 844)])
def test_opening_a_tab_keeps_the_page_busy_for_less_than_150_ms(arrive: Open, width: int, height: int) -> None:
    page = arrive(width=width, height=height, motion=False)
    page.wait_for_timeout(1000)

    def spin() -> None:
        page.evaluate("const began = performance.now(); while (performance.now() < began + 1500);")

    def open_accuracy() -> None:
        open_tab(page, "Accuracy vs locations")
        page.wait_for_selector("#accuracy-chart svg [data-curve]")
        page.wait_for_timeout(1500)

    def open_what_if() -> None:
        open_tab(page, "What if")
        page.wait_for_selector(".what-if-columns .tn-photo")
        page.wait_for_timeout(1500)

    assert 150 < measure_longest_task(page, spin) < 1600  # a page that is kept busy is noticed
    for act in (open_accuracy, open_what_if):
        assert 1 < measure_longest_task(page, act) < 150, act.__name__


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
        "Nobody told what is right, so compared is how sure each answer is, which says nothing about who is right. "
        f"You chose {common} of its 2."
    )
    verdict = "You beat the network" if yours.max() > theirs.max() else "The network beats you"
    expect(page.locator(".tn-game-told")).to_have_text(f"{verdict}.")
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
    expect(page.locator("[data-dive=in]")).to_be_disabled()
    page.keyboard.press("Escape") if motion else page.click("[data-dive=close]")
    expect(page.locator(".tn-dive")).to_have_count(0)


def count_clicks(page: Page) -> Callable[[], int]:
    """How often the visitor clicked from now on."""
    page.evaluate(
        """window.clicks = 0;
           document.addEventListener('click', event => { if (event.isTrusted && event.detail) clicks++; }, true);"""
    )
    return lambda: int(page.evaluate("clicks"))


def test_five_tasks_from_the_landing_page_take_few_clicks(arrive: Open, dogs: tn.Trace, tmp_path: Path) -> None:
    page = arrive(motion=False)
    clicks = count_clicks(page)

    # Which look decided this? The ledger is there; its largest share is that of a look.
    rows = page.locator(".tn-ledger tbody tr[data-look]")
    page.locator(".tn-ledger tbody tr").first.wait_for()
    shares = dogs.contributions(int(dogs.logits(OPENING).argmax()), k=OPENING).values[1:]
    strongest = 1 + int(np.argmax(shares))
    expect(rows.filter(has_text=f"look {strongest}").first).to_contain_text(format_signed(float(max(shares))))
    assert clicks() <= 1

    # Would two looks do? It opens with two, and one click shows the others.
    page.click("[data-go=last]")
    every = dogs.probabilities(len(dogs.locations))
    name = format_class_name(dogs, int(every.argmax()))
    expect(page.locator(".tn-classes .tn-first span")).to_have_text(name)
    assert name == format_class_name(dogs, int(dogs.probabilities(OPENING).argmax())) and clicks() == 1

    # Send what I see to a colleague.
    page.click("[data-opens=share]")
    expect(page.locator(".tn-share-link input")).to_have_value(re.compile("looks=25"))
    assert clicks() == 2
    page.keyboard.press("Escape")

    # Is this checkpoint centre-biased?
    page.get_by_role("tab", name="Audit").click()
    expect(page.locator("#audit")).to_contain_text("Content or centre?")
    expect(page.locator("#audit")).to_contain_text("location scores")
    assert clicks() <= 4

    # How does it do on my forty photographs?
    before = clicks()
    page.get_by_role("tab", name="Your data").click()
    with page.expect_file_chooser() as chooser:
        page.locator("#your-data-zip button").first.click()
    chooser.value.set_files(zip_of_photographs(tmp_path / "mine.zip"))  # one more click, in the system's own window
    expect(page.locator("#your-data-zip")).to_contain_text("mine")
    page.click("#your-data-start")
    expect(page.locator("#your-data-result")).to_contain_text("on 40 images", timeout=240_000)
    assert clicks() - before + 1 <= 4


def zip_of_photographs(path: Path) -> Path:
    """Forty cuts of two examples, in folders that are called like two breeds."""
    with zipfile.ZipFile(path, "w") as archive:
        for file, breed in (("dogs.jpg", "English cocker spaniel"), ("cat.jpg", "Abyssinian")):
            with Image.open(EXAMPLES_FOLDER / file) as photograph:
                for number in range(20):
                    buffer = io.BytesIO()
                    width, height = photograph.size
                    photograph.crop((number, number, width - 20 + number, height - 20 + number)).save(buffer, "JPEG")
                    archive.writestr(f"mine/{breed}/{number}.jpg", buffer.getvalue())
    return path
