"""A tab opened while Explore is changing pictures shows the new one when it comes, without being opened again."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from playwright.sync_api import Page, expect

from pages.explore.service import Explorer
from pages.site import build_head, build_site, build_theme
from tests.support.model_caches import build_model_cache
from tests.support.models import picture, tiny
from tests.support.served_page import launched
from tnet_core import save

Visit = Callable[..., Page]


class Slow(Explorer):
    """Opens an upload when it is let go."""

    begun, go = threading.Event(), threading.Event()

    def open_picture(self, spec: str, where: int | str, *how: Any, **named: Any) -> Any:
        if isinstance(where, str):
            self.begun.set()
            assert self.go.wait(60)
        return super().open_picture(spec, where, *how, **named)


@pytest.fixture(scope="module")
def slow(tmp_path_factory: pytest.TempPathFactory) -> Slow:
    folder = tmp_path_factory.mktemp("slow")
    save(tiny(), folder / "model")
    return Slow(build_model_cache(folder / "model"))


@pytest.fixture(scope="module")
def server(slow: Slow) -> Iterator[str]:
    with launched(build_site(slow).queue(), theme=build_theme(), head=build_head()) as address:
        yield address


@pytest.mark.parametrize(("tab", "shows"), [("What if", "#what-if-view"), ("Compare", ".compare-constant")])
def test_an_open_tab_follows_the_picture(visit: Visit, slow: Slow, tmp_path: Path, tab: str, shows: str) -> None:
    page, first = visit(), slow.list_pictures(slow.landing)[0].title
    slow.begun.clear()
    slow.go.clear()
    name = f"new {tab.lower()}.png".replace(" ", "-")
    Image.fromarray(picture(90, 120, seed=5)).save(tmp_path / name)
    page.set_input_files("#explore-pick input[type=file]", tmp_path / name)
    assert slow.begun.wait(60)
    page.get_by_role("tab", name=tab).click()
    expect(page.locator(shows)).to_contain_text(first)  # what there is meanwhile
    slow.go.set()
    expect(page.locator(shows)).to_contain_text(name)


def test_tabs_that_are_not_looked_at_ask_for_nothing(visit: Visit, slow: Slow) -> None:
    page = visit()
    page.get_by_role("tab", name="What if").click()
    expect(page.locator("#what-if-view h2").first).to_be_visible()
    page.get_by_role("tab", name="Explore").click()
    before = page.locator("#what-if-view").inner_html()
    title = slow.list_pictures(slow.landing)[1].title
    page.locator("[data-example='1']").click()
    expect(page.locator("#explore-stage .tn-picture figcaption")).to_contain_text(title)
    page.wait_for_timeout(1500)
    assert page.locator("#what-if-view").inner_html() == before
    page.get_by_role("tab", name="What if").click()
    expect(page.locator("#what-if-view")).to_contain_text(title)
