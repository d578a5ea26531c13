"""What the tab 'What if' says and draws."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import tnet_core as tn
from tests.support.evaluation_cards import card
from tests.support.models import TINY, picture, tiny
from tnet_core.checkpoints import CheckpointCard
from tnet_core.counterfactual import CellCentres, Fate, Move, move_content, paste_part, place
from viz.what_if.experiment import Experiment, format_fates, format_kept, format_verdict, read_measured_scores
from viz.what_if.page import clip_box, render_experiment


def fate(kind: Any) -> Fate:
    return Fate(0, 0.0, 0.0, kind, None, None)


@pytest.mark.parametrize(
    ("kinds", "said"),
    [
        (["followed"], "The first look followed its content."),
        (["unmoved"], "The first look tells nothing, since the old place still shows its content."),
        (["stayed", "stayed"], "Both looks stayed where they were."),
        (["neither"] * 3, "All 3 looks did neither."),
        (["followed", "followed", "stayed"],
         "Of the first 3 looks, 2 followed their content and 1 stayed where it was."),
        (
            ["gone", "followed", "both", "neither"],
            "Of the first 4 looks, 1 followed its content, 1 did neither, 1 cannot be told apart, since both places "
            "are looked at and 1 lost its content, which left the picture.",
        ),
    ],
)  # fmt: skip
def test_the_verdict_is_one_sentence(kinds: list[str], said: str) -> None:
    assert format_fates([fate(kind) for kind in kinds], len(kinds)) == said


def experiment(**changes: Any) -> Experiment:
    pixels = picture(96, 128, seed=3)
    placement = place(Move(flip=True), 128, 96)
    before = tn.traverse(tiny(TINY), pixels, (5,))
    after = tn.traverse(tiny(TINY), move_content(pixels, placement), (5,))
    given: dict[str, Any] = {"placement": placement, "title": "a <b>", "change": "mirrored", "pictures": ("x:", "y:")}
    return Experiment(**(given | {"before": before, "after": after} | changes))


def test_every_number_of_looks_has_its_sentence_and_its_table() -> None:
    shown = experiment()
    made = render_experiment(shown)
    for k in range(1, 6):
        assert format_verdict(shown, k) in made
    assert made.count("data-k=") == 3 * 5 and made.count("<tr data-fate") == 1 + 2 + 3 + 4 + 5
    assert "a &lt;b&gt;" in made and "<b>" not in made.split("a &lt;")[1][:4]


def test_a_copy_is_told_by_ranks() -> None:
    pixels = picture(96, 128, seed=3)
    before = tn.traverse(tiny(TINY), pixels, (5,))
    boxes = before.cell_boxes()
    after = tn.traverse(tiny(TINY), paste_part(pixels, boxes[0], boxes[8]), (5,))
    shown = experiment(placement=None, copied=(0, 8), before=before, after=after)
    ranks = [trace.distributions[0].ranks.ravel() for trace in (before, after)]
    assert shown.pull is not None and shown.pull.target == (ranks[0][8] - 1, ranks[1][8] - 1)
    assert format_kept(shown, 3).startswith(
        f"The copy's own cell ranks {ranks[1][8]} of 9 now and ranked {ranks[0][8]} before."
    )
    kept = len(set(shown.cells[0][:3]) & set(shown.cells[1][:3]))
    assert format_kept(shown, 3).endswith(f"{kept} of the first 3 looks are at the same cells.")
    for k in range(1, 6):
        assert format_verdict(shown, k) in render_experiment(shown) and format_verdict(shown, k).count(".") == 1
    assert "score" not in render_experiment(shown).split("What the copy did")[1].split("</dl>")[0]


def test_the_headline_says_whether_a_look_goes_to_the_copy() -> None:
    shown = experiment(placement=None, copied=(0, 8), copy=(0.5, 0.5, 0.8, 0.8))
    shown.__dict__["cells"] = ((0, 1, 2), (8, 1, 2))  # cell 8 is the lower right one
    assert format_verdict(shown, 3) == "Look 1 goes to the copy; before, none of the first 3 looks was there."
    assert format_verdict(shown, 1) == "The first look goes to the copy; before, it was elsewhere."
    shown.__dict__["cells"] = ((1, 8, 2), (8, 1, 2))
    assert format_verdict(shown, 3).startswith("Look 1 is at the copy, where look 2 was already")
    shown.__dict__["cells"] = ((1, 8, 2), (0, 1, 2))
    assert format_verdict(shown, 3).startswith("No look is at the copy, where look 2 was before")
    shown.__dict__["cells"] = ((1, 0, 2), (0, 1, 2))
    assert format_verdict(shown, 3).startswith("None of the first 3 looks goes to the copy, whose own cell ranks ")


def test_a_look_beside_the_copys_cell_is_not_said_to_go_there() -> None:
    """The headline does not contradict the rank of the copy's own cell."""
    shown = experiment(placement=None, copied=(0, 8))
    shown.__dict__["cells"] = ((0, 1, 2), (0, 1, 5))  # cell 5 covers half of cell 8
    told = "Look 3 covers at least half of the copy; before, none of the first 3 looks did."
    assert format_verdict(shown, 3) == told
    shown.__dict__["cells"] = ((0,), (5,))
    assert format_verdict(shown, 1) == "The first look covers at least half of the copy; before, it was elsewhere."
    shown.__dict__["cells"] = ((7, 1, 2), (0, 1, 5))
    assert format_verdict(shown, 3).startswith("Look 3 covers at least half of the copy, where look 1 was already")
    shown.__dict__["cells"] = ((0, 1, 2), (5, 1, 8))  # its own cell counts, although another look covers half before
    assert format_verdict(shown, 3) == "Look 3 goes to the copy; before, none of the first 3 looks was there."


