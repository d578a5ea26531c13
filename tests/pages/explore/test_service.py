"""What the Explore page asks for: pictures traversed once, looks chosen by hand, anything else refused."""

from __future__ import annotations

import base64
import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import tnet_core as tn
from pages.explore import service
from pages.explore.service import Explorer
from pages.limits import MAX_LOOKS_PER_PAGE, largest_budget
from pages.server.model_cache import UNTRAINED, ModelCache
from tests.support.checkpoints import entry_fields, save_birds, write_registry
from tests.support.model_caches import build_model_cache
from tests.support.models import TINY_3L, BackboneCalls, picture, tiny
from tests.viz.test_explore_payload import weights
from tnet_core.checkpoints import Registry


@pytest.fixture(scope="module")
def explorer() -> Explorer:
    explorer = Explorer(build_model_cache())
    assert explorer.landing  # opens the untrained network, which is offered from then on
    return explorer


@pytest.fixture(scope="module")
def deep(tmp_path_factory: pytest.TempPathFactory) -> tuple[Explorer, str]:
    """Three levels, of which not every cell was looked at."""
    folder = tmp_path_factory.mktemp("deep")
    tn.save(tiny(TINY_3L), folder / "model")
    Image.fromarray(picture(90, 120, seed=5)).save(folder / "mine.png")
    return Explorer(build_model_cache(folder / "model")), str(folder / "mine.png")


@pytest.mark.slow
def test_an_example_is_traversed_once_for_everybody(explorer: Explorer) -> None:
    assert explorer.landing == UNTRAINED
    with BackboneCalls(explorer.models.open(UNTRAINED)) as calls:
        session, sent = explorer.open_picture(UNTRAINED, 0)
        assert sum(calls.batches) == 26  # the thumbnail and all looks
        again, sent_again = explorer.open_picture(UNTRAINED, 0)
        assert again.trace is session.trace and again.scene != session.scene  # known, and a scene of its own
        assert json.loads(sent_again) | {"scene": session.scene} == json.loads(sent)
        _, steered = explorer.steer(session, {"plan": [3, 1], "add": None})
    assert sum(calls.batches) == 26
    known = weights(steered)
    np.testing.assert_allclose(known[1, 3], explorer.open_trace(session).weights(subset=(1, 3)), rtol=1e-4)


@pytest.mark.slow
def test_of_examples_those_used_last_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "MAX_EXAMPLES", 2)
    explorer = Explorer(build_model_cache())
    spec = explorer.landing
    assert len(explorer.list_pictures(spec)) >= 3

    def open_trace(number: int) -> tn.Trace:
        return explorer.open_picture(spec, number)[0].trace

    first, second = open_trace(0), open_trace(1)
    assert open_trace(0) is first  # used again
    open_trace(2)
    assert open_trace(0) is first
    assert open_trace(1) is not second


@pytest.mark.slow
def test_a_session_holds_neither_pixels_nor_the_model(explorer: Explorer) -> None:
    session, _ = explorer.open_picture(UNTRAINED, 0)
    assert session.trace.seen is None
    assert session.trace.aggregator.weighting is None
    assert len(pickle.dumps(session)) < 300_000  # 1 MB with the most looks and a thousand classes


def test_a_cell_that_was_not_looked_at_is_looked_at(deep: tuple[Explorer, str]) -> None:
    explorer, file = deep
    spec = explorer.landing
    session, sent = explorer.open_picture(spec, file)
    count = len(session.trace.locations)
    assert len(json.loads(sent)["looks"]) == count
    taken = {look.index for look in session.trace.locations if look.parent == 0}
    cell = next(index for index in range(9) if index not in taken)
    before = explorer.open_trace(session).to_json()
    with BackboneCalls(explorer.models.open(spec)) as calls:
        after, more = explorer.steer(session, {"plan": [0], "add": {"parent": 0, "index": cell}})
    assert calls.batches == [1] and explorer.open_trace(session).to_json() == before
    assert (more["kind"], more["plan"], more["first"]) == ("steer", [0, count], count)
    assert [(look["parent"], look["index"]) for look in more["looks"]] == [(0, cell)]
    by_hand = tn.Traversal(explorer.models.open(spec), file, budget=largest_budget(TINY_3L))
    by_hand.run()
    by_hand.attend(3, cell, 0)
    np.testing.assert_allclose(after.trace.logits(), by_hand.trace().logits(), rtol=1e-5)
    # and the next one is added to that
    further = next(index for index in range(9) if index not in taken and index != cell)
    twice, _ = explorer.steer(after, {"plan": [], "add": {"parent": 0, "index": further}})
    assert [look.index for look in twice.trace.locations[count:]] == [cell, further]
    # a cell that is known already costs nothing
    with BackboneCalls(explorer.models.open(spec)) as calls:
        same, answer = explorer.steer(twice, {"plan": [], "add": {"parent": 0, "index": cell}})
    assert calls.batches == [] and same is twice
    assert answer["plan"] == [count] and answer["looks"] == []


