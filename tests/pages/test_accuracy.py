"""The comparison tab's handlers: what a browser may send, and what comes back."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import gradio as gr
import pytest

from pages.accuracy.service import CatalogueCache
from pages.accuracy.tab import build_accuracy_tab
from tests.support.accuracy_page import page
from tests.support.checkpoints import EVALUATION
from tests.support.evaluation_cards import bundled, card
from tests.support.wrong_values import WRONG_VALUES
from tnet_core.checkpoints import CheckpointCard


@pytest.fixture(scope="module")
def cards() -> list[CheckpointCard]:
    return bundled()


@pytest.fixture(scope="module")
def demo(cards: list[CheckpointCard]) -> gr.Blocks:
    return page(cards)


def handlers(demo: gr.Blocks, name: str) -> list[Any]:
    return [listener for listener in demo.fns.values() if listener.name == name]


def test_no_handler_is_public_and_none_leaves_checks_to_gradio(demo: gr.Blocks) -> None:
    called = [listener for listener in demo.fns.values() if listener.fn is not None]
    assert {listener.name for listener in called} == {"on_choice", "on_open"}
    assert all(not listener.preprocess for listener in called)
    assert {listener.api_visibility for listener in demo.fns.values()} == {"private"}


@pytest.mark.parametrize("wrong", [*WRONG_VALUES, [None, [1], {}]], ids=lambda value: repr(value)[:20])
@pytest.mark.parametrize("name", ["on_choice", "on_open"])
def test_whatever_is_sent_is_answered_with_a_page(demo: gr.Blocks, name: str, wrong: Any) -> None:
    listener = handlers(demo, name)[0]
    call: Callable[..., list[Any]] = listener.fn
    # What the server remembers itself is not sent.
    given = [given.value if isinstance(given, gr.State) else wrong for given in listener.inputs]
    answer = call(*([None] if name == "on_open" else []), *given)  # which gets the request first
    assert len(answer) == len(listener.outputs)
    assert "passwd" not in str(answer) and "<script>" not in str(answer)


def test_another_data_set_brings_its_own_curves_and_every_other_choice_leaves_them(demo: gr.Blocks) -> None:
    (listener,) = handlers(demo, "on_choice")
    assert len({target for target, _ in listener.targets}) == 7  # one event: its answers come in order
    names = [output.elem_id for output in listener.outputs]
    for before, was_changed in (("cub", False), ("imagenet", True)):
        answer = dict(zip(names, listener.fn((), before, "cub", "flops", "top1", [], [], [], [], 1), strict=True))
        assert (answer["accuracy-measured"] == gr.skip()) is not was_changed
        assert "GFLOPs" in str(answer["accuracy-chart"])
    stale = ["published/imagenet:DRAM"]  # ticked before the new ticks arrived
    answer = dict(zip(names, listener.fn((), "cub", "cub", "flops", "top1", [], [], stale, [], 1), strict=True))
    assert answer["accuracy-published"]["value"] and "No curve" not in answer["accuracy-table"]


def test_a_slider_move_stays_in_the_browser(demo: gr.Blocks) -> None:
    (listener,) = [listener for listener in demo.fns.values() if listener.fn is None]
    assert [given.elem_id for given in listener.inputs] == ["accuracy-looks"] and listener.outputs == []
    assert "showLooks" in str(listener.js)


def test_checkpoints_that_come_later_are_offered_when_the_tab_is_opened(
    cards: list[CheckpointCard], tmp_path: Path
) -> None:
    growing = list(cards)
    demo = page(growing)
    (listener,) = handlers(demo, "on_open")
    given = [None, (), 0, False, "", "", "garden birds", "flops", "top1", [], [], [], [], 1]
    was_opened, *changes = listener.fn(*given)
    assert was_opened and all(change == gr.skip() for change in changes)
    growing.append(card(tmp_path, EVALUATION, title="Birds of the garden"))
    answer = dict(zip([output.elem_id for output in listener.outputs], listener.fn(*given), strict=True))
    assert answer["accuracy-measured"]["choices"] == [("Birds of the garden", "measured/birds")]
    assert answer["accuracy-measured"]["value"] == []  # what was ticked stays, new ones are not
    assert answer["accuracy-roles"]["visible"] is False
    assert "No curve is ticked" in answer["accuracy-table"]


def test_the_images_that_the_explored_checkpoint_was_measured_on_are_shown(cards: list[CheckpointCard]) -> None:
    with gr.Blocks() as demo, gr.Tabs(), gr.Tab("Accuracy"):
        build_accuracy_tab(lambda: cards, landing="tnet-lite0-pets")
    (shown,) = [block for block in demo.blocks.values() if block.elem_id == "accuracy-data"]
    assert isinstance(shown, gr.Dropdown) and shown.value == "oxford-iiit pet"
    (listener,) = handlers(demo, "on_open")
    names = [output.elem_id for output in listener.outputs]

    def open_tab(spec: str, known: str, data: str) -> dict[str, Any]:
        """Return what changes where this checkpoint is explored, and that one was before."""
        given = [None, (), 0, True, spec, known, data, "flops", "top1", [], [], [], [], 1]
        return dict(zip(names, listener.fn(*given), strict=True))

    birds = open_tab("tnet-lite0-cub", "tnet-lite0-pets", "oxford-iiit pet")
    assert birds["accuracy-data"]["value"] == "cub-200-2011"
    assert birds["accuracy-measured"]["value"] and "GFLOPs" in birds["accuracy-chart"]  # the axes stay
    for spec, known, data in (
        ("tnet-lite0-cub", "tnet-lite0-cub", "nabirds"),  # chosen here meanwhile
        ("never-measured", "tnet-lite0-cub", "cub-200-2011"),
        ("tnet-lite0-cub", "", "cub-200-2011"),  # shown already
    ):
        assert open_tab(spec, known, data)["accuracy-data"] == gr.skip()


def test_the_catalogue_is_made_again_only_for_other_cards(cards: list[CheckpointCard], tmp_path: Path) -> None:
    growing = list(cards)
    sources = CatalogueCache(lambda: growing)
    first = sources.catalogue
    assert sources.refresh() is first
    growing.append(card(tmp_path, EVALUATION))
    assert sources.catalogue is first  # nobody opened the tab
    second = sources.refresh()
    assert second is not first and second is sources.refresh() is sources.catalogue
