"""The tab 'Your data' as a visitor uses it: a zip is measured, its curve joins the chart, for this visitor alone."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Request, expect

import tnet_core as tn
from tests.browser.conftest import copy_of_the_project, running, visitor
from tests.browser.reading import beyond, contrasts
from tests.support.checkpoints import entry_fields, save_birds, write_registry
from tests.support.same import assert_same
from tests.support.zips import zipped
from tests.training.data_files import class_folders, write_picture
from training.data.folders import open_folder
from training.evaluation.classes import fit_to
from training.evaluation.plan import Options
from training.evaluation.run import evaluate

RESULT = ".your-data-result tbody tr"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The app with one small checkpoint of three birds."""
    folder = tmp_path_factory.mktemp("own")
    save_birds(folder / "birds")
    registry = write_registry(folder / "registry.yaml", entry_fields(folder / "birds")).read_text()
    (folder / "app").mkdir()
    copy_of_the_project(folder / "app", registry)
    (folder / "birds").rename(folder / "app" / "birds")
    return folder


@pytest.fixture(scope="module")
def address(place: Path) -> Iterator[str]:
    with running(place / "app", place / "log.txt") as found:
        yield found


@pytest.fixture
def page(address: str, browser: BrowserContext, requests: list[Request]) -> Iterator[Page]:
    errors: list[str] = []
    with visitor(address, browser, requests) as visit:
        opened = visit()
        # An upload leaves two warnings "Method not implemented." in the console: Gradio's progress bar closes its
        # stream twice, which has ended by itself and only says that it cannot be closed. Nothing may be thrown.
        opened.on("pageerror", lambda error: errors.append(str(error)))
        opened.get_by_role("tab", name="Your data").click()
        yield opened
    assert errors == []


def choose(page: Page, file: Path) -> None:
    """Puts the zip in place of what was chosen before."""
    if page.locator("#your-data-zip [aria-label='Remove this file'], #your-data-zip [aria-label='Clear']").count():
        page.locator(
            "#your-data-zip [aria-label='Remove this file'], #your-data-zip [aria-label='Clear']"
        ).first.click()
    page.set_input_files("#your-data-zip input[type=file]", file)
    expect(page.locator("#your-data-zip")).to_contain_text(file.stem)


def in_chart(page: Page) -> list[str]:
    """The curves of the comparison's table."""
    page.get_by_role("tab", name="Accuracy vs locations").click()
    return page.locator("#accuracy-table section:not([hidden]) tbody th").all_text_contents()


def test_a_zip_is_measured_as_the_command_measures_it_and_joins_the_chart(page: Page, place: Path) -> None:
    data = class_folders(place / "Garden walk", ("001.Great_Tit", "robin"), images=5)
    expected = measured(place, data)
    write_picture(data / "Dodo" / "1.png", 9)
    (data / "notes.txt").write_text("nothing to see")
    choose(page, zipped(data, place / "Garden walk.zip"))
    page.locator("#your-data-budget input[type=number]").fill("3")
    page.fill("#your-data-limit input", "8")
    page.get_by_label("Looks chosen with hindsight").uncheck()
    page.click("#your-data-start")
    expect(page.locator(RESULT)).to_have_count(4)
    assert_table(page, expected)
    expect(page.locator(".your-data-headline")).to_contain_text("the network's own looks are right in")
    notices = page.locator("#your-data-result .tn-notice").all_text_contents()
    assert notices == [
        "Left out of the zip: files that are no images (1).",
        "Left out: 1 image of a class that is not known ('Dodo').",
        "Measured on 8 of 10 images, evenly spread over the classes.",
    ]
    link = page.locator(".your-data-download")
    assert link.get_attribute("download") == "garden-walk.evaluation.json"
    content = json.loads(base64.b64decode((link.get_attribute("href") or "").partition("base64,")[2]))
    for part in ("schema", "budgets", "policies", "stopping", "heat_map", "per_image"):
        assert_same(content[part], json.loads(json.dumps(expected[part])), part)
    assert content["dataset"] == expected["dataset"] | {"split": "uploaded"}
    assert_failures(page, expected)
    # the chart, for this visitor
    page.get_by_role("tab", name="Accuracy vs locations").click()
    own = "Your data: Garden walk (Birds of the garden)"
    rows = page.locator("#accuracy-table section:not([hidden]) tr", has=page.get_by_text(own, exact=True))
    top1 = expected["budgets"][3]["top1"]
    expect(rows.locator("td[data-label='Top-1']")).to_contain_text(f"{100 * top1:.1f} %")
    expect(page.locator("#accuracy-data input")).to_have_value("Your data: Garden walk")
    other = page.context.browser
    assert isinstance(other, Browser)
    assert_nobody_else_sees_it(other, page.url.partition("?")[0])


