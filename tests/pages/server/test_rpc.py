"""Calls are answered by their id, and answers that come late change nothing that was asked for after them."""

from __future__ import annotations

import copy
import gc
import json
import threading
from concurrent.futures import ThreadPoolExecutor, wait
from types import SimpleNamespace
from typing import Any

import gradio as gr
import pytest

import tnet_core as tn
from pages.server.rpc import PageCalls, PictureRequest, push
from pages.server.sessions import SESSION_EXPIRED, Session, require_session

SHOWN = Session("a", 0, None)  # type: ignore[arg-type]


def event(**data: Any) -> Any:
    return SimpleNamespace(_data=data)


def test_an_answer_has_the_id_and_the_attempt_of_its_call() -> None:
    calls = PageCalls()
    [text] = calls.answer(event(id=7, attempt=2, a=1), lambda asked: [{"kind": "sum", "b": asked["a"] + 1}])
    assert json.loads(text) == {"kind": "sum", "b": 2, "id": 7, "attempt": 2}
    state, text = calls.answer(event(id=8, attempt=1), lambda _: ["kept", '{"kind":"text"}'], states=1)
    assert state == "kept" and json.loads(text) == {"kind": "text", "id": 8, "attempt": 1}
    for nonsense in ({}, {"id": "x", "attempt": []}, {"id": True}):
        [text] = calls.answer(event(**nonsense), lambda _: [{"kind": "text"}])
        assert json.loads(text) == {"kind": "text", "id": None, "attempt": None}


def test_a_mistake_is_a_sentence_and_a_forgotten_page_is_told_apart() -> None:
    def fail(_: Any) -> list[Any]:
        raise tn.TNetError("Choose another cell.")

    kept, text = PageCalls().answer(event(id=1), fail, states=1)
    assert kept == gr.skip() and json.loads(text)["kind"] == "problem"
    assert json.loads(text)["sentence"] == "Choose another cell."
    [text] = PageCalls().answer(event(id=1), lambda _: [require_session(None, SESSION_EXPIRED)])
    assert json.loads(text)["kind"] == "expired" and json.loads(text)["sentence"] == SESSION_EXPIRED


def test_a_call_that_is_made_again_while_it_runs_is_not_run_twice() -> None:
    calls, begun, go, runs = PageCalls(), threading.Event(), threading.Event(), list[int]()

    def run(_: Any) -> list[Any]:
        runs.append(1)
        begun.set()
        assert go.wait(30)
        return [{"kind": "done"}]

    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(calls.answer, event(id=3, attempt=1), run)
        assert begun.wait(30)
        [again] = calls.answer(event(id=3, attempt=2), run)
        assert json.loads(again) == {"kind": "working", "id": 3, "attempt": 2}
        go.set()
        assert json.loads(first.result()[0])["kind"] == "done" and len(runs) == 1
    [lost] = calls.answer(event(id=3, attempt=3), run)  # its answer got lost: it is made again
    assert json.loads(lost)["kind"] == "done"


@pytest.mark.slow
def test_every_page_has_calls_of_its_own_and_no_session_is_kept_by_them() -> None:
    calls = PageCalls()
    assert copy.deepcopy(calls) is not calls
    session = Session("a", 0, None)  # type: ignore[arg-type]
    assert calls.replace_session(SHOWN, session)
    assert calls.find_session(SHOWN) is session and calls.find_session(None) is None
    del session
    gc.collect()
    assert calls.find_session(SHOWN) is SHOWN


def test_the_same_message_twice_reaches_the_page_twice() -> None:
    assert push('{"kind":"offer"}') != push('{"kind":"offer"}')


def test_answers_in_the_order_of_the_questions_are_all_shown() -> None:
    order = PageCalls()
    assert order.accept(order.request_checkpoint("a"), SHOWN)
    assert order.accept(order.request_picture("a"), SHOWN)
    assert order.accept(order.request_checkpoint("b"), SHOWN)
    assert order.accept(order.request_picture("b"), SHOWN)


