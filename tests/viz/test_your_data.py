"""A visitor's own evaluations beside the catalogue's curves."""

from __future__ import annotations

from html import unescape
from typing import Any

import pytest

from tests.support.evaluation_cards import agreeing, bundled
from viz.accuracy.catalogue import Catalogue, add_visitor_data
from viz.accuracy.selection import select_defaults
from viz.common.measured import MAX_EVALUATIONS, VisitorEvaluation, add_evaluation, read_visitor_curves
from viz.your_data.page import (
    FailureGallery,
    ZipLimits,
    render_failures,
    render_file_link,
    render_result,
    render_zip_layout,
)

BIRDS = "tnet-lite0-cub"


def content(name: str = "garden", top1: float = 0.5, **more: Any) -> dict[str, Any]:
    budgets = [{"budget": [k], "top1": top1 + k / 10, "top1_interval": [0.1, 0.9], "flops": 1e9} for k in range(3)]
    policies = {"random": {"top1": [top1, top1, top1], "top1_interval": [[0.1, 0.9]] * 3}}
    about = {"name": name, "split": "uploaded", "size": 12, "classes": 3}
    return {"schema": 1, "dataset": about, "budgets": budgets, "policies": policies, "per_image": {"x": "0" * 9}} | more


@pytest.fixture(scope="module")
def catalogue() -> Catalogue:
    return Catalogue([*bundled(), agreeing()])


def test_the_newest_are_kept_without_what_no_curve_needs() -> None:
    own: tuple[VisitorEvaluation, ...] = ()
    for n in range(MAX_EVALUATIONS + 3):
        own = add_evaluation(own, BIRDS, "Birds", content(f"garden {n}"))
    assert [one.name for one in own] == [f"garden {n}" for n in range(3, MAX_EVALUATIONS + 3)]
    assert [one.number for one in own] == list(range(4, MAX_EVALUATIONS + 4))
    assert all("per_image" not in one.content for one in own)
    rough = add_evaluation((), BIRDS, "Birds", content(run={"precision": "bfloat16"}))
    assert read_visitor_curves(rough[0])[0].source == "garden uploaded, 12 images, computed in bfloat16"
    again = add_evaluation(own, BIRDS, "Birds", content("Garden 5", top1=0.2))  # measured anew
    assert len(again) == MAX_EVALUATIONS and [one.key for one in again].count("own/garden 5") == 1


def test_own_images_are_a_data_set_with_the_delivered_curve_beside(catalogue: Catalogue) -> None:
    own = add_evaluation((), BIRDS, "Birds", content())
    own = add_evaluation(own, "tnet-lite0-cub-reinforce", "Reinforced birds", content())
    mine = add_visitor_data(catalogue, own)
    assert mine is not catalogue and add_visitor_data(catalogue, ()) is catalogue
    assert [data.key for data in mine.data_sets[1:]] == [data.key for data in catalogue.data_sets]  # itself unchanged
    first = mine.data_sets[0]
    assert first.choice == "Your data: garden"
    delivered = "CUB-200-2011 validation, 597 images"
    labels = [curve.label for curve in first.measured]
    assert labels[0] == "Your data: garden (Birds)" and labels[2] == "Your data: garden (Reinforced birds)"
    assert labels[1].endswith(delivered) and labels[3].endswith(delivered)
    shown = select_defaults(mine, own[-1].key)
    assert shown.data is first and {curve.role for curve in shown.curves} == {"", "random"}
    curve = shown.curves[0]
    assert [point.top1 for point in curve.points] == pytest.approx([0.5, 0.6, 0.7])


def test_agreement_does_not_stand_beside_accuracy(catalogue: Catalogue) -> None:
    mine = add_visitor_data(catalogue, add_evaluation((), "agreeing", "Anything", content()))
    assert [curve.label for curve in mine.data_sets[0].measured] == ["Your data: garden (Anything)"]


