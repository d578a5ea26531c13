"""What the tab 'What if' asks for: changes that can be made, sentences for all others."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import numpy as np
import pytest
from PIL import Image

import tnet_core as tn
from pages.explore.service import Explorer
from pages.sampling import SamplingMode
from pages.server.sessions import NO_PICTURE, Session
from pages.what_if.change import Change, check_change, parse_change
from pages.what_if.service import MAX_SIDE, Experimenter, OriginalPicture, choose_budget
from tests.support.model_caches import build_model_cache
from tests.support.models import TINY, TINY_3L, BackboneCalls, picture, tiny
from tnet_core.counterfactual import CellCentres, Move, compare, move_content, paste_part, place
from viz.common.payload import read_preview
from viz.what_if.page import NO_LOOKS, render_experiment


@pytest.fixture(scope="module")
def explorer(tmp_path_factory: pytest.TempPathFactory) -> Explorer:
    folder = tmp_path_factory.mktemp("lab")
    cache = build_model_cache()
    tn.save(tiny(TINY_3L), folder / "deep")
    cache.add(str(folder / "deep"), on_notice=lambda _: None)
    return Explorer(cache)


@pytest.fixture(scope="module")
def deep(explorer: Explorer, tmp_path_factory: pytest.TempPathFactory) -> Session:
    file = tmp_path_factory.mktemp("mine") / "mine.png"
    Image.fromarray(picture(90, 120, seed=5)).save(file)
    return explorer.open_picture(explorer.landing, str(file))[0]


@pytest.fixture(scope="module")
def untouched(explorer: Explorer, deep: Session) -> OriginalPicture:
    return Experimenter(explorer).open_original(deep)


@pytest.mark.slow
def test_it_looks_as_in_training_and_says_where_explore_does_not(explorer: Explorer, tmp_path: Path) -> None:
    Image.fromarray(picture(300, 400, seed=5)).save(tmp_path / "large.png")
    session, _ = explorer.open_picture(
        explorer.landing, str(tmp_path / "large.png"), mode=SamplingMode("native", "auto")
    )
    assert (session.trace.sampling, session.trace.levels) == ("native", 4)
    known = Experimenter(explorer).open_original(session)
    assert (known.trace.sampling, known.trace.levels) == ("official", 3)
    told = render_experiment(Experimenter(explorer).run(known, Change("flip")))
    assert "this tab looks as in training, at the network&#39;s own frame (official sampling)" in told
    session, _ = explorer.open_picture(explorer.landing, str(tmp_path / "large.png"))
    assert "as in training" not in render_experiment(
        Experimenter(explorer).run(Experimenter(explorer).open_original(session), Change("flip"))
    )


@pytest.mark.slow
def test_both_sides_are_traversals_of_the_picture_and_of_the_changed_one(
    explorer: Explorer, untouched: OriginalPicture
) -> None:
    model, pixels = explorer.models.open(explorer.landing), picture(90, 120, seed=5)
    budget = choose_budget(model.config)
    centres = CellCentres.of(model.config, 120, 90)
    across, down = centres.step
    boxes = untouched.trace.cell_boxes()
    wanted = {
        Change("flip"): move_content(pixels, place(Move(flip=True), 120, 90)),
        Change("shift", -1.0, 2): move_content(pixels, place(Move(dx=-across, dy=2 * down), 120, 90)),
        Change("scale", scale=150): move_content(pixels, place(Move(scale=1.5), 120, 90)),
        Change("paste", source=1, target=8): paste_part(pixels, boxes[1], boxes[8]),
    }
    before = tn.traverse(model, pixels, budget)
    for wish, changed in wanted.items():
        found = Experimenter(explorer).run(untouched, wish)
        after = tn.traverse(model, changed, budget)
        for ours, theirs in ((found.before, before), (found.after, after)):
            assert [look.path for look in ours.locations] == [look.path for look in theirs.locations]
            np.testing.assert_allclose(ours.logits(), theirs.logits(), rtol=1e-4, atol=1e-4)
        if wish.kind != "paste":
            assert found.placement is not None and found.followed is not None
            logits = [trace.distributions[0].logits.reshape(1, -1) for trace in (before, after)]
            told = compare(logits[0], logits[1], centres, found.placement)
            assert found.followed.content == pytest.approx(told.content, abs=1e-6)
            assert found.followed.score == pytest.approx(told.score, abs=1e-6, nan_ok=True)
        assert all(f'data-k="{k}"' in render_experiment(found) for k in range(1, found.max_looks + 1))


def test_what_moves_nothing_is_looked_at_once(explorer: Explorer, untouched: OriginalPicture) -> None:
    with BackboneCalls(explorer.models.open(explorer.landing)) as calls:
        for wish in (Change("shift", 0, 0), Change("scale", scale=100.0)):
            found = Experimenter(explorer).run(untouched, wish)
            assert not found.has_changed and found.followed is None and found.after is found.before
            assert "Nothing is changed yet" in render_experiment(found)
    assert calls.batches == []


@pytest.mark.slow
def test_a_large_picture_is_changed_at_a_bounded_size(explorer: Explorer, tmp_path: Path) -> None:
    wide = picture(700, 2100, seed=2)
    Image.fromarray(wide).save(tmp_path / "wide.png")
    session = explorer.open_picture(explorer.landing, str(tmp_path / "wide.png"))[0]
    found = Experimenter(explorer).open_original(session)
    assert (found.trace.image.width, found.trace.image.height) == (MAX_SIDE, round(700 * MAX_SIDE / 2100))
    small = read_preview(tn.ImageSource.open(wide), MAX_SIDE)
    again = tn.traverse(explorer.models.open(explorer.landing), small, found.trace.budget)
    np.testing.assert_allclose(found.trace.logits(), again.logits(), rtol=1e-4, atol=1e-4)


def test_the_server_remembers_no_pixels(untouched: OriginalPicture) -> None:
    assert untouched.trace.seen is None


def test_ten_looks_at_most_and_those_of_training_inside() -> None:
    assert choose_budget(tn.preset("lite0-cub")) == (10,)
    assert choose_budget(TINY) == (9,)
    assert choose_budget(TINY_3L) == (9, 2)
    assert choose_budget(replace(TINY_3L, budget=(2, 9))) == (4, 9)  # 40 looks


@pytest.mark.parametrize(
    ("wish", "said"),
    [
        (Change("rotate"), "4 ways"),
        (Change(["flip"]), "4 ways"),
        (Change(None), "4 ways"),
        (Change("shift", 5, 0), "cells"),
        (Change("shift", 0.5, 0), "cells"),
        (Change("shift", float("nan"), 0), "cells"),
        (Change("shift", "1", 0), "cells"),
        (Change("shift", 0, True), "cells"),
        (Change("scale", scale=49), "per cent"),
        (Change("scale", scale=1e9), "per cent"),
        (Change("scale", scale=None), "per cent"),
        (Change("paste", source=25, target=0), "cell"),
        (Change("paste", source=0, target=-1), "cell"),
        (Change("paste", source={"a": 1}, target=0), "cell"),
        (Change("paste", source=3, target=3), "two different cells"),
        (Change("paste", source=3, target=[]), "A place is two numbers"),
        (Change("paste", source=3, target=[10, 1001]), "A place in thousandths"),
        (Change("paste", source=3, target=[10, "x"]), "A place in thousandths"),
    ],
)
def test_impossible_wishes_are_one_sentence(wish: Change, said: str) -> None:
    with pytest.raises(tn.TNetError, match=said):
        check_change(wish, 5)


def test_a_part_is_dropped_anywhere_and_stays_inside(explorer: Explorer, untouched: OriginalPicture) -> None:
    boxes, pixels = untouched.trace.cell_boxes(), picture(90, 120, seed=5)
    found = Experimenter(explorer).run(untouched, Change("paste", source=1, target=[990, 130]))
    width, height = boxes[1][2] - boxes[1][0], boxes[1][3] - boxes[1][1]
    place = (1 - width, 0.13, 1.0, 0.13 + height)
    assert found.copy == pytest.approx(place) and found.copied is not None
    after = tn.traverse(
        explorer.models.open(explorer.landing), paste_part(pixels, boxes[1], place), found.before.budget
    )
    np.testing.assert_allclose(found.after.logits(), after.logits(), rtol=1e-4, atol=1e-4)
    again = parse_change(dict(parse_qsl(found.settings)), untouched.grid)
    assert again == Change("paste", source=1, target=(990, 130))


def test_fields_of_other_changes_do_not_matter() -> None:
    junk: dict[str, Any] = {"scale": "x", "source": [], "target": None}
    assert check_change(Change("shift", 1, -4.0, **junk), 5) == Change("shift", 1, -4)
    assert check_change(Change("flip", "left", **junk), 5) == Change("flip")


def test_without_a_picture_or_without_looks_there_is_nothing_to_try(explorer: Explorer, deep: Session) -> None:
    with pytest.raises(tn.TNetError, match=NO_PICTURE[:20]):
        Experimenter(explorer).open_original(None)
    plain = tn.preset("cub-en-b0")
    trace = replace(deep.trace, config=plain)
    with pytest.raises(tn.TNetError, match=NO_LOOKS[:20]):
        Experimenter(explorer).open_original(replace(deep, trace=trace))


def test_what_is_pasted_first_goes_far_away(untouched: OriginalPicture) -> None:
    source, target = untouched.first_paste
    assert source == untouched.trace.locations[0].index and target in (0, 2, 6, 8) and target != source
    assert sorted(cell for _, cell in untouched.list_cells()) == list(range(9))
    assert untouched.list_cells()[0] == (f"look 1: {untouched.name_cell(source)}", source)
