"""Answers that come late change nothing that was asked for after them."""

from __future__ import annotations

from pages.server.sessions import Turns


def test_answers_in_the_order_of_the_questions_are_all_shown() -> None:
    turns = Turns()
    assert turns.grant(turns.checkpoint("a"), 1)
    assert turns.grant(turns.picture("a"), 2)
    assert turns.grant(turns.checkpoint("b"), 3)
    assert turns.grant(turns.picture("b"), 4)


def test_a_picture_that_comes_after_a_later_one_is_dropped() -> None:
    turns = Turns()
    slow, quick = turns.picture("a"), turns.picture("a")
    assert turns.grant(quick, 2)
    assert not turns.grant(slow, 1)
    assert not turns.refuse(slow, "a")  # and so is what went wrong with it


def test_a_picture_of_the_checkpoint_before_is_dropped() -> None:
    turns = Turns()
    assert turns.grant(turns.checkpoint("a"), 1)
    slow = turns.picture("a")
    other = turns.checkpoint("b")
    clicked_while_b_opens = turns.picture("a")
    assert not turns.grant(slow, 2)
    assert not turns.grant(clicked_while_b_opens, 3)
    assert turns.grant(other, 4)
    assert turns.wants("b") and not turns.wants("a")
    back = turns.checkpoint("a")
    assert not turns.grant(slow, 2)  # of the same checkpoint again, but asked for before
    assert turns.grant(back, 5)


def test_of_two_checkpoints_the_one_chosen_last_is_shown() -> None:
    turns = Turns()
    first, second = turns.checkpoint("a"), turns.checkpoint("b")
    assert turns.grant(second, 2)
    assert not turns.grant(first, 1)


def test_after_a_checkpoint_that_cannot_be_opened_the_page_goes_on_where_it_was() -> None:
    turns = Turns()
    assert turns.grant(turns.checkpoint("a"), 1)
    assert turns.refuse(turns.checkpoint("b"), "a")
    assert turns.grant(turns.picture("a"), 2)
    failing, later = turns.checkpoint("b"), turns.checkpoint("c")
    assert not turns.refuse(failing, "a")
    assert turns.grant(later, 3)


def test_a_link_may_lead_to_another_checkpoint_unless_the_visitor_acts_first() -> None:
    turns = Turns()
    assert turns.grant(turns.checkpoint("landing"), 1, spec="linked")
    assert turns.wants("linked") and not turns.wants("landing")
    turns = Turns()
    slow, clicked = turns.checkpoint("landing"), turns.picture("landing")
    assert turns.grant(clicked, 2)
    assert not turns.grant(slow, 1, spec="linked")
    assert turns.wants("landing")


def test_looks_are_added_to_what_is_shown_and_to_nothing_else() -> None:
    turns = Turns()
    assert turns.grant(turns.picture("a"), 7)
    assert turns.steer(7, 8)
    assert not turns.steer(7, 9)  # another look was added meanwhile
    assert turns.grant(turns.picture("a"), 10)
    assert not turns.steer(8, 11)
