"""Links are read strictly: what is not exactly as it should be is left out, and said."""

from __future__ import annotations

import pytest

import tnet_core as tn
from pages.explore.links import MAX_VALUE_CHARACTERS, Link, make_slugs, name_checkpoint, parse_link, plan_cells
from tests.support.models import TINY, TINY_3L, picture, tiny


def test_a_whole_link_is_read() -> None:
    link, wrong = parse_link(
        [
            ("__theme", "dark"), ("checkpoint", "tnet-needles"), ("example", "needles-1"), ("looks", "3,1"),
            ("class", "4"), ("against", "second"), ("cells", "12,7,12.3"), ("step", "2"), ("unknown", "<b>"),
        ]
    )  # fmt: skip
    assert link == Link(
        "tnet-needles", "needles-1", looks=(3, 1), cls=4, versus="second", cells=((12,), (7,), (12, 3)), step=2
    )
    assert wrong == {}
    assert parse_link([]) == (Link(), {})
    assert [parse_link([("against", word)])[0].versus for word in ("rival", "none")] == ["rival", "none"]
    assert parse_link([("against", "7"), ("looks", "0"), ("cells", "none")])[0] == Link(looks=(0,), versus=7, cells=())


HOSTILE = [
    "", " ", "<script>alert(1)</script>", "-1", "+1", "1e3", "0x1", "NaN", "nan", "Infinity", "1.5.", "٣", "３", "²",
    "1 ", "1\n", "1,", ",1", "1,,2", "1;2", "null", "undefined", "true", "[1]", "../../etc/passwd", "%00", "\0",
    "99999", "9" * 400, "1," * 400, "<" * MAX_VALUE_CHARACTERS, "1" * (MAX_VALUE_CHARACTERS + 1),
    "x" * 10_000_000, "1," * 10**6,
]  # fmt: skip


@pytest.mark.parametrize("name", ["looks", "class", "against", "cells", "step"])
@pytest.mark.parametrize("value", HOSTILE, ids=lambda value: repr(value[:20]))
def test_what_is_no_number_is_refused(name: str, value: str) -> None:
    link, wrong = parse_link([(name, value)])
    assert link == Link()
    assert list(wrong) == [name]
    assert f"'{name}'" in wrong[name] and len(wrong[name]) < 120
    assert "<" not in wrong[name]  # nothing of it is repeated


@pytest.mark.parametrize("name", ["checkpoint", "example"])
@pytest.mark.parametrize(
    "value",
    ["", "<script>", "a b", "../up", "hf:owner/name", "/etc/passwd", "-x", "a\nb", "x" * 99 + "/", "x" * 10_000_000],
)  # fmt: skip
def test_what_is_no_name_is_refused(name: str, value: str) -> None:
    link, wrong = parse_link([(name, value)])
    assert link == Link()
    assert list(wrong) == [name]


def test_a_parameter_that_is_given_twice_means_nothing() -> None:
    link, wrong = parse_link([("looks", "3"), ("class", "1"), ("looks", "3")])
    assert link == Link(cls=1)
    assert wrong == {"looks": "it gives 'looks' more than once"}


def test_a_flood_of_parameters_is_not_read() -> None:
    endless = ((f"x{number}", "1") for number in range(10**9))
    link, wrong = parse_link(endless)
    assert link == Link()
    assert "parameters" in wrong[""]


def test_examples_are_named_by_their_titles() -> None:
    assert make_slugs(["Harbour at dusk", "Two dogs", "two  dogs!", "Café №1", "鳥", "—"]) == [
        "harbour-at-dusk", "two-dogs", "two-dogs-2", "cafe-no1", "picture", "picture-2",
    ]  # fmt: skip
    for slug in make_slugs(["Harbour at dusk", "鳥", "Two dogs", "Two dogs"]):
        assert parse_link([("example", slug)]) == (Link(example=slug), {})


def test_checkpoints_are_named_by_their_ids_and_folders_not_at_all() -> None:
    assert name_checkpoint("tnet-lite0-cub") == "tnet-lite0-cub"
    assert name_checkpoint("/home/me/model") is None
    assert name_checkpoint("hf:owner/name") is None


def test_cells_are_found_among_the_looks_or_added_to_them() -> None:
    trace = tn.traverse(tiny(TINY_3L), picture(seed=3), budget=(2, 2))
    first = trace.locations[0].index
    inner = next(look for look in trace.locations if look.parent == 0)
    missing = next(
        cell for cell in range(9) if cell not in {look.index for look in trace.locations if look.parent is None}
    )
    count = len(trace.locations)
    assert plan_cells(trace, [], 80) == ((), ())
    assert plan_cells(trace, [(first,), (first, inner.index)], 80) == ((0, trace.locations.index(inner)), ())
    plan, added = plan_cells(trace, [(missing,), (first,), (missing, 8)], 80)
    assert plan == (count, 0, count + 1)
    assert added == ((None, missing), (count, 8))


@pytest.mark.parametrize(
    ("cells", "sentence"),
    [
        ([(999,)], "cell 999"),
        ([(9,)], "cell 9 and the last one is 8"),
        ([(1, 9)], "cell 9"),
        ([(1, 2)], "inside a cell that it did not look at"),
        ([(1,), (1,)], "twice"),
        ([(1,), (1, 2), (1, 2, 3)], "3 levels deep"),
        ([(cell,) for cell in range(9)], "more looks than the 8"),
    ],
)
def test_cells_that_are_not_there_are_refused(cells: list[tuple[int, ...]], sentence: str) -> None:
    trace = tn.traverse(tiny(TINY_3L), picture(seed=3), budget=(2, 2))
    with pytest.raises(tn.TNetError, match=sentence):
        plan_cells(trace, cells, 8)


def test_a_model_with_two_levels_has_no_cells_inside_cells() -> None:
    trace = tn.traverse(tiny(TINY), picture(seed=3), budget=(9,))
    with pytest.raises(tn.TNetError, match="2 levels deep and the model has 1"):
        plan_cells(trace, [(1,), (1, 2)], 80)
