"""What belongs to a checkpoint: its card, its pictures."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import tnet_core as tn
from tests.support.models import TINY, TINY_3L
from tnet_core.checkpoints import CheckpointCard, Evaluation
from tnet_core.schemas.evaluation import parse_evaluation
from viz.common.text import format_budget
from viz.examples import DRAWINGS, list_pictures_of_kind
from viz.explore import gallery
from viz.explore.checkpoint import CheckpointPanel, build_checkpoint_panel, render_card, select_results
from viz.explore.gallery import find_picture_kind


def evaluation(*budgets: tuple[int, ...], name: str = "Garden birds", **further: Any) -> Evaluation:
    results = [{"budget": budget, "top1": 0.5 + 0.01 * at, "flops": 2e9} for at, budget in enumerate(budgets)]
    data = {"name": name, "split": "test" if name == "Garden birds" else name, "size": 120}
    return parse_evaluation({"schema": 1, "dataset": data, "budgets": results, **further})


def about(config: tn.TNetConfig = TINY, **changes: Any) -> CheckpointCard:
    return replace(CheckpointCard(source="mine", origin="A folder.", title="Mine", config=config), **changes)


def words(html: str) -> str:
    return " ".join(re.sub(r"<[^>]*>", " ", html).split())


# Cards ---------------------------------------------------------------------------------------------


def test_a_card_says_what_was_measured_where_and_what_is_allowed() -> None:
    shown = words(
        render_card(
            about(
                description="A small model",
                numbers="measured by us",
                licence_weights="Apache-2.0",
                licence_data="CC-BY-4.0",
                provenance={"dataset": "Birds of the garden"},
                evaluation=evaluation((0,), (1,), (3,)),
            )
        )
    )
    assert "top-1 52.0 % with 3 looks (Garden birds, test)" in shown
    assert "Measured on Garden birds, split test, 120 images" in shown
    assert "thumbnail alone 50.0 % 2.0 GFLOPs" in shown
    assert "1 look 51.0 %" in shown
    for text in ("A small model", "measured by us", "Birds of the garden", "weights Apache-2.0; data CC-BY-4.0"):
        assert text in shown


def test_a_checkpoint_without_measurements_says_so() -> None:
    assert "accuracy not measured" in render_card(about())
    assert "no evaluation.json" in render_card(about())
    assert "<table" not in render_card(about())


def test_agreement_is_not_called_accuracy() -> None:
    agreeing = evaluation((0,), (3,), agreement={})
    shown = words(render_card(about(evaluation=agreeing)))
    assert "agrees with the whole image in 51.0 % with 3 looks" in shown
    assert "not accuracy" in shown
    assert "top-1" not in shown


def test_what_a_checkpoint_says_is_escaped() -> None:
    hostile = "<script>x</script>"
    measured = evaluation((3,), name=hostile)
    html = render_card(about(title=hostile, description=hostile, numbers=hostile, evaluation=measured))
    assert "<script" not in html


def test_few_budgets_are_listed_the_trained_one_among_them() -> None:
    two = about(replace(TINY, budget=(7,)), evaluation=evaluation(*((k,) for k in range(11))))
    shown = [result.budget for result in select_results(two)]
    assert len(shown) == 8
    assert shown == sorted(shown)
    assert {(0,), (7,), (10,)} <= set(shown)


def test_three_levels_list_combinations_up_to_the_trained_budget() -> None:
    every = evaluation(*((a, b) for a in range(4) for b in range(4)))
    shown = [result.budget for result in select_results(about(TINY_3L, evaluation=every))]
    assert (2, 2) in shown
    assert all(a <= 2 and b <= 2 for a, b in shown)


@pytest.mark.parametrize(
    ("budget", "written"), [((0,), "thumbnail alone"), ((1,), "1 look"), ((3,), "3 looks"), ((2, 1), "2 × 1 looks")]
)
def test_limits_are_written_in_words(budget: tuple[int, ...], written: str) -> None:
    assert format_budget(budget) == written


# Kinds and pictures ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "provenance", "kind"),
    [
        ("tnet-lite0-imagenet", {"dataset": "CUB training images without labels"}, "photo"),
        ("tnet-needles", {}, "needles"),
        ("tnet-lite0-cub", {}, "bird"),
        ("folder", {"dataset": "CUB-200-2011"}, "bird"),
        ("folder", {"recipe": "nabirds-b0"}, "bird"),
        ("folder", {"dataset": "needles (generated)"}, "needles"),
        ("tnet-lite0-pets", {}, "pet"),
        ("folder", {"dataset": "Oxford-IIIT Pet"}, "pet"),
        ("carpets", {}, "photo"),
        ("cubism", {"dataset": 5}, "photo"),
        ("folder", {}, "photo"),
    ],
)
def test_a_checkpoint_is_for_what_it_was_trained_on(source: str, provenance: dict[str, Any], kind: str) -> None:
    assert find_picture_kind(about(source=source, title="", provenance=provenance)) == kind


def test_the_gallery_shows_what_suits_the_checkpoint() -> None:
    for kind in ("photo", "bird", "pet"):
        titles = [picture.title for picture in gallery.list_pictures(kind)]
        assert titles == [item.title for item in list_pictures_of_kind(kind)]
    assert len(gallery.list_pictures("photo")) > len(gallery.list_pictures("bird"))


def test_photographs_name_their_author_and_licence() -> None:
    for picture, item in zip(gallery.list_pictures("photo"), list_pictures_of_kind("photo"), strict=True):
        assert item.author in picture.credit
        assert item.licence in picture.credit


def test_drawings_stand_in_where_no_picture_suits(tmp_path: Path) -> None:
    assert gallery.list_pictures("photo", tmp_path) == gallery.list_drawings()
    assert [picture.title for picture in gallery.list_drawings()] == [example.title for example in DRAWINGS]


def test_the_gallery_marks_the_chosen_example_only() -> None:
    pictures = gallery.list_drawings()
    html = gallery.render_gallery(pictures, 2)
    pressed = re.findall(r'data-example="(\d+)" [^>]*aria-pressed="true"', html)
    assert pressed == ["2"]
    assert 'aria-pressed="true"' not in gallery.render_gallery(pictures, None)
    assert html.count("<button") == len(DRAWINGS)


def test_titles_of_pictures_are_escaped() -> None:
    html = gallery.render_gallery([gallery.ExamplePicture('"><script>', 0)], 0)
    assert "<script" not in html


def test_a_fetched_picture_is_called_by_its_file_name() -> None:
    picture = gallery.build_hub_picture("tits/great-tit_2.jpg", Path("/cache/x.jpg"), "from somewhere")
    assert (picture.title, picture.credit) == ("Great tit 2", "from somewhere")


def test_birds_and_pets_are_invited() -> None:
    assert "200 species" in gallery.render_invitation("bird", 200)
    assert "37 breeds" in gallery.render_invitation("pet", 37)
    assert gallery.render_invitation("photo", 1000) == ""


# The rest --------------------------------------------------------------------------------


def furnish(config: tn.TNetConfig, **changes: Any) -> CheckpointPanel:
    options = {"trained": True, "has_more": False} | changes
    return build_checkpoint_panel(about(config), "mine", [("Mine", "mine")], **options)


def test_an_untrained_model_is_announced_and_has_no_card() -> None:
    bare = furnish(TINY, trained=False, sentences=["'birds' is damaged."])
    assert bare.card["value"] == ""
    assert "Untrained weights" in bare.notice["value"]
    assert "is damaged" in bare.notice["value"]
    assert bare.chooser["visible"] is False
    assert furnish(TINY).chooser["visible"] is True
    assert furnish(TINY).notice["value"] == ""


def test_more_examples_are_offered_only_where_there_are_some() -> None:
    assert furnish(TINY).more["visible"] is False
    assert furnish(TINY, has_more=True).more["visible"] is True