def assert_failures(page: Page, expected: dict[str, object]) -> None:
    """The gallery holds what is wrong with the trained budget; the matrix filters it, and each opens in Explore."""
    budgets, trained = expected["budgets"], expected["trained_budget"]
    assert isinstance(budgets, list)
    [right] = [round(8 * entry["top1"]) for entry in budgets if entry["budget"] == trained]
    items = page.locator(".your-data-gallery li")
    expect(items).to_have_count(8 - right)
    assert right < 8
    expect(page.locator(".your-data-verdict")).to_contain_text(f"{8 - right} of 8 images")
    cells = page.locator("[data-pair]")
    assert sum(map(int, cells.all_text_contents())) == 8 - right
    cell = cells.first
    cell.click()
    expect(cell).to_have_attribute("aria-pressed", "true")
    expect(page.locator(".your-data-gallery li:visible")).to_have_count(int(cell.text_content() or 0))
    label, prediction = cell.get_attribute("data-pair"), cell.get_attribute("data-with")
    shown = page.locator(".your-data-gallery li:visible").first
    assert (shown.get_attribute("data-label"), shown.get_attribute("data-prediction")) == (label, prediction)
    shares = [float(i.get_attribute("data-share") or "nan") for i in page.locator(".your-data-cells i").all()]
    heat = expected["heat_map"]
    assert isinstance(heat, dict) and isinstance(trained, list)
    assert len(shares) == 2 * heat["grid"] ** 2 and sum(shares) == pytest.approx(2 * sum(trained))
    answer = (shown.locator("b").text_content() or "").rpartition(" ")[0].rpartition(" ")[0]
    shown.locator("button").click()
    expect(page.locator(".tn-classes")).to_be_visible()
    expect(page.locator(".tn-classes li.tn-first span")).to_contain_text(answer)
    expect(page.locator(".tn-classes em")).to_have_text("true label")
    page.get_by_role("tab", name="Your data").click()
    expect(page.locator(".your-data-gallery li").first).to_be_attached()


def measured(place: Path, data: Path) -> dict[str, object]:
    model = tn.optimised(tn.load(str(place / "app" / "birds"), device="cpu"))  # as the app looks: the last digits too
    options = Options(budget=3, policies=("learned", "centre", "random"), limit=8, resamples=2000, workers=0,
                      equivariance=False, timing=False, batch_size=2)  # fmt: skip
    return evaluate(model, fit_to(model, open_folder(data)), options)


def assert_table(page: Page, expected: dict[str, object]) -> None:
    """Accuracies and intervals of all budgets and policies."""
    policies = expected["policies"]
    assert isinstance(policies, dict)
    for k, row in enumerate(page.locator(RESULT).all()):
        assert row.get_attribute("data-budget") == str(k)
        for title, name in (("Learned", "learned"), ("Centre", "centre"), ("Random", "random")):
            value, (low, high) = policies[name]["top1"][k], policies[name]["top1_interval"][k]
            text = f"{100 * value:.1f} % {100 * low:.1f}–{100 * high:.1f}"
            assert row.locator(f"td[data-label='{title}']").text_content() == text


def assert_nobody_else_sees_it(browser: Browser, url: str) -> None:
    stranger = browser.new_context()
    stranger.set_default_timeout(30_000)
    theirs = stranger.new_page()
    theirs.goto(url)
    theirs.wait_for_selector(".tn-stage[data-state=shown]")
    assert not [name for name in in_chart(theirs) if "Garden walk" in name]
    theirs.click("#accuracy-data input")
    assert not [text for text in theirs.get_by_role("option").all_text_contents() if "Your data" in text]
    stranger.close()