def test_boxes_outside_the_picture_are_not_drawn() -> None:
    assert clip_box((-0.5, 0.2, 0.25, 1.4)) == (0.0, 0.2, 0.25, 1.0)
    assert clip_box((1.0, 0.0, 1.3, 0.2)) is None
    step = CellCentres.of(TINY, 128, 128).step[0]
    assert "data-of" in render_experiment(experiment(placement=place(Move(dx=step), 128, 96)))


SECTION = {
    "score": 0.46, "score_interval": [0.44, 0.49],
    "transforms": {"flip": {"about": "mirrored left to right", "score": 0.56, "score_interval": [0.5, 0.6]},
                   "zoom_in": {"score": "high"}},
}  # fmt: skip


def card_with(folder: Path, section: Any) -> CheckpointCard:
    told = {"schema": 1, "dataset": {"name": "birds", "split": "test", "size": 9}, "equivariance": section}
    return card(folder, told | {"budgets": [{"budget": [1], "top1": 0.5}]})


def test_the_evaluation_tells_the_score_of_the_data_set(tmp_path: Path) -> None:
    about = card_with(tmp_path, SECTION)
    all_moves, flip = read_measured_scores(about, "flip")
    assert (all_moves.score.value, all_moves.score.interval) == (0.46, (0.44, 0.49))
    assert flip.about == "mirrored left to right" and flip.score.value == 0.56
    assert len(read_measured_scores(about, "zoom_in")) == len(read_measured_scores(about, None)) == 1
    wrong: list[Any] = [None, 3, [], {"score": 7}, {"score": True}, {"transforms": "x"}]
    for broken in wrong:
        assert read_measured_scores(card_with(tmp_path, broken), "flip") == ()
    made = render_experiment(
        experiment(measured=read_measured_scores(about, "flip"), evaluated_on="birds test, 9 images")
    )
    assert "Measured on birds test, 9 images" in made and "+0.46" in made and "+0.44 to +0.49" in made
    assert "No evaluation of this checkpoint" in render_experiment(experiment())
