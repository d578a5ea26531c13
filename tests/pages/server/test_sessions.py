"""Answers that come late change nothing that was asked for after them."""

from __future__ import annotations

from pages.server.sessions import RequestOrder


def test_answers_in_the_order_of_the_questions_are_all_shown() -> None:
    order = RequestOrder()
    assert order.accept(order.request_checkpoint("a"), 1)
    assert order.accept(order.request_picture("a"), 2)
    assert order.accept(order.request_checkpoint("b"), 3)
    assert order.accept(order.request_picture("b"), 4)


def test_a_picture_that_comes_after_a_later_one_is_dropped() -> None:
    order = RequestOrder()
    slow, quick = order.request_picture("a"), order.request_picture("a")
    assert order.accept(quick, 2)
    assert not order.accept(slow, 1)
    assert not order.reject(slow, "a")  # and so is what went wrong with it


def test_a_picture_of_the_checkpoint_before_is_dropped() -> None:
    order = RequestOrder()
    assert order.accept(order.request_checkpoint("a"), 1)
    slow = order.request_picture("a")
    other = order.request_checkpoint("b")
    clicked_while_b_opens = order.request_picture("a")
    assert not order.accept(slow, 2)
    assert not order.accept(clicked_while_b_opens, 3)
    assert order.accept(other, 4)
    assert order.is_at("b") and not order.is_at("a")
    back = order.request_checkpoint("a")
    assert not order.accept(slow, 2)  # of the same checkpoint again, but asked for before
    assert order.accept(back, 5)


def test_of_two_checkpoints_the_one_chosen_last_is_shown() -> None:
    order = RequestOrder()
    first, second = order.request_checkpoint("a"), order.request_checkpoint("b")
    assert order.accept(second, 2)
    assert not order.accept(first, 1)


def test_after_a_checkpoint_that_cannot_be_opened_the_page_goes_on_where_it_was() -> None:
    order = RequestOrder()
    assert order.accept(order.request_checkpoint("a"), 1)
    assert order.reject(order.request_checkpoint("b"), "a")
    assert order.accept(order.request_picture("a"), 2)
    failing, later = order.request_checkpoint("b"), order.request_checkpoint("c")
    assert not order.reject(failing, "a")
    assert order.accept(later, 3)


def test_a_link_may_lead_to_another_checkpoint_unless_the_visitor_acts_first() -> None:
    order = RequestOrder()
    assert order.accept(order.request_checkpoint("landing"), 1, spec="linked")
    assert order.is_at("linked") and not order.is_at("landing")
    order = RequestOrder()
    slow, clicked = order.request_checkpoint("landing"), order.request_picture("landing")
    assert order.accept(clicked, 2)
    assert not order.accept(slow, 1, spec="linked")
    assert order.is_at("landing")


def test_looks_are_added_to_what_is_shown_and_to_nothing_else() -> None:
    order = RequestOrder()
    assert order.accept(order.request_picture("a"), 7)
    assert order.accept_steering(7, 8)
    assert not order.accept_steering(7, 9)  # another look was added meanwhile
    assert order.accept(order.request_picture("a"), 10)
    assert not order.accept_steering(8, 11)
