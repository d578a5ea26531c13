"""What the server remembers of pages is bounded, in number and in time."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import gradio as gr
import pytest

from pages.explore.service import Explorer
from pages.server.rpc import PageCalls
from pages.server.sessions import SESSION_EXPIRED, SESSION_SECONDS, Session
from pages.site import build_site
from tests.support.model_caches import build_model_cache
from tests.support.served_page import launched
from tools.load_answers import read_message
from tools.queue_client import Answer, QueueClient, QueueError

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def site() -> gr.Blocks:
    return build_site(Explorer(build_model_cache()))


@pytest.fixture
def pages(site: gr.Blocks) -> Iterator[list[QueueClient]]:
    """Three pages at a server that remembers two."""
    with launched(site, state_session_capacity=2) as address, ExitStack() as closing:
        clients = [QueueClient(address) for _ in range(3)]
        for client in clients:
            closing.callback(client.close)
        yield clients


def steer(page: QueueClient) -> Answer:
    [answer] = page.happens("steer", page.component("channel"), {"plan": [1, 0]})
    return answer


def test_one_page_more_than_are_remembered_makes_the_server_forget_the_oldest(pages: list[QueueClient]) -> None:
    first, second, third = pages
    for page in (first, second):
        page.happens("load")
    for page in (first, second):
        assert read_message(steer(page), "steer")["plan"] == [1, 0]
    third.happens("load")
    for page in (second, third):
        assert read_message(steer(page), "steer")["plan"] == [1, 0]
    with pytest.raises(QueueError) as refused:
        read_message(steer(first), "steer")
    assert str(refused.value) == SESSION_EXPIRED
    assert read_message(steer(first), "expired")["sentence"] == SESSION_EXPIRED  # how the page knows to open it again


def test_whatever_a_page_makes_the_server_hold_is_forgotten_in_time(site: gr.Blocks) -> None:
    states = [block for block in site.blocks.values() if isinstance(block, gr.State)]
    # A name, a number, a yes or no may stay as long as the session; `PageCalls` holds its session by a weak reference.
    holding = [state for state in states if not isinstance(state.value, bool | int | str | PageCalls)]
    assert len(holding) == 5  # Explore, Compare, What if, the report of Audit, own evaluations
    assert {state.time_to_live for state in holding} == {SESSION_SECONDS}


def test_calls_of_a_page_do_not_keep_its_session() -> None:
    trace: Any = None
    calls, session = PageCalls(), Session("birds", 0, trace)
    assert calls.replace_session(None, session)
    assert calls._session is not None and calls._session() is session
    del session
    gc.collect()
    assert calls._session() is None