@pytest.mark.slow
def test_a_page_with_a_thousand_classes_and_all_looks_stays_within_its_limits(tmp_path: Path) -> None:
    config = tn.TNetConfig(backbone="tf_efficientnet_lite0", num_classes=1000, levels=3, budget=(3, 2), input_size=448,
                           base_resolution=160, grid=5)  # fmt: skip
    tn.save(tn.build(config, seed=0, device="cpu"), tmp_path / "model")
    noise = np.random.default_rng(0).integers(0, 256, (900, 1200, 3), dtype=np.uint8)  # no crop is larger in bytes
    Image.fromarray(noise).save(tmp_path / "mine.png")
    explorer = Explorer(build_model_cache(tmp_path / "model"))
    session, _ = explorer.open_picture(explorer.landing, str(tmp_path / "mine.png"))
    taken = {(look.parent, look.index) for look in session.trace.locations}
    inside = [at for at, look in enumerate(session.trace.locations) if look.level == 2]
    free = [(parent, cell) for parent in inside for cell in range(25) if (parent, cell) not in taken]
    *most, last = free[: MAX_LOOKS_PER_PAGE - len(session.trace.locations)]
    session = explorer._add_looks(session, most)
    with BackboneCalls(explorer.models.open(explorer.landing)) as calls:
        session, answer = explorer.steer(
            session, {"plan": list(range(12)), "add": {"parent": last[0], "index": last[1]}, "steps": [13]}
        )
    assert calls.batches == [1] and len(session.trace.locations) == MAX_LOOKS_PER_PAGE
    assert len(json.dumps(answer)) <= 25_000
    assert len(pickle.dumps(session)) <= 1_000_000


def test_no_look_is_taken_for_steps_that_are_not_there(deep: tuple[Explorer, str]) -> None:
    explorer, file = deep
    session, _ = explorer.open_picture(explorer.landing, file)
    first = session.trace.locations[0]
    cell = next(index for index in range(9) if index not in {k.index for k in session.trace.locations if k.parent == 0})
    for add, steps in (
        ({"parent": 0, "index": cell}, [3]),
        ({"parent": 0, "index": cell}, [1, "x"]),
        ({"parent": first.parent, "index": first.index}, [2]),  # of the plan already
    ):
        with BackboneCalls(explorer.models.open(explorer.landing)) as calls, pytest.raises(tn.TNetError, match="step"):
            explorer.steer(session, {"plan": [0], "add": add, "steps": steps})
        assert calls.batches == []


def test_looks_by_hand_have_an_end(deep: tuple[Explorer, str], monkeypatch: pytest.MonkeyPatch) -> None:
    explorer, file = deep
    session, _ = explorer.open_picture(explorer.landing, file)
    taken = {look.index for look in session.trace.locations if look.parent == 0}
    cells = [index for index in range(9) if index not in taken]
    monkeypatch.setattr("pages.explore.service.MAX_LOOKS_PER_PAGE", len(session.trace.locations) + 1)
    full, _ = explorer.steer(session, {"plan": [], "add": {"parent": 0, "index": cells[0]}})
    with pytest.raises(tn.TNetError, match="looks at most"):
        explorer.steer(full, {"plan": [], "add": {"parent": 0, "index": cells[1]}})


@pytest.mark.parametrize(
    "asked",
    [
        None,
        [],
        {"plan": "abc"},
        {"plan": [0, 0]},
        {"plan": [-1]},
        {"plan": [999]},
        {"plan": [0.5]},
        {"plan": [True]},
        {"plan": [0], "add": 5},
        {"plan": [0], "add": {"parent": None, "index": 999}},
        {"plan": [0], "add": {"parent": None, "index": "x"}},
        {"plan": [0], "add": {"parent": 99, "index": 0}},
        {"plan": [0], "add": {"parent": "0", "index": 0}},
        {"plan": [0], "add": {"parent": {}, "index": 0}},
    ],
)
def test_nonsense_is_refused_with_a_sentence(explorer: Explorer, asked: Any) -> None:
    session, _ = explorer.open_picture(UNTRAINED, 0)
    with pytest.raises(tn.TNetError, match=r"\w+ .*\."):
        explorer.steer(session, asked)


