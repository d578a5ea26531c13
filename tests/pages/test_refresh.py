"""How often a tab asks again for a picture that is not there yet."""

from __future__ import annotations

from typing import Any

import pytest

from pages.refresh import FIRST_PAUSE, LONGEST_PAUSE, build_timer, restart_timer
from pages.server.sessions import Session


def test_a_clock_stands_still_until_a_picture_is_missing() -> None:
    made = build_timer()
    assert (made.value, made.active) == (FIRST_PAUSE, False)
    found = restart_timer(Session("birds", 0, None), 7.0)  # type: ignore[arg-type]
    assert (found["value"], found["active"]) == (FIRST_PAUSE, False)


def test_it_asks_less_and_less_often_and_never_gives_up() -> None:
    pauses = [FIRST_PAUSE]
    for _ in range(40):
        told = restart_timer(None, pauses[-1])
        assert told["active"]
        pauses.append(told["value"])
    assert pauses[1] > pauses[0] and pauses == sorted(pauses) and pauses[-1] == LONGEST_PAUSE
    assert sum(pauses[:8]) < 20  # a landing that takes long is followed within seconds


@pytest.mark.parametrize("wrong", [None, "1", -3, 0, 1e-9, float("nan"), float("inf"), 10**400, [1], {"a": 1}])
def test_what_no_clock_says_begins_anew(wrong: Any) -> None:
    told = restart_timer(None, wrong)
    assert (told["value"], told["active"]) == (FIRST_PAUSE, True)
