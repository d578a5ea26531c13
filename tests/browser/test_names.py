"""Classes, pictures and checkpoints may be called anything: in every tab a name is text, not code and not markup."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image
from playwright.sync_api import BrowserContext, Page, expect

import tnet_core as tn
from pages.explore.service import Explorer
from pages.server.model_cache import ModelCache
from tests.support.checkpoints import CONFIG, EVALUATION, entry_fields, write_registry
from tests.support.models import picture, tiny
from tests.support.served_site import served
from tests.support.zips import zipped
from tnet_core.checkpoints import Registry
from tools.local_server import FINISHED

NAME = "${alert(1)}{{7*7}}<b>"


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory, browser: BrowserContext) -> Iterator[Page]:
    """The page with a picture of that name, under a checkpoint of that name, all of whose classes begin with it."""
    folder = tmp_path_factory.mktemp("names")
    tn.save(tiny(CONFIG), folder / "model", class_names=[f"{NAME} {cls}" for cls in range(3)])
    named = {**EVALUATION, "dataset": {**EVALUATION["dataset"], "name": NAME}}  # type: ignore[dict-item]
    (folder / "model" / "evaluation.json").write_text(json.dumps(named))
    registry = write_registry(folder / "mine.yaml", entry_fields(folder / "model", id="names", title=NAME))
    Image.fromarray(picture(90, 120, seed=5)).save(folder / f"{NAME}.png")
    models = ModelCache(Registry.load(registry, shipped=None), fallback="lite0-cub", device="cpu")
    opened = browser.new_page()
    opened.set_viewport_size({"width": 1440, "height": 900})  # narrower, the field for a path is behind "About"
    opened.on("dialog", lambda dialog: pytest.fail(f"a name was run: {dialog.message}"))
    with served(Explorer(models, local=True)) as address:
        opened.goto(address)
        opened.wait_for_selector(FINISHED)
        opened.fill("#explore-named textarea, #explore-named input", str(folder / f"{NAME}.png"))
        opened.keyboard.press("Enter")
        expect(opened.locator("#explore-stage")).to_contain_text(f"{NAME}.png")
        yield opened
        opened.close()


def assert_is_text(page: Page, tab: str, *parts: str) -> None:
    """The name is there as it is written, in each of these parts, and nothing was made of it."""
    if tab != "Explore":
        page.get_by_role("tab", name=tab).click()
    for part in parts:
        expect(page.locator(part)).to_contain_text(NAME)
    shown = page.inner_text("body")
    assert "undefined" not in shown and "}49" not in shown and "49<b>" not in shown


def test_explore(page: Page) -> None:
    assert_is_text(page, "Explore", "#explore-stage .tn-decision", "#explore-stage .tn-picture", "#explore-card")


def test_compare(page: Page) -> None:
    assert_is_text(page, "Compare", "#compare .compare-constant")


def test_audit(page: Page) -> None:
    assert_is_text(page, "Audit", "#audit-board")


def test_what_if(page: Page) -> None:
    assert_is_text(page, "What if", "#what-if-view [data-panel=decisions]", "#what-if-view figure.what-if-before")


def test_accuracy_vs_locations(page: Page) -> None:
    page.get_by_role("tab", name="Accuracy vs locations").click()
    page.click("#accuracy-data input")
    page.get_by_role("option").filter(has_text=NAME).first.click()
    assert_is_text(page, "Accuracy vs locations", "#accuracy-legend", "#accuracy-table section:not([hidden])")


def test_your_data(page: Page, tmp_path: Path) -> None:
    folder = tmp_path / "data" / f"{NAME} 1"
    folder.mkdir(parents=True)
    Image.fromarray(picture(90, 120, seed=5)).save(folder / f"{NAME}.png")
    page.get_by_role("tab", name="Your data").click()
    page.set_input_files("#your-data-zip input[type=file]", zipped(tmp_path / "data", tmp_path / "mine.zip"))
    page.click("#your-data-start")
    expect(page.locator(".your-data-result")).to_contain_text(f"Top-1 accuracy of {NAME} on 1 image of 1 class")
