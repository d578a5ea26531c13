"""A link opened by somebody else shows the page it was made from; a tampered one shows what is left of it."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from PIL import Image
from playwright.sync_api import BrowserContext, Page, Request, expect

import tests.support.models as models
import tnet_core as tn
from pages.limits import largest_budget
from tests.browser.conftest import ROOT, copy_of_the_project, running, visitor
from tests.browser.reading import assert_shows, wait_for_looks
from tests.browser.test_checkpoints import choose
from tests.support.checkpoints import contents, entry_fields, save_birds, write_registry
from tests.support.hub import LocalHub
from tools.local_server import FINISHED
from viz.examples import list_pictures_of_kind

Visit = Callable[..., Page]
DEEP = replace(models.TINY_3L, num_classes=3)
PHOTOS = [ROOT / "examples" / listed.file for listed in list_pictures_of_kind("photo")]
NUTHATCH = ROOT / "examples" / "nuthatch.jpg"


@dataclass(frozen=True)
class Linked:
    """A running app with checkpoints, and what they are."""

    address: str
    birds: tn.TNet
    deep: tn.TNet


@pytest.fixture(scope="module")
def linked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Linked]:
    folder = copy_of_the_project(tmp_path_factory.mktemp("linked"))
    birds, deep = (folder / "checkpoints" / name for name in ("birds", "deep"))
    save_birds(birds)
    tn.save(models.tiny(DEEP), deep, class_names=("hook", "ring", "star"))
    with LocalHub() as hub:
        place = {"repo": "someone/birds", "commit": hub.commit("someone/birds", contents(birds))}
        write_registry(
            folder / "checkpoints.yaml",
            entry_fields(birds, source={"folder": "checkpoints/birds"}),
            entry_fields(deep, id="deep", title="Three levels", source={"folder": "checkpoints/deep"}),
            entry_fields(birds, id="remote", title="From the Hub", source=place),
        )
        caches = {"HF_ENDPOINT": hub.endpoint, "HF_HOME": str(folder / "hf"), "TNET_CACHE": str(folder / "cache")}
        with running(folder, folder / "log.txt", **caches) as address:
            yield Linked(address, tn.load(birds, device="cpu"), tn.load(deep, device="cpu"))


@pytest.fixture
def visit(linked: Linked, browser: BrowserContext, requests: list[Request]) -> Iterator[Visit]:
    with visitor(linked.address, browser, requests) as open_page:
        yield open_page


@pytest.fixture
def elsewhere(browser: BrowserContext) -> Iterator[Visit]:
    """Opens an address in a browser that was never here."""
    opened: list[BrowserContext] = []

    def open_page(address: str, init: str = "") -> Page:
        assert browser.browser is not None
        context = browser.browser.new_context(viewport={"width": 1440, "height": 900})
        opened.append(context)
        context.set_default_timeout(30_000)
        page = context.new_page()
        page.add_init_script(init)
        page.goto(address)
        page.wait_for_selector(FINISHED)
        return page

    yield open_page
    for context in opened:
        context.close()


def choices(page: Page) -> list[str]:
    """What the ledger is about, as the lists show it."""
    return page.locator("[data-choose]").evaluate_all("all => all.map(s => s.selectedOptions[0].textContent)")


def query(page: Page) -> dict[str, list[str]]:
    return parse_qs(urlsplit(page.url).query)


def test_a_copied_link_shows_the_same_page_in_another_browser(
    visit: Visit, elsewhere: Visit, linked: Linked, browser: BrowserContext
) -> None:
    browser.grant_permissions(["clipboard-read", "clipboard-write"], origin=linked.address)
    page = visit()
    choose(page, "Three levels")
    expect(page.locator(".tn-budgets")).to_be_visible()
    page.click("[data-example='1']")
    expect(page.locator("[data-example='1']")).to_have_attribute("aria-pressed", "true")
    trace = tn.traverse(linked.deep, PHOTOS[1], budget=largest_budget(DEEP))
    page.focus(".tn-budgets [data-level='0']")
    page.keyboard.press("ArrowRight")
    looks = trace.select(budget=(3, 2))
    wait_for_looks(page, len(looks))
    taken = {look.index for look in trace.locations if look.parent == 0}
    cell = min(set(range(DEEP.cells)) - taken)
    page.click(f".tn-grid[data-parent='0'] [data-cell='{cell}']")
    wait_for_looks(page, len(looks) + 1)
    for which, value in (("cls", "2"), ("versus", "0")):
        page.focus(f"[data-choose={which}]")
        page.select_option(f"[data-choose={which}]", value)
    page.click("[data-go=back]")
    page.click("[data-go=back]")
    by_hand = tn.Traversal(linked.deep, PHOTOS[1], budget=largest_budget(DEEP))
    by_hand.run()
    by_hand.attend(3, cell, 0)
    steered, shown = by_hand.trace(), [*looks, len(trace.locations)][:-2]
    assert_shows(page, steered, shown, cls=2, versus=0)
    page.click("[data-opens=share]")
    expect(page.locator(".tn-share [role=status]")).to_have_text("Link copied.")
    link = page.evaluate("navigator.clipboard.readText()")
    page.keyboard.press("Escape")
    # the address bar says the same, beside the theme that this test chose
    page.wait_for_function("link => location.href.replace('__theme=light&', '') === link", arg=link)
    other = elsewhere(link)
    assert_shows(other, steered, shown, cls=2, versus=0)
    assert choices(other) == choices(page) == ["star", "hook"]
    assert "class=2&against=0" in link
    expect(other.locator("#explore-chooser input")).to_have_value("Three levels")
    expect(other.locator("[data-example='1']")).to_have_attribute("aria-pressed", "true")
    expect(other.locator(".tn-problem")).to_have_count(0)
    for part in (".tn-scrub output", ".tn-budgets", "figcaption", ".tn-steered p", "#explore-card summary"):
        assert other.locator(part).text_content() == page.locator(part).text_content(), part
    other.click("[data-go=last]")  # and it goes on from there
    assert_shows(other, steered, [*looks, len(trace.locations)], cls=2, versus=0)
    other.click(".tn-steered button")
    assert_shows(other, steered, list(looks), cls=2, versus=0)


def test_the_address_follows_the_page_and_holds_nothing_about_a_picture_of_ones_own(
    visit: Visit, elsewhere: Visit, linked: Linked, tmp_path: Path
) -> None:
    page = visit(theme="dark")
    assert query(page) == {"__theme": ["dark"]}  # a page as everybody finds it has a short address
    page.keyboard.press("2")
    landing = {"__theme": ["dark"], "checkpoint": ["birds"], "example": ["nuthatch"]}
    page.wait_for_function("location.search.endsWith('looks=2&against=rival')")
    assert query(page) == landing | {"looks": ["2"], "against": ["rival"]}
    trace = tn.traverse(linked.birds, NUTHATCH, budget=(9,))
    other = elsewhere(page.url)
    assert_shows(other, trace, 2)
    old = elsewhere(page.url.replace("&against=rival", ""))  # links were like that, and the ledger of one class
    assert_shows(old, trace, 2, versus=None)
    assert other.evaluate("document.body.classList.contains('dark')")
    page.get_by_role("tab", name="Accuracy vs locations").click()
    expect(page.locator(".tn-stage")).to_be_hidden()
    page.evaluate("document.querySelector('[data-choose=versus]').value = 'second'")
    page.evaluate("document.querySelector('[data-choose=versus]').dispatchEvent(new Event('change'))")
    page.wait_for_function("location.search.includes('tab=accuracy')")
    assert query(page).items() >= landing.items()  # another tab is named beside the picture
    page.get_by_role("tab", name="Explore").click()
    expect(page.locator(".tn-stage")).to_be_visible()  # keys are for the tab that is shown
    page.keyboard.press("3")
    page.wait_for_function("location.search.includes('looks=3&against=second')")
    file = tmp_path / "secret name.png"
    file.write_bytes(drawn(8))
    page.set_input_files("#explore-pick input[type=file]", file)
    expect(page.locator("figcaption")).to_contain_text("secret name.png")
    last = tn.traverse(linked.birds, file, budget=(9,)).locations[-1]  # not among the three that count
    page.click(f".tn-tint [data-cell='{last.index}']")
    expect(page.locator(".tn-steered")).to_be_visible()
    page.wait_for_function("!location.search.includes('example')")
    parts = {"checkpoint": ["birds"], "picture": ["own"], "looks": ["3"], "against": ["rival"]}
    assert query(page) == {"__theme": ["dark"]} | parts
    page.click("[data-opens=share]")
    expect(page.locator(".tn-share-note")).to_contain_text("Your picture stays with you")


def drawn(seed: int) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(models.picture(90, 120, seed=seed)).save(buffer, "PNG")
    return buffer.getvalue()


def test_without_a_clipboard_the_link_can_be_copied_by_hand(elsewhere: Visit, linked: Linked) -> None:
    page = elsewhere(
        f"{linked.address}/?__theme=light&__sign=secret&looks=1",
        "Object.defineProperty(Navigator.prototype, 'clipboard', { get: () => undefined });",
    )
    page.click("[data-opens=share]")
    expect(page.locator(".tn-share [role=status]")).to_have_text("Copy the link from the field.")
    field = page.locator(".tn-share-link input")
    expect(field).to_have_value(f"{linked.address}/?checkpoint=birds&example=nuthatch&looks=1&against=none")
    assert page.evaluate("getSelection().toString()") == field.input_value()


TAMPERED = {
    "checkpoint=nobody&looks=1": "the checkpoint 'nobody' is not offered here",
    "cells=999": "it asks for cell 999 and the last one is 8",
    "looks=-1": "its 'looks' is not a number of looks per level",
    "example=%3Cscript%3Ehacked=1%3C/script%3E": "its 'example' is not the name of an example",
    "checkpoint=%3Cimg%20src=x%20onerror=hacked=1%3E&class=1": "its 'checkpoint' is not the id of a checkpoint",
    "class=3&looks=2&looks=2": "it gives 'looks' more than once; its 'class' is 3 and the last class is 2",
}


def test_a_tampered_link_shows_the_landing_page_and_a_sentence(elsewhere: Visit, linked: Linked) -> None:
    trace = tn.traverse(linked.birds, NUTHATCH, budget=(9,))
    for tampered, sentence in TAMPERED.items():
        page = elsewhere(f"{linked.address}/?{tampered}")
        message = page.locator(".tn-problem[role='alert']")
        expect(message).to_contain_text(f"The link could not be followed completely: {sentence}")
        expect(message).to_be_in_viewport()
        assert_shows(page, trace, 3)
        assert choices(page)[0] == "the predicted class" and choices(page)[1].startswith(("thumbnail: ", "runner-up: "))
        assert page.evaluate("typeof hacked") == "undefined"
        mended = "?checkpoint=birds&example=nuthatch&looks=3&against=rival"
        page.wait_for_function("mended => location.search === mended", arg=mended)


def test_a_checkpoint_on_the_hub_is_opened_by_its_link(elsewhere: Visit, linked: Linked) -> None:
    page = elsewhere(f"{linked.address}/?checkpoint=remote&looks=1&against=second")
    expect(page.locator("#explore-chooser input")).to_have_value("From the Hub")
    expect(page.locator(".tn-problem")).to_have_count(0)
    trace = tn.traverse(linked.birds, NUTHATCH, budget=(9,))
    first, second = (int(cls) for cls in (-trace.logits(1)).argsort(kind="stable")[:2])
    assert_shows(page, trace, 1, cls=first, versus=second)
    assert choices(page) == ["the predicted class", "the runner-up"]