def test_the_table_has_every_budget_and_escapes_names() -> None:
    [own] = add_evaluation((), BIRDS, "<b>Birds</b>", content("<img src=x>"))
    text = render_result(own, ["Left out: <i>."], 12.3)
    assert "<img" not in text and "<i>" not in text and "&lt;b&gt;Birds" in text
    assert text.count("<tr data-budget=") == 3 and "60.0 % <small>10.0–90.0</small>" in text
    assert "12 images of 3 classes, in 12 s" in text
    link = render_file_link("<img src=x>", '{"a": 1}')
    assert "<img" not in link and 'download="img-src-x.evaluation.json"' in link


def test_what_a_zip_may_hold_is_said_with_the_numbers_that_are_checked() -> None:
    limits = ZipLimits(size=7 << 20, images=1_234, pixels=9_000_000, failures=3 << 20)
    text = render_zip_layout(limits)
    assert "At most 7 MB, 1,234 images, 9 million pixels each." in text
    assert "those it got wrong, 3 MB at most, when this page is closed" in text


@pytest.mark.parametrize(
    ("difference", "interval", "said"),
    [
        (0.2, [0.05, 0.35], "Choosing is 20.0 points better than looks at random (95 % interval +5.0 to +35.0)."),
        (-0.2, [-0.35, -0.05], "Choosing is 20.0 points worse than looks at random (95 % interval −35.0 to −5.0)."),
        (-0.2, [-0.5, 0.1], "That choosing is 20.0 points worse than looks at random is not established: the 95 % "
                            "interval −50.0 to +10.0 holds zero."),
        (0.0, [0.0, 0.0], "There is no difference to looks at random."),
        ("much", [0, 1], ""),
    ],
)  # fmt: skip
def test_one_sentence_says_whether_choosing_paid_with_the_trained_budget(
    difference: Any, interval: list[float], said: str
) -> None:
    compared = {"learned-random": {"difference": [0.0, difference, 0.9], "interval": [[0.0, 0.0], interval, [0.8, 1]]}}
    more = {"trained_budget": [1], "comparisons": compared, "intervals": {"confidence": 0.95}}
    [own] = add_evaluation((), BIRDS, "Birds", content(**more))
    said = said.replace("95 %", "95\N{NO-BREAK SPACE}%")
    first = "With 1 look, the network's own looks are right in 60.0 % of the images and looks at random in 50.0 %."
    assert f'<p class="your-data-headline">{f"{first} {said}".strip()}</p>' in unescape(render_result(own, [], 1.0))
    [untold] = add_evaluation((), BIRDS, "Birds", content())  # the largest budget, and no difference
    assert (
        "With 2 looks, the network's own looks are right in 70.0 % of the images and looks at random in 50.0 %.</p>"
        in (unescape(render_result(untold, [], 1.0)))
    )


def test_costs_have_their_unit_in_the_head_of_the_table() -> None:
    [own] = add_evaluation((), BIRDS, "Birds", content())
    text = render_result(own, [], 1.0)
    assert '<th scope="col">GFLOPs</th></tr>' in text and text.count('<td data-label="Cost">1.0</td>') == 3
    small = content()
    for row in small["budgets"]:
        row["flops"] = 2.5e7
    small["budgets"][0].pop("flops")
    [own] = add_evaluation((), BIRDS, "Birds", small)
    text = render_result(own, [], 1.0)
    assert '<th scope="col">MFLOPs</th></tr>' in text and text.count('<td data-label="Cost">25</td>') == 2
    assert '<td data-label="Cost"></td>' in text


@pytest.mark.parametrize(
    ("confusions", "wrong", "said"),
    [
        ({("a", "b"): 2, ("c", "c"): 1}, 2, "The 2 classes with most confusions; 1 other is not in it."),
        ({("a", "b"): 2, ("c", "c"): 1, ("d", "d"): 1}, 2,
         "The 2 classes with most confusions; 2 others are not in it."),
        ({(f"c{i}", f"d{i}"): 2 for i in range(7)} | {("c0", "z"): 1}, 15,
         "The 14 classes with most confusions; 1 other and 1 failure with it are not in it."),
    ],
)  # fmt: skip
def test_what_the_matrix_leaves_out_is_said_in_grammar(
    confusions: dict[tuple[str, str], int], wrong: int, said: str
) -> None:
    found = FailureGallery((1,), 20, wrong, 0, {}, "", (), confusions, (), ())
    assert said in render_failures(found)
