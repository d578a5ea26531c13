"""The page with checkpoints: choosing one, its card, its pictures, its levels."""

from __future__ import annotations

import hashlib
import io
import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from PIL import Image
from playwright.sync_api import BrowserContext, Page, Request, expect

import tests.support.models as models
import tnet_core as tn
from pages.limits import largest_budget
from tests.browser.conftest import ROOT, copy_of_the_project, running, visitor
from tests.browser.reading import assert_shows, beyond, contrasts, in_both_themes, wait_for_looks
from tests.support.checkpoints import entry_fields, save_birds, write_registry
from tests.support.evaluation import PLAIN
from tests.support.hub import LocalHub
from tools.queue_client import QueueClient
from viz.examples import list_pictures_of_kind
from viz.explore.gallery import list_drawings

Visit = Callable[..., Page]
NUTHATCH = ROOT / "examples" / "nuthatch.jpg"
TEXTS = (
    ".tn-card :is(summary b, summary span, dt, dd, th, td), .tn-invitation, #explore-chooser label > span, "
    "#explore-more, #explore-upload, .tn-notice, .tn-picture figcaption small, .tn-budgets label span"
)
DEEP = replace(models.TINY_3L, num_classes=3)
FIRST_PHOTO = ROOT / "examples" / list_pictures_of_kind("photo")[0].file


@dataclass(frozen=True)
class Stocked:
    """A running app with checkpoints, and what they are."""

    address: str
    hub: LocalHub
    birds: tn.TNet
    deep: tn.TNet


def encode_picture(seed: int) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(models.picture(90, 120, seed=seed)).save(buffer, "PNG")
    return buffer.getvalue()


PICTURES = {"wren.png": encode_picture(5), "great-tit.png": encode_picture(6)}


@pytest.fixture(scope="module")
def stocked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stocked]:
    folder = copy_of_the_project(tmp_path_factory.mktemp("stocked"))
    birds, deep, plain = (folder / "checkpoints" / name for name in ("birds", "deep", "plain"))
    save_birds(birds)
    tn.save(models.tiny(DEEP), deep, class_names=("hook", "ring", "star"), provenance={"dataset": "drawn scenes"})
    measured = {
        "schema": 1,
        "dataset": {"name": "Scenes", "split": "validation", "size": 50},
        "budgets": [{"budget": [a, b], "top1": 0.2 + 0.1 * a + 0.1 * b} for a in range(4) for b in range(3)],
    }
    (deep / "evaluation.json").write_text(json.dumps(measured))
    tn.save(tn.build(replace(PLAIN, num_classes=3)), plain)
    with LocalHub() as hub:
        commit = hub.commit("datasets/someone/bird-pictures", PICTURES)
        digests = {
            name: {"sha256": hashlib.sha256(data).hexdigest(), "size": len(data)} for name, data in PICTURES.items()
        }
        pictures = {"dataset": "someone/bird-pictures", "commit": commit, "licence": "CC0-1.0", "files": digests}
        place = {"repo": "someone/nothing", "commit": commit}
        write_registry(
            folder / "checkpoints.yaml",
            entry_fields(birds, id="gone", title="Gone", source={"folder": "checkpoints/gone"}),
            entry_fields(birds, source={"folder": "checkpoints/birds"}, examples=pictures),
            entry_fields(deep, id="deep", title="Three levels", source={"folder": "checkpoints/deep"}),
            entry_fields(birds, id="remote", title="Far away", source=place),
            entry_fields(plain, id="plain", title="Plain", source={"folder": "checkpoints/plain"}),
        )
        caches = {"HF_ENDPOINT": hub.endpoint, "HF_HOME": str(folder / "hf"), "TNET_CACHE": str(folder / "cache")}
        with running(folder, folder / "log.txt", **caches) as address:
            yield Stocked(address, hub, tn.load(birds, device="cpu"), tn.load(deep, device="cpu"))


@pytest.fixture
def visit(stocked: Stocked, browser: BrowserContext, requests: list[Request]) -> Iterator[Visit]:
    with visitor(stocked.address, browser, requests) as open_page:
        yield open_page


def choose(page: Page, title: str) -> None:
    page.click("#explore-chooser input")
    page.get_by_role("option", name=title).click()


def test_the_first_checkpoint_that_opens_is_on_the_page_with_its_card(visit: Visit, stocked: Stocked) -> None:
    page = visit()
    expect(page.locator("#explore-chooser input")).to_have_value("Birds of the garden")
    assert_shows(page, tn.traverse(stocked.birds, NUTHATCH, budget=(9,)), 3)
    card = page.locator(".tn-card")
    expect(card).to_contain_text("top-1 69.0 % with 3 looks (Garden birds, test)")
    expect(card.locator("table")).not_to_be_visible()
    page.click(".tn-card summary")
    expect(card.locator("table")).to_contain_text("thumbnail alone61.0 %")
    expect(card).to_contain_text("Garden birds, split test, 120 images")
    expect(card).to_contain_text("weights Apache-2.0; data CC-BY-4.0")
    expect(page.locator("#explore-notice")).not_to_contain_text("Untrained")


