"""Looks cut from the picture's own pixels: the core's own, bounded, named wherever they go, and never the default."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from PIL import Image

import tnet_core as tn
from pages.compare.service import Comparer
from pages.explore.images import read_file
from pages.explore.open_link import open_link
from pages.explore.service import Explorer
from pages.limits import MAX_LOOKS_PER_TRAVERSAL, count_looks
from pages.sampling import AS_TRAINED, SamplingMode, check_mode, parse_mode, simplify_mode
from pages.server.model_cache import ModelCache
from pages.server.sessions import Session
from tests.pages.explore.test_tab import SKIPPED, Page, _no_progress
from tests.support.checkpoints import entry_fields, save_birds, write_registry
from tests.support.large_files import scene
from tests.support.models import TINY, TINY_3L, tiny
from tnet_core.checkpoints import Registry
from tnet_core.inference.replay import replay
from tnet_core.modeling.presets import baseline_of
from viz.explore.gallery import ExamplePicture
from viz.explore.sampling import build_sampling_payload

pytestmark = pytest.mark.slow

NATIVE, DEEP = SamplingMode("native"), SamplingMode("native", "auto")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint with two levels, one with three, one whose own frame is large; pictures of three sizes."""
    folder = tmp_path_factory.mktemp("modes")
    birds = save_birds(folder / "birds")
    tn.save(tiny(TINY_3L), folder / "deep")
    tn.save(tn.build(replace(TINY, input_size=2048), seed=0), folder / "fine")
    for name, (height, width) in {"small": (128, 120), "wide": (200, 300), "huge": (1500, 2000)}.items():
        Image.fromarray(scene(height, width, seed=4)).save(folder / f"{name}.png")
    write_registry(
        folder / "mine.yaml",
        entry_fields(birds, id="birds", title="Birds", source={"folder": "birds"}),
        entry_fields(folder / "deep", id="deep", title="Three levels", source={"folder": "deep"}),
        entry_fields(folder / "fine", id="fine", title="A large frame", source={"folder": "fine"}),
    )
    return folder


@pytest.fixture(scope="module")
def explorer(place: Path) -> Explorer:
    return Explorer(ModelCache(Registry.load(place / "mine.yaml", shipped=None), fallback="lite0-cub", device="cpu"))


def open_picture(
    explorer: Explorer, picture: Path, mode: SamplingMode = AS_TRAINED, spec: str = "birds"
) -> tuple[Session, dict[str, Any]]:
    session, sent = explorer.open_picture(spec, str(picture), mode=mode)
    return session, json.loads(sent)