def test_an_evaluation_is_cancelled_within_seconds(page: Page, place: Path) -> None:
    expect(page.locator("#your-data-stop")).to_be_disabled()  # nothing is running
    data = class_folders(place / "many", ("wren", "robin"), images=400)
    choose(page, zipped(data, place / "many.zip"))
    page.fill("#your-data-limit input", "800")
    page.click("#your-data-start")
    expect(page.locator("#your-data-problem .tn-problem")).to_have_count(0)  # an old sentence goes
    expect(page.locator("#your-data-result")).to_contain_text(re.compile(r"\d+/800 images"))
    page.click("#your-data-stop")
    sentence = re.compile(r"^Cancelled after \d+ of 800 images; nothing was kept\.$")
    expect(page.locator("#your-data-problem .tn-problem")).to_have_text(sentence, timeout=5_000)
    expect(page.locator("#your-data-stop")).to_be_disabled()
    assert page.locator(RESULT).count() == 0
    assert not [name for name in in_chart(page) if "many" in name]


def test_bad_data_gets_one_sentence_and_the_page_goes_on(page: Page, place: Path) -> None:
    page.click("#your-data-start")
    expect(page.locator("#your-data-problem")).to_have_text("Choose a zip of class folders first.")
    expect(page.locator("#your-data-stop")).to_be_disabled()  # there is nothing to cancel after a refusal either
    expect(page.locator("#your-data-start")).to_be_in_viewport(ratio=1)  # at 1440 x 900
    words = page.locator("#your-data-budget input[type=range]")
    expect(words).to_have_attribute("aria-valuetext", "at most 10 looks")
    (place / "text.zip").write_text("no zip")
    choose(page, place / "text.zip")
    page.click("#your-data-start")
    expect(page.locator("#your-data-problem")).to_have_text("This is not a zip file, or it is damaged.")
    choose(page, zipped(class_folders(place / "strange", ("dodo", "emu")), place / "strange.zip"))
    page.click("#your-data-start")
    expect(page.locator("#your-data-problem")).to_contain_text(
        "None of the classes is one of the checkpoint's ('dodo', 'emu')"
    )
    page.fill("#your-data-limit input", "0")
    page.click("#your-data-start")
    expect(page.locator("#your-data-problem")).to_have_text("The number of images is 0, but must lie in 1…5000.")
    page.fill("#your-data-limit input", "4")
    # this app listens to this machine alone, so a folder can be named
    page.fill("#your-data-folder textarea, #your-data-folder input", str(place / "nowhere"))
    page.click("#your-data-start")
    expect(page.locator("#your-data-problem")).to_contain_text("does not exist")
    page.fill(
        "#your-data-folder textarea, #your-data-folder input", str(class_folders(place / "here", ("wren", "robin")))
    )
    page.click("#your-data-start")
    expect(page.locator(RESULT).first).to_be_visible()
    expect(page.locator(".your-data-result h2")).to_have_text("here")
    expect(page.locator("#your-data-problem .tn-problem")).to_have_count(0)
    assert_readable(page)


def assert_readable(page: Page) -> None:
    """On a telephone nothing is cut off, in light and dark."""
    page.set_viewport_size({"width": 390, "height": 844})
    page.click(".your-data-why summary")
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    table = page.locator(".your-data-result .your-data-scroll")
    assert table.evaluate("element => element.scrollWidth - element.clientWidth") == 0  # the costs are in view
    assert beyond(page, 390) == []
    page.add_style_tag(content="* { transition: none !important; }")
    for dark in (True, False):
        page.evaluate("dark => document.body.classList.toggle('dark', dark)", dark)
        texts = contrasts(
            page,
            "#your-data :is(h2, p, td, th, small, summary), .your-data-download",
        )
        assert len(texts) > 20 and {text: round(value, 2) for text, value in texts if value < 4.5} == {}