def test_a_checkpoint_that_is_not_there_is_said_at_the_start(visit: Visit) -> None:
    page = visit()
    expect(page.locator(".tn-notice")).to_have_count(1)
    expect(page.locator(".tn-notice")).to_contain_text("'gone' is not what the registry promises")


def test_pictures_suit_the_checkpoint_and_are_credited(visit: Visit) -> None:
    page = visit()
    expect(page.locator(".tn-example")).to_have_count(1)
    expect(page.locator("figcaption")).to_contain_text("Nuthatch, 1600 × 900 px")
    expect(page.locator("figcaption")).to_contain_text("photo: Lukas Baubkus, CC-BY-SA-3.0")
    expect(page.locator("#explore-invitation")).to_contain_text("Bring a photograph of a bird")


def test_only_models_that_look_are_offered(visit: Visit) -> None:
    page = visit()
    page.click("#explore-chooser input")
    offered = page.locator("ul[role=listbox] [role=option]")
    expect(offered).to_have_count(3)
    shown = [text.replace("✓", "").strip() for text in offered.all_text_contents()]
    assert shown == ["Birds of the garden", "Three levels", "Far away"]


def test_three_levels_have_a_slider_each(visit: Visit, stocked: Stocked) -> None:
    page = visit()
    expect(page.locator(".tn-budgets")).not_to_be_visible()
    choose(page, "Three levels")
    expect(page.locator(".tn-budgets")).to_be_visible()
    expect(page.locator(".tn-card")).to_contain_text("with 2 × 2 looks (Scenes, validation)")
    expect(page.locator("#explore-invitation")).not_to_contain_text("bird")
    first = ROOT / "examples" / list_pictures_of_kind("photo")[0].file
    trace = tn.traverse(stocked.deep, first, budget=largest_budget(DEEP))
    assert_shows(page, trace, (2, 2))
    page.focus("[data-level='1']")
    page.keyboard.press("ArrowLeft")
    assert_shows(page, trace, (2, 1))
    page.keyboard.press("Home")
    assert_shows(page, trace, (2, 0))
    page.keyboard.press("ArrowRight")
    page.focus("[data-level='0']")
    page.keyboard.press("End")
    assert_shows(page, trace, (largest_budget(DEEP)[0], 1))
    choose(page, "Birds of the garden")
    assert_shows(page, tn.traverse(stocked.birds, NUTHATCH, budget=(9,)), 3)
    expect(page.locator(".tn-budgets")).not_to_be_visible()


def choose_three_levels(page: Page, stocked: Stocked) -> tuple[tn.Trace, Sequence[int]]:
    """Choose the checkpoint; return what it sees of the first photograph and the looks that it opens with."""
    choose(page, "Three levels")
    trace = tn.traverse(stocked.deep, FIRST_PHOTO, budget=largest_budget(DEEP))
    assert_shows(page, trace, (2, 2))
    return trace, trace.select(budget=(2, 2))


def test_three_levels_are_stepped_through_and_steered_into(visit: Visit, stocked: Stocked) -> None:
    page = visit()
    trace, looks = choose_three_levels(page, stocked)
    page.click("[data-go=back]")
    assert_shows(page, trace, list(looks[:-1]))
    page.click("[data-go=forward]")
    # A cell inside look 1 that the network would not have looked at.
    taken = {look.index for look in trace.locations if look.parent == 0}
    cell = next(index for index in range(DEEP.cells) if index not in taken)
    page.click(f".tn-grid[data-parent='0'] [data-cell='{cell}']")
    wait_for_looks(page, len(looks) + 1)
    by_hand = tn.Traversal(stocked.deep, FIRST_PHOTO, budget=largest_budget(DEEP))
    by_hand.run()
    by_hand.attend(3, cell, 0)
    steered = by_hand.trace()
    assert_shows(page, steered, [*looks, len(trace.locations)])
    expect(page.locator(".tn-steered")).to_contain_text("Your looks, with look")
    # Without look 1 there is nothing inside it either.
    page.click(f".tn-grid[data-parent=''] [data-cell='{trace.locations[0].index}']")
    left = [p for p in looks if trace.locations[p].path[0] != trace.locations[0].index]
    assert_shows(page, steered, left)
    page.click(".tn-steered button")
    assert_shows(page, steered, list(looks))