def test_a_page_left_alone_is_told_so(explorer: Explorer) -> None:
    with pytest.raises(tn.TNetError, match="reload it"):
        explorer.steer(None, {"plan": []})


@pytest.mark.parametrize("where", [-1, 4, 10**9, "/nowhere/at-all.png"])
def test_a_picture_that_is_not_there_is_refused(explorer: Explorer, where: int | str) -> None:
    with pytest.raises(tn.TNetError, match=r"no such example|not here any more"):
        explorer.open_picture(UNTRAINED, where)


@pytest.mark.slow
def test_a_checkpoint_that_is_unusable_leaves_a_page_that_says_so(tmp_path: Path) -> None:
    fields = entry_fields(save_birds(tmp_path / "garden-birds"))
    (tmp_path / "garden-birds" / "model.safetensors").write_bytes(b"damaged")
    registry = Registry.load(write_registry(tmp_path / "mine.yaml", fields), shipped=None)
    found = Explorer(ModelCache(registry, fallback="lite0-cub", device="cpu"))
    assert found.landing == UNTRAINED
    notice = found.build_panel(UNTRAINED).notice["value"]
    assert "Untrained weights" in notice
    assert "is not what the registry promises" in notice


def test_a_page_that_missed_an_answer_is_sent_the_looks_it_lacks(deep: tuple[Explorer, str]) -> None:
    explorer, file = deep
    session, _ = explorer.open_picture(explorer.landing, file)
    count = len(session.trace.locations)
    cells = [index for index in range(9) if index not in {k.index for k in session.trace.locations if k.parent == 0}]
    lost, _ = explorer.steer(session, {"plan": [0], "add": {"parent": 0, "index": cells[0]}, "scene": session.scene})
    for asked, plan, taken in (
        ({"plan": [1], "add": None}, [1], 1),
        ({"plan": [0], "add": {"parent": 0, "index": cells[0]}}, [0, count], 1),  # the same once more
        ({"plan": [0], "add": {"parent": 0, "index": cells[1]}}, [0, count + 1], 2),
    ):
        after, sent = explorer.steer(lost, asked | {"scene": session.scene, "known": count})  # all the page knows of
        assert (sent["plan"], sent["first"], after.scene) == (plan, count, session.scene)
        assert [look["index"] for look in sent["looks"]] == cells[:taken]
        assert len(np.frombuffer(base64.b64decode(sent["projections"]), "<f4")) == taken * 7
        assert len(json.dumps(sent)) < 25_000
    _, sent = explorer.steer(lost, {"plan": [0, count], "steps": [2] * 100_000})
    assert sent["weights"]["sets"] == [(0, count)]  # once, and the others are known


def test_looks_that_are_added_open_grids_of_their_own(deep: tuple[Explorer, str]) -> None:
    explorer, file = deep
    session, sent = explorer.open_picture(explorer.landing, file)
    count, taken = len(session.trace.locations), {look.index for look in session.trace.locations if look.parent is None}
    assert len(json.loads(sent)["grids"]) == 1 + len(taken)
    free = min(set(range(9)) - taken)
    after, more = explorer.steer(session, {"plan": [], "add": {"parent": None, "index": free}, "known": count})
    assert [(grid["parent"], grid["level"]) for grid in more["grids"]] == [(count, 2)]
    inside, deeper = explorer.steer(after, {"plan": [count], "add": {"parent": count, "index": 4}, "known": count})
    assert [look["name"] for look in deeper["looks"]][1].startswith(deeper["looks"][0]["name"] + ".")
    assert inside.trace.locations[-1].parent == count and deeper["looks"][1]["parent"] == count


def test_a_question_about_another_picture_is_refused(explorer: Explorer) -> None:
    one, _ = explorer.open_picture(UNTRAINED, 0)
    two, sent = explorer.open_picture(UNTRAINED, 1)
    assert json.loads(sent)["scene"] == two.scene != one.scene
    explorer.steer(two, {"plan": [1], "scene": two.scene})
    with pytest.raises(tn.TNetError, match="Another picture was chosen"):
        explorer.steer(two, {"plan": [1], "scene": one.scene})