def test_a_picture_that_comes_after_a_later_one_is_dropped() -> None:
    order = PageCalls()
    slow, quick = order.request_picture("a"), order.request_picture("a")
    assert order.accept(quick, SHOWN)
    assert not order.accept(slow, SHOWN)
    assert not order.reject(slow, "a")  # and so is what went wrong with it


def test_a_click_that_overtook_an_earlier_one_counts_as_the_later() -> None:
    order = PageCalls()
    assert order.accept(order.request_checkpoint("a"), SHOWN)
    later, earlier = order.request_picture("a", click=2), order.request_picture("a", click=1)
    assert order.accept(later, SHOWN)
    assert not order.accept(earlier, SHOWN)
    assert order.accept(order.request_picture("a", click=3), SHOWN)
    assert order.accept(order.request_picture("a", click="nonsense"), SHOWN)
    assert order.accept(order.request_picture("a", click=4), SHOWN)


def test_looks_that_were_added_to_the_picture_before_do_not_take_the_place_of_the_next_one() -> None:
    order, next_one, with_looks = PageCalls(), copy.copy(SHOWN), copy.copy(SHOWN)
    assert order.accept(order.request_picture("a"), SHOWN)
    assert order.accept(order.request_picture("a"), next_one)
    assert not order.replace_session(SHOWN, with_looks)
    assert order.find_session(SHOWN) is next_one
    assert order.replace_session(next_one, with_looks) and order.find_session(SHOWN) is with_looks


def test_of_two_answers_at_the_same_moment_the_one_to_the_later_question_stays(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    order, decide, waits = PageCalls(), PageCalls._is_current, list[bool]()
    earlier, later = order.request_picture("a"), order.request_picture("a")
    with ThreadPoolExecutor(1) as pool:

        def decide_slowly(calls: PageCalls, request: PictureRequest) -> bool:
            decided = decide(calls, request)
            if request is earlier:  # the other answer comes in between, if it can
                other = pool.submit(order.accept, later, SHOWN, 2)
                waits.append(not wait([other], 0.3).done)
            return decided

        monkeypatch.setattr(PageCalls, "_is_current", decide_slowly)
        assert order.accept(earlier, SHOWN, 1)
    assert waits == [True] and order.where == 2


def test_a_picture_of_the_checkpoint_before_is_dropped() -> None:
    order = PageCalls()
    assert order.accept(order.request_checkpoint("a"), SHOWN)
    slow = order.request_picture("a")
    other = order.request_checkpoint("b")
    clicked_while_b_opens = order.request_picture("a")
    assert not order.accept(slow, SHOWN)
    assert not order.accept(clicked_while_b_opens, SHOWN)
    assert order.accept(other, SHOWN)
    assert order.is_at("b") and not order.is_at("a")
    back = order.request_checkpoint("a")
    assert not order.accept(slow, SHOWN)  # of the same checkpoint again, but asked for before
    assert order.accept(back, SHOWN)


def test_of_two_checkpoints_the_one_chosen_last_is_shown() -> None:
    order = PageCalls()
    first, second = order.request_checkpoint("a"), order.request_checkpoint("b")
    assert order.accept(second, SHOWN)
    assert not order.accept(first, SHOWN)


def test_after_a_checkpoint_that_cannot_be_opened_the_page_goes_on_where_it_was() -> None:
    order = PageCalls()
    assert order.accept(order.request_checkpoint("a"), SHOWN)
    assert order.reject(order.request_checkpoint("b"), "a")
    assert order.accept(order.request_picture("a"), SHOWN)
    failing, later = order.request_checkpoint("b"), order.request_checkpoint("c")
    assert not order.reject(failing, "a")
    assert order.accept(later, SHOWN)


def test_a_link_may_lead_to_another_checkpoint_unless_the_visitor_acts_first() -> None:
    order = PageCalls()
    assert order.accept(order.request_checkpoint("landing"), SHOWN, spec="linked")
    assert order.is_at("linked") and not order.is_at("landing")
    order = PageCalls()
    slow, clicked = order.request_checkpoint("landing"), order.request_picture("landing")
    assert order.accept(clicked, SHOWN)
    assert not order.accept(slow, SHOWN, spec="linked")
    assert order.is_at("landing")
