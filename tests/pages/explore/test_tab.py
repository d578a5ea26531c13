"""The Explore page's handlers side by side: an answer that comes late changes nothing."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import gradio as gr
import pytest
from PIL import Image

import tnet_core as tn
from pages.explore import tab
from pages.explore.service import Explorer
from pages.explore.tab import build_explore_tab
from pages.server.model_cache import ModelCache
from pages.server.rpc import PageCalls, read_query
from tests.support.checkpoints import entry_fields, save_birds, write_registry
from tests.support.models import TINY_3L, picture, tiny
from tnet_core.checkpoints import Registry

pytestmark = pytest.mark.slow

SKIPPED = gr.skip()


class Page:
    """One visitor: the handlers of the page, and its states as Gradio keeps them."""

    def __init__(self, explorer: Explorer) -> None:
        with gr.Blocks() as demo:
            build_explore_tab(explorer, demo)
        self._handlers: dict[str, Callable[..., list[Any]]] = {str(fn.name): fn.fn for fn in demo.fns.values() if fn.fn}
        self.explorer, self.order, self.opened, self.session = explorer, PageCalls(), explorer.landing, None
        self.chooser = explorer.landing
        self._pool = ThreadPoolExecutor(4)

    def begin(self, name: str, *given: Any, data: Any = None, query: Any = ()) -> Future[list[Any]]:
        """A handler at work, with the states as they are now."""
        made = {
            "on_load": lambda: (SimpleNamespace(query_params=dict(query)), _no_progress),
            "on_example": lambda: (self.opened, SimpleNamespace(_data=data)),
            "on_upload": lambda: (self.chooser, self.opened, *given),
            "on_checkpoint": lambda: (*given, self.opened, self.session, _no_progress),
            "on_more": lambda: (self.opened,),
            "on_steer": lambda: (self.session, SimpleNamespace(_data=data)),
            "on_reopen": lambda: (SimpleNamespace(_data=data), _no_progress),
        }[name]()
        return self._pool.submit(self._handlers[name], self.order, *made)

    def do(self, name: str, *given: Any, **more: Any) -> list[Any]:
        """A handler until its end; what it answers is kept."""
        answer = self.begin(name, *given, **more).result(60)
        if name in ("on_load", "on_example", "on_checkpoint", "on_reopen") and answer[0] != SKIPPED:
            self.opened = self.chooser = answer[0]
        at = {"on_load": 6, "on_example": 6, "on_upload": 6, "on_checkpoint": 6, "on_reopen": 1}.get(name, 0)
        if name != "on_more" and answer[at] != SKIPPED:
            self.session = answer[at]
        return answer


def _no_progress(*_: Any, **__: Any) -> None:
    """Nobody watches."""


class Slow:
    """Traversals of one picture, or fetching, that wait until they are let go."""

    def __init__(self) -> None:
        self.begun, self.go = threading.Event(), threading.Event()

    def __call__(self) -> None:
        self.begun.set()
        assert self.go.wait(60)


@pytest.fixture
def page(tmp_path: Path) -> Page:
    birds = save_birds(tmp_path / "birds")
    tn.save(tiny(TINY_3L), tmp_path / "deep")
    registry = write_registry(
        tmp_path / "mine.yaml",
        entry_fields(tmp_path / "deep", id="deep", title="Three levels", source={"folder": "deep"}),
        entry_fields(birds, id="birds", title="Birds", source={"folder": "birds"}),
    )
    made = Page(Explorer(ModelCache(Registry.load(registry, shipped=None), fallback="lite0-cub", device="cpu")))
    made.do("on_load")
    return made


@pytest.fixture
def slow(page: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Slow, str]:
    """An upload whose reading takes its time."""
    file, wait, opened = str(tmp_path / "slow.png"), Slow(), page.explorer.load_picture
    Image.fromarray(picture(90, 120, seed=5)).save(file)

    def reading(spec: str, where: Any) -> Any:
        if where == file:
            wait()
        return opened(spec, where)

    monkeypatch.setattr(page.explorer, "load_picture", reading)
    return wait, file


def begin_slow_upload(page: Page, slow: tuple[Slow, str]) -> Future[list[Any]]:
    """Begin an upload, which goes on when it is let go."""
    wait, file = slow
    late = page.begin("on_upload", file)
    assert wait.begun.wait(60)
    return late


def test_an_upload_that_ends_after_the_checkpoint_was_changed_changes_nothing(
    page: Page, slow: tuple[Slow, str]
) -> None:
    late = begin_slow_upload(page, slow)
    changed = page.do("on_checkpoint", "birds")
    assert changed[0] == "birds" and json.loads(changed[7])["title"] == "Nuthatch"
    slow[0].go.set()
    assert late.result(60) == [SKIPPED] * 10


def test_an_upload_that_fails_after_the_checkpoint_was_changed_says_nothing(page: Page, slow: tuple[Slow, str]) -> None:
    late = begin_slow_upload(page, slow)
    page.do("on_checkpoint", "birds")
    Path(slow[1]).unlink()
    slow[0].go.set()
    assert late.result(60) == [SKIPPED] * 10


def test_of_two_pictures_the_one_chosen_last_stays(page: Page, slow: tuple[Slow, str]) -> None:
    late = begin_slow_upload(page, slow)
    quick = page.do("on_example", data={"example": 2})
    assert json.loads(quick[7])["title"] == page.explorer.list_pictures("deep")[2].title
    slow[0].go.set()
    assert late.result(60) == [SKIPPED] * 10


def test_a_picture_that_is_still_drawn_when_a_later_one_is_shown_is_dropped(
    page: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    wait, draw = Slow(), tab.draw_gallery

    def draw_slowly(explorer: Explorer, spec: str, number: int | None) -> str:
        if number == 1:
            wait()
        return draw(explorer, spec, number)

    monkeypatch.setattr(tab, "draw_gallery", draw_slowly)
    late = page.begin("on_example", data={"example": 1})
    assert wait.begun.wait(60)
    quick = page.do("on_example", data={"example": 2})
    assert json.loads(quick[7])["title"] == page.explorer.list_pictures("deep")[2].title
    wait.go.set()
    assert late.result(60) == [SKIPPED] * 10


def test_more_examples_that_come_after_the_checkpoint_was_changed_are_not_shown(
    page: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    wait = Slow()
    monkeypatch.setattr(page.explorer, "fetch_more_pictures", lambda _: wait())
    late = page.begin("on_more")
    assert wait.begun.wait(60)
    page.do("on_checkpoint", "birds")
    wait.go.set()
    assert late.result(60) == [SKIPPED] * 3
    wait.begun.clear()
    shown = page.do("on_more")  # and those of the checkpoint that is open are
    assert shown[0].count("data-example") == 1


def test_a_look_that_was_added_to_the_picture_before_does_not_bring_it_back(
    page: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    wait, taken = Slow(), page.explorer._add_looks
    monkeypatch.setattr(page.explorer, "_add_looks", lambda *a: (wait(), taken(*a))[1])
    session = page.session
    assert session is not None
    cells = {look.index for look in session.trace.locations if look.parent == 0}
    add = {"parent": 0, "index": min(set(range(9)) - cells)}
    late = page.begin("on_steer", data={"plan": [0], "add": add, "scene": session.scene, "id": 1})
    assert wait.begun.wait(60)
    page.do("on_example", data={"example": 1})
    wait.go.set()
    remembered, said = late.result(60)
    assert remembered == SKIPPED
    told = json.loads(said)
    assert (told["kind"], told["id"]) == ("problem", 1)


def test_a_link_is_followed_by_the_whole_page(page: Page) -> None:
    new = Page(page.explorer)
    answer = new.do("on_load", query={"checkpoint": "birds", "looks": "2"})
    spec, chooser, card, *_, session, view, examples, problem = answer
    assert (spec, chooser["value"], problem) == ("birds", "birds", "")
    assert "top-1" in card["value"] and examples.count('aria-pressed="true"') == 1
    assert session.spec == "birds" and json.loads(view)["restore"]["budget"] == [2]
    wrong = Page(page.explorer).do("on_load", query={"checkpoint": "<img src=x onerror=alert(1)>"})
    assert wrong[0] == SKIPPED and "<img src=x" not in wrong[-1]
    assert "its &#39;checkpoint&#39; is not the id of a checkpoint" in wrong[-1]
    assert "unchanged" not in wrong[-1]


def test_parameters_are_read_from_whatever_gradio_gives() -> None:
    from starlette.datastructures import QueryParams

    twice = SimpleNamespace(query_params=QueryParams("looks=1&looks=2"))
    assert read_query(twice) == [("looks", "1"), ("looks", "2")]  # type: ignore[arg-type]
    assert read_query(SimpleNamespace(query_params={"looks": "1"})) == [("looks", "1")]  # type: ignore[arg-type]
    assert read_query(None) == []


def find_free_cells(page: Page) -> list[int]:
    """Cells inside look 1 that the network did not look at."""
    assert page.session is not None
    return sorted(set(range(9)) - {look.index for look in page.session.trace.locations if look.parent == 0})


def test_two_looks_that_are_asked_for_at_once_are_both_taken(page: Page) -> None:
    session, (one, other) = page.session, find_free_cells(page)[:2]
    assert session is not None
    count = len(session.trace.locations)
    asked = {"plan": [0], "known": count, "scene": session.scene}
    both = [page.begin("on_steer", data=asked | {"add": {"parent": 0, "index": cell}}) for cell in (one, other)]
    answers = [json.loads(begun.result(60)[1]) for begun in both]
    page.session = next(begun.result()[0] for begun, sent in zip(both, answers, strict=True) if len(sent["looks"]) == 2)
    assert page.session is not None
    assert [look.index for look in page.session.trace.locations[count:]] in ([one, other], [other, one])
    assert session.trace.locations == page.session.trace.locations[:count]  # what was shared is as it was


def test_a_page_that_was_forgotten_finds_its_example_again_and_asks_for_an_upload(page: Page) -> None:
    cell = find_free_cells(page)[0]
    assert page.session is not None
    first, example = page.session.trace.locations[0].index, page.explorer.list_pictures("deep")[0].title.lower()
    new = Page(page.explorer)  # as after a restart: the page is there, its states are not
    [kept, said] = new.do("on_steer", data={"plan": [0], "scene": page.session.scene, "id": 4})
    assert kept == SKIPPED and json.loads(said)["kind"] == "expired"
    link = f"checkpoint=deep&example={example.replace(' ', '-')}&cells={first},{first}.{cell}"
    spec, session, sent = new.do("on_reopen", data={"link": link, "id": 5})
    answer = json.loads(sent)
    assert (spec, session.spec, answer["kind"], answer["wrong"], answer["id"]) == ("deep", "deep", "scene", "", 5)
    assert answer["restore"]["steer"]["looks"][0]["index"] == cell
    *states, refused = new.do("on_reopen", data={"link": "checkpoint=deep&looks=2,1", "id": 6})
    assert states == [SKIPPED] * 2 and "upload it again" in json.loads(refused)["sentence"]


def test_a_page_that_was_forgotten_goes_on_under_the_checkpoint_that_it_shows(page: Page, tmp_path: Path) -> None:
    Image.fromarray(picture(90, 120, seed=5)).save(tmp_path / "mine.png")
    forgotten = Page(page.explorer)  # the server takes it for one that has just come
    assert forgotten.opened == "deep"
    opened, *_, session, view, gallery, _ = forgotten.do("on_example", data={"example": 0, "checkpoint": "birds"})
    assert (opened, session.spec, json.loads(view)["title"]) == ("birds", "birds", "Nuthatch")
    assert 'data-checkpoint="birds"' in gallery
    forgotten = Page(page.explorer)
    forgotten.chooser = "birds"
    opened, chooser, *_, session, view, _, _ = forgotten.do("on_upload", str(tmp_path / "mine.png"))
    assert (opened, chooser["value"], session.spec) == ("birds", "birds", "birds")
    for nonsense in ("nowhere", 7, ["birds"], None, ""):
        forgotten = Page(page.explorer)
        answer = forgotten.do("on_example", data={"example": 0, "checkpoint": nonsense})
        named = isinstance(nonsense, str) and nonsense != ""
        assert ("is not offered here" in answer[-1]) == named and answer[0] == SKIPPED


def test_an_example_of_the_checkpoint_before_is_not_opened_under_the_next_one(page: Page) -> None:
    page.do("on_checkpoint", "birds")  # the visitor has not seen that yet, and clicks
    assert page.do("on_example", data={"example": 1, "checkpoint": "deep"}) == [SKIPPED] * 10


def test_a_dive_without_its_checkpoint_gets_a_sentence(page: Page) -> None:
    answer = page.do("on_example", data={"example": "dive"})
    assert "is not offered here" in answer[-1] and page.order.is_at("deep")


def test_a_page_that_is_opened_again_neither_loses_a_later_click_nor_its_checkpoint(
    page: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    page.do("on_checkpoint", "birds")
    wait, open_picture = Slow(), page.explorer.open_picture

    def open_slowly(spec: str, where: Any, *how: Any, **more: Any) -> Any:
        if not wait.begun.is_set():
            wait()
        return open_picture(spec, where, *how, **more)

    monkeypatch.setattr(page.explorer, "open_picture", open_slowly)
    late = page.begin("on_reopen", data={"link": "checkpoint=birds&example=nuthatch", "id": 1})
    assert wait.begun.wait(60)
    clicked = page.do("on_example", data={"example": 0, "checkpoint": "birds"})
    assert json.loads(clicked[7])["title"] == "Nuthatch"
    wait.go.set()
    assert json.loads(late.result(60)[2])["sentence"] == "Something else was chosen meanwhile."

    def fail(*_: Any, **__: Any) -> Any:
        raise tn.TNetError("This picture cannot be read.")

    monkeypatch.setattr(page.explorer, "open_picture", fail)
    [*_, said] = page.do("on_reopen", data={"link": "checkpoint=deep&example=harbour", "id": 2})
    assert json.loads(said)["kind"] == "problem" and page.order.is_at("birds") and not page.order.is_at("deep")
