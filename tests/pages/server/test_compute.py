"""Traversals compute in one thread, whoever asks."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

import tnet_core as tn
from pages.server.compute import on_accelerator


@pytest.fixture(autouse=True)
def nothing_lent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SPACES_ZERO_GPU", raising=False)


def test_all_calls_run_in_the_same_thread_and_none_of_the_callers() -> None:
    where = on_accelerator(threading.get_ident)
    with ThreadPoolExecutor(4) as pool:
        found = set(pool.map(lambda _: where(), range(16)))
    assert len(found) == 1
    assert threading.get_ident() not in found


def test_arguments_answers_and_sentences_pass_through() -> None:
    def divided(a: int, *, by: int) -> float:
        if by == 0:
            raise tn.TNetError("Nothing is divided by nothing.")
        return a / by

    function = on_accelerator(divided)
    assert function(6, by=3) == 2
    with pytest.raises(tn.TNetError, match="Nothing is divided"):
        function(1, by=0)
    assert function(1, by=2) == 0.5  # and goes on