def assert_same_looks(trace: tn.Trace, budget: Any, expected: tn.Trace) -> None:
    kept = [trace.locations[at] for at in trace.select(budget=budget)]
    assert [look.path for look in kept] == [look.path for look in expected.locations]
    assert [look.box for look in kept] == [look.box for look in expected.locations]
    assert [look.pixels for look in kept] == [look.pixels for look in expected.locations]
    np.testing.assert_allclose(trace.logits(budget=budget), expected.logits(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("spec", ["birds", "deep"])
def test_native_gives_the_looks_of_the_core(explorer: Explorer, place: Path, spec: str) -> None:
    session, sent = open_picture(explorer, place / "wide.png", NATIVE, spec)
    expected = tn.traverse(explorer.models.open(spec), place / "wide.png", sampling="native")
    assert (session.trace.sampling, sent["sampling"], session.mode) == ("native", "native", NATIVE)
    assert sent["shown"] == list(expected.budget)  # what the page opens with
    assert_same_looks(explorer.open_trace(session), expected.budget, expected)
    official = tn.traverse(explorer.models.open(spec), place / "wide.png")
    assert not np.allclose(expected.logits(), official.logits(), atol=1e-4)  # it does make a difference


def test_automatic_levels_are_those_of_the_core(explorer: Explorer, place: Path) -> None:
    session, sent = open_picture(explorer, place / "wide.png", DEEP)
    expected = tn.traverse(explorer.models.open("birds"), place / "wide.png", sampling="native", levels="auto")
    assert session.trace.levels == sent["levels"] == expected.levels == 4
    assert sent["shown"] == list(expected.budget) == [3, 3, 3]
    assert_same_looks(explorer.open_trace(session), expected.budget, expected)
    assert "4 levels in all" in sent["cut"]["sentence"] and "room for" not in sent["cut"]["sentence"]


def test_a_deep_example_is_looked_at_in_its_own_pixels_unless_something_else_is_asked_for(
    explorer: Explorer, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    examples = [ExamplePicture(name, place / f"{name}.png", deep=name == "wide") for name in ("small", "wide", "huge")]
    monkeypatch.setattr(explorer, "list_pictures", lambda _: examples)
    opened = {at: explorer.open_picture("birds", at) for at in range(3)}
    assert [session.mode for session, _ in opened.values()] == [AS_TRAINED, DEEP, AS_TRAINED]
    assert json.loads(opened[1][1])["levels"] == 4
    session, sent = explorer.open_picture("birds", 1, mode=SamplingMode("official"))
    assert session.mode == AS_TRAINED and json.loads(sent)["levels"] == 2
    assert explorer.open_picture("birds", 1, mode=NATIVE)[0].mode == NATIVE


def test_a_very_large_picture_takes_fewer_looks_and_says_so(explorer: Explorer, place: Path) -> None:
    session, sent = open_picture(explorer, place / "huge.png", DEEP)
    model = explorer.models.open("birds")
    everything = tn.traverse(model, place / "huge.png", budget=[1] * 5, sampling="native", levels="auto")
    trace = explorer.open_trace(session)
    assert trace.levels == everything.levels == 6  # as deep as the core goes
    assert count_looks(trace.budget) == len(trace.locations) <= MAX_LOOKS_PER_TRAVERSAL
    assert trace.budget[0] == 3 and min(trace.budget) == 1  # training's looks are kept where it took them
    assert_same_looks(trace, everything.budget, everything)
    assert f"({' × '.join(map(str, trace.budget))}): a page has room for 40." in sent["cut"]["sentence"]


def test_without_a_choice_nothing_is_other_than_before(explorer: Explorer, place: Path) -> None:
    session, sent = open_picture(explorer, place / "huge.png")
    expected = tn.traverse(explorer.models.open("birds"), place / "huge.png", budget=(9,))
    assert session.mode == AS_TRAINED and session.trace.sampling == "official" and session.trace.budget == (9,)
    assert_same_looks(explorer.open_trace(session), (9,), expected)
    cut = sent["cut"]
    assert (cut["sampling"], cut["levels"], cut["frame"], cut["depths"]) == (None, None, "official", [])
    assert [name for name, _ in cut["frames"]] == ["official", "native"]
    assert open_picture(explorer, place / "huge.png", SamplingMode("official"))[0].mode == AS_TRAINED


def test_the_choice_is_offered_only_where_it_makes_a_difference(explorer: Explorer, place: Path) -> None:
    session, sent = open_picture(explorer, place / "small.png", DEEP)
    assert session.mode == AS_TRAINED and session.trace.sampling == "official"
    assert sent["cut"]["frames"] == [] and "no more pixels than the network's own frame" in sent["cut"]["sentence"]
    plain = baseline_of(TINY, 64)
    assert simplify_mode(DEEP, plain, 2000, 1500) == AS_TRAINED  # takes no looks
    assert build_sampling_payload(tn.traverse(tn.build(plain), place / "huge.png")) is None
    # one level more shows nothing new: 129 px, cells of 64
    assert simplify_mode(DEEP, TINY, 129, 20) == NATIVE


def test_a_page_says_that_accuracy_was_measured_otherwise(explorer: Explorer, place: Path) -> None:
    _, sent = open_picture(explorer, place / "wide.png", NATIVE)
    assert (
        "every accuracy told about this checkpoint, used its own frame (official sampling)" in sent["cut"]["sentence"]
    )
    assert sent["evidence"]["sampling"].startswith(
        "native: looks cut from the picture's own pixels; trained and measured"
    )
    assert sent["cut"]["caption"] == "looks cut from its own pixels"
    _, sent = open_picture(explorer, place / "wide.png")
    assert sent["evidence"]["sampling"] == "official" and sent["cut"]["caption"] == ""


@pytest.mark.parametrize(
    ("sampling", "levels"),
    [("nativ", None), ("", None), (1, None), ([], None), ("native", "deep"), ("native", 3), ("native", True)],
)
def test_another_value_gets_one_sentence(sampling: Any, levels: Any) -> None:
    with pytest.raises(tn.TNetError, match=r"^[A-Z][^.]* not .*\.$"):
        parse_mode(sampling, levels)


def test_more_levels_of_the_networks_own_frame_are_refused() -> None:
    for sampling in (None, "official"):
        with pytest.raises(tn.TNetError, match="need 'native' sampling"):
            check_mode(parse_mode(sampling, "auto"), TINY)
    assert check_mode(parse_mode(None, "auto"), replace(TINY, sampling="native")) == SamplingMode(None, "auto")


def test_looks_added_by_hand_are_cut_in_the_same_way(explorer: Explorer, place: Path) -> None:
    session, sent = open_picture(explorer, place / "huge.png", DEEP)
    last = max(at for at, look in enumerate(session.trace.locations) if look.level == 5)
    taken = {look.index for look in session.trace.locations if look.parent == last}
    add = {"parent": last, "index": min(set(range(9)) - taken)}
    after, more = explorer.steer(session, {"plan": [0], "add": add, "scene": sent["scene"]})
    assert (after.mode, after.trace.sampling, after.trace.levels) == (DEEP, "native", 6)
    assert more["looks"][-1]["level"] == 6
    assert after.trace.locations[:-1] == session.trace.locations


def test_an_exported_trace_says_how_its_looks_were_cut_and_replays(explorer: Explorer, place: Path) -> None:
    session, _ = open_picture(explorer, place / "wide.png", DEEP)
    text = read_file(explorer, session, {"what": "trace", "scene": session.scene})["text"]
    trace = tn.Trace.from_json(text)
    assert (trace.sampling, trace.levels) == ("native", 4)
    replay(trace, explorer.models.open("birds"), place / "wide.png")


# Links ------------------------------------------------------------------------------------------


def follow(explorer: Explorer, query: str) -> Any:
    pairs = [tuple(pair.split("=", 1)) for pair in query.split("&")]
    return open_link(explorer, pairs, lambda _: None)  # type: ignore[arg-type]


def test_a_link_restores_the_mode(explorer: Explorer) -> None:
    found = follow(explorer, "checkpoint=birds&example=nuthatch&sampling=native&levels=auto&looks=2,1,1,0,0&step=1")
    assert found.wrong == "" and found.session.mode == DEEP
    assert found.restore["budget"] == (2, 1, 1, 0, 0) and found.restore["step"] == 1
    assert json.loads(found.sent)["cut"]["levels"] == "auto"
    again, _ = explorer.open_picture("birds", 0, mode=DEEP)
    assert again.trace is found.session.trace  # an example is traversed once in each mode
    plain = follow(explorer, "checkpoint=birds&example=nuthatch&sampling=native&levels=trained&looks=2")
    assert plain.wrong == "" and plain.session.mode == NATIVE
    cell = found.session.trace.locations[0].index
    chosen = follow(explorer, f"checkpoint=birds&example=nuthatch&sampling=native&levels=auto&cells={cell}")
    assert chosen.wrong == "" and chosen.session.trace.sampling == "native" and chosen.restore["steer"]["plan"] == [0]


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ("sampling=nativ&levels=auto&looks=2", "its 'sampling' is not 'official' or 'native'"),
        ("sampling=native&levels=99&looks=2", "its 'levels' is not 'auto' or 'trained'"),
        ("sampling=<b>&looks=2", "its 'sampling' is not 'official' or 'native'"),
        ("levels=auto&looks=2", "More levels than in training need 'native' sampling"),
        ("sampling=native&sampling=native&looks=2", "it gives 'sampling' more than once"),
    ],
)
def test_a_wrong_mode_in_a_link_is_said_in_one_sentence_and_the_rest_is_followed(
    explorer: Explorer, query: str, sentence: str
) -> None:
    found = follow(explorer, f"checkpoint=birds&example=nuthatch&{query}")
    assert sentence in found.wrong and ";" not in found.wrong and "<" not in found.wrong
    assert found.session.trace is explorer.open_picture("birds", 0)[0].trace
    assert found.restore["budget"] == (2,)


def test_a_link_to_what_a_picture_cannot_have_says_so(explorer: Explorer) -> None:
    found = follow(explorer, "checkpoint=fine&example=two-dogs&sampling=native&levels=auto&looks=1,1,1")
    assert "no more pixels than the network's own frame (2048 × 2048 px)" in found.wrong and ";" not in found.wrong
    assert found.session.mode == AS_TRAINED and found.restore["budget"] is None


# The page ---------------------------------------------------------------------------------------


@pytest.fixture
def page(explorer: Explorer) -> Page:
    made = Page(explorer)
    made.do("on_load")
    return made


def sample(page: Page, **asked: Any) -> list[Any]:
    """The visitor chooses how looks are cut; what is answered is kept."""
    answer = page._handlers["on_sample"](page.order, page.session, SimpleNamespace(_data=asked), _no_progress)
    if answer[0] != SKIPPED:
        page.session = answer[0]
    return answer


def test_a_choice_shows_the_same_picture_and_stays_for_the_next_ones(page: Page, place: Path) -> None:
    before = page.do("on_upload", str(place / "huge.png"))[6]
    session, view = sample(page, sampling="native", levels="auto", scene=before.scene)
    told = json.loads(view)
    assert (session.where, session.mode) == (before.where, DEEP)
    assert told["title"] == "huge.png" and told["levels"] == 6
    assert page.do("on_upload", str(place / "small.png"))[6].mode == AS_TRAINED  # where it makes no difference
    assert page.do("on_upload", str(place / "wide.png"))[6].mode == DEEP
    session = page.do("on_checkpoint", "deep")[6]
    assert (session.spec, session.where, session.mode) == ("deep", str(place / "wide.png"), DEEP)
    assert sample(page, sampling="official", levels=None, scene=session.scene)[0].mode == AS_TRAINED
    assert page.do("on_example", data={"example": 0})[6].mode == AS_TRAINED


@pytest.mark.parametrize(
    "asked", [{"sampling": "nativ"}, {"sampling": "official", "levels": "auto"}, {"sampling": {}}, {"scene": 10**9}]
)
def test_a_choice_that_cannot_be_had_leaves_the_page_as_it_is(page: Page, asked: dict[str, Any]) -> None:
    session = page.session
    assert session is not None
    kept, view = sample(page, **{"sampling": "native", "scene": session.scene} | asked)
    assert kept == SKIPPED and page.order.mode == AS_TRAINED
    told = json.loads(view)
    assert told["kind"] == "problem" and told["sentence"].endswith(".")
    assert page.session is session


def test_compare_stays_with_the_networks_own_frame_and_says_so(explorer: Explorer, place: Path) -> None:
    session, _ = open_picture(explorer, place / "wide.png", DEEP)
    comparer = Comparer(explorer)
    assert json.loads(comparer.build_offer(session, None))["levels"] == 2
    asked = {
        "mode": "policies",
        "scene": session.scene,
        "a": {"policy": "learned"},
        "b": {"policy": "centre"},
    }
    told = json.loads(comparer.build_pair(session, None, asked, lambda *_: None))
    expected = tn.traverse(explorer.models.open("birds"), place / "wide.png", budget=(9,))
    assert [look["box"] for look in told["a"]["looks"]] == [list(look.box) for look in expected.locations]
    assert "this tab looks as in training, at the network's own frame (official sampling)" in told["constant"]
    by_hand = asked | {"a": {"policy": "hand", "plan": [0]}}
    with pytest.raises(tn.TNetError, match="cannot be compared now"):
        comparer.build_pair(session, None, by_hand, lambda *_: None)
    official, _ = open_picture(explorer, place / "wide.png")
    told = json.loads(comparer.build_pair(official, None, asked | {"scene": official.scene}, lambda *_: None))
    assert "Explore looks" not in told["constant"]