def test_a_look_whose_answer_got_lost_can_be_added_again(
    visit: Visit, stocked: Stocked, requests: list[Request]
) -> None:
    page = visit()
    trace, looks = choose_three_levels(page, stocked)
    taken = {look.index for look in trace.locations if look.parent == 0}
    lost, other = [index for index in range(DEEP.cells) if index not in taken][:2]
    # What the page would ask is asked in its place, so that the answer goes elsewhere.
    joined = [request.post_data_json for request in requests if "/queue/join" in request.url]
    thief = QueueClient(stocked.address, session=joined[-1]["session_hash"])
    asked = {"plan": list(looks), "add": {"parent": 0, "index": lost}}
    told = thief.happens("steer", data=asked)[0].outputs[thief.component("channel")]
    assert json.loads(told)["kind"] == "steer"
    thief.close()
    page.click(f".tn-grid[data-parent='0'] [data-cell='{other}']")
    by_hand = tn.Traversal(stocked.deep, FIRST_PHOTO, budget=largest_budget(DEEP))
    by_hand.run()
    for cell in (lost, other):
        by_hand.attend(3, cell, 0)
    assert_shows(page, by_hand.trace(), [*looks, len(trace.locations) + 1])
    expect(page.locator(".tn-sentence")).not_to_be_visible()
    page.click(f".tn-grid[data-parent='0'] [data-cell='{lost}']")
    assert_shows(page, by_hand.trace(), [*looks, len(trace.locations) + 1, len(trace.locations)])


def test_a_checkpoint_that_cannot_be_fetched_changes_nothing(visit: Visit, stocked: Stocked) -> None:
    page = visit()
    choose(page, "Far away")
    message = page.locator(".tn-problem[role='alert']")
    expect(message).to_contain_text("There is no Hub repository 'someone/nothing'")
    expect(message).to_be_in_viewport()
    expect(page.locator("#explore-chooser input")).to_have_value("Birds of the garden")
    assert_shows(page, tn.traverse(stocked.birds, NUTHATCH, budget=(9,)), 3)
    page.focus(".tn-scrub input")
    page.keyboard.press("ArrowRight")
    assert_shows(page, tn.traverse(stocked.birds, NUTHATCH, budget=(9,)), 4)


def test_an_uploaded_picture_stays_when_another_checkpoint_is_chosen(
    visit: Visit, stocked: Stocked, tmp_path: Path
) -> None:
    file = tmp_path / "mine.png"
    file.write_bytes(encode_picture(8))
    page = visit()
    page.set_input_files("#explore-pick input[type=file]", file)
    expect(page.locator("figcaption")).to_contain_text("mine.png, 120 × 90 px")
    choose(page, "Three levels")
    assert_shows(page, tn.traverse(stocked.deep, file, budget=largest_budget(DEEP)), (2, 2))
    expect(page.locator("figcaption")).to_contain_text("mine.png, 120 × 90 px")
    expect(page.locator(".tn-example[aria-pressed='true']")).to_have_count(0)


def test_more_examples_come_from_the_hub_on_request(visit: Visit, stocked: Stocked, tmp_path: Path) -> None:
    page = visit()
    assert not stocked.hub.asked("GET", "wren.png")
    data = PICTURES["wren.png"]
    stocked.hub.served_instead["wren.png"] = data[:-1] + bytes([data[-1] ^ 1])
    page.click("#explore-more")
    expect(page.locator(".tn-problem")).to_contain_text("not what the registry promises and was removed")
    expect(page.locator(".tn-example")).to_have_count(1)
    stocked.hub.served_instead.clear()
    page.click("#explore-more")
    expect(page.locator(".tn-example")).to_have_count(3)
    expect(page.locator("#explore-more")).not_to_be_visible()
    expect(page.locator(".tn-problem")).to_have_count(0)
    page.click("[data-example='2']")
    expect(page.locator("figcaption")).to_contain_text("Great tit, 120 × 90 px")
    expect(page.locator("figcaption")).to_contain_text("from the data set someone/bird-pictures, CC0-1.0")
    (tmp_path / "great-tit.png").write_bytes(PICTURES["great-tit.png"])
    assert_shows(page, tn.traverse(stocked.birds, tmp_path / "great-tit.png", budget=(9,)), 3)
    choose(page, "Three levels")
    expect(page.locator("#explore-more")).not_to_be_visible()


def test_nothing_is_cut_off_on_a_telephone_and_all_is_readable(visit: Visit) -> None:
    page = visit(width=390, height=844)
    for title in ("Birds of the garden", "Three levels"):
        if title != "Birds of the garden":
            choose(page, title)
            expect(page.locator(".tn-budgets")).to_be_visible()
        if page.locator(".tn-card:not([open])").count():
            page.click(".tn-card summary")
        assert page.evaluate("document.documentElement.scrollWidth") == 390
        assert beyond(page, 390) == []
        for theme in in_both_themes(page):
            texts = contrasts(page, TEXTS)
            assert len(texts) > 15
            assert {text: round(value, 2) for text, value in texts if value < 4.5} == {}, (title, theme)


def test_the_app_as_it_is_shipped_lands_on_a_finished_traversal(
    browser: BrowserContext, requests: list[Request], shipped: str
) -> None:
    with visitor(shipped, browser, requests) as open_page:
        page = open_page()
        expect(page.locator(".tn-problem")).to_have_count(0)
        if len(tn.checkpoints.Registry.load()) == 0:
            expect(page.locator(".tn-notice")).to_contain_text("Untrained weights")
            expect(page.locator(".tn-example")).to_have_count(len(list_drawings()))
        else:
            expect(page.locator(".tn-notice")).to_have_count(0)
            expect(page.locator(".tn-card summary")).to_contain_text(re.compile(r"\d\.\d % with \d"))
